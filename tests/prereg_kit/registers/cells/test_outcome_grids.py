"""Outcomes over schedules x samples."""

from __future__ import annotations

import random

import pytest

from prereg_kit.errors import RegisterError
from tests.prereg_kit.registers.cells.by_hand import ARMS, outcomes, registers


def test_large_outcomes_stay_exact():
    rows = [
        {"run_id": "r", "arm": "a", "seed": 0, "step": 0, "task": "t", "schedule": i, "sample": j, "outcome": f"{i + j}e29"}
        for i in range(2) for j in range(2)
    ]  # fmt: skip
    grid = outcomes(registers(rows, "luck"), "luck", where={})["r"]["t"]
    assert grid.numerators.tolist() == [[0, 10**29], [10**29, 2 * 10**29]]
    assert grid.denominator == 1


def test_outcome_tables_are_schedules_by_samples():
    drawn = {"a": [[1, 1, 1, 0], [0, 0, 0, 1]], "b": [[1, 1], [1, 1]]}
    rows = [
        {"run_id": run, "condition": "C2", "arm": run, "seed": 0, "step": 0, "task": task, "schedule": i, "sample": j,
         "outcome": float(x)}
        for run in ARMS for task, grid in drawn.items() for i, line in enumerate(grid) for j, x in enumerate(line)
    ]  # fmt: skip
    random.Random(1).shuffle(rows)
    found = outcomes(registers(rows, "luck"), "luck", where={})
    assert list(found) == ["independent", "paired"]
    assert found["paired"]["a"].numerators.tolist() == drawn["a"]
    assert found["paired"]["b"].numerators.tolist() == drawn["b"]
    with pytest.raises(RegisterError) as caught:
        outcomes(registers([*rows, {**rows[0], "step": 20, "sample": 9}], "luck"), "luck", where={})
    assert caught.value.code == "mixed"
    with pytest.raises(RegisterError) as caught:
        outcomes(registers(rows[1:], "luck"), "luck", where={})
    assert caught.value.code == "unequal-cells"

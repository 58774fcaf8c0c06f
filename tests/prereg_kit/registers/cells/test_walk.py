"""Rows that are refused, with their row number and key."""

from __future__ import annotations

from fractions import Fraction

import pytest

from prereg_kit.registers.cells import Policy
from tests.prereg_kit.registers.cells.by_hand import ARMS, FIRST, differences, episodes, refused, table


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_outcome_is_refused_with_row_and_key(missing):
    rows = episodes({("paired", 0, t): [x] for t, x in zip("abcd", (1, 1, 0, 0), strict=True)}
                    | {("independent", 0, t): [0] for t in "abcd"})  # fmt: skip
    rows = [{**row, "true_success": float(row["true_success"])} for row in rows]
    rows[2]["true_success"] = missing
    error = refused(rows)
    assert error.code == "missing-value"
    assert "row 3 (arm=paired, seed=0, task=c" in str(error)
    left = table(rows, policy=Policy(missing_values="exclude", missing="exclude_tasks"))
    assert sum(differences(left)[0]) / 3 == Fraction(2, 3)
    assert left.tasks == ("a", "b", "d")
    assert left.notes[0] == "1 rows without a true_success were left out"


def test_a_key_without_a_value_is_refused():
    rows = episodes(FIRST)
    rows[4]["task"] = None
    error = refused(rows)
    assert error.code == "missing-key"
    assert error.where.field == "task"
    assert "5 (" in error.where.key


def test_hostile_names_reach_no_terminal():
    cells = {(arm, 0, "\x1b[31mred\n" + "x" * 500): [1] for arm in ARMS} | {("paired", 0, "b"): [1]}
    error = refused(episodes(cells, regime="a") + episodes({("paired", 1, "\x07"): [1]}, regime="a"))
    assert str(error).isprintable()
    rows = episodes({(arm, 0, "\x1b[31mred\n" + "x" * 500): [1] for arm in ARMS})
    error = refused([*rows, rows[0]])
    assert str(error).isprintable()
    assert len(str(error)) < 600

"""Small registers, and the questions that tests ask of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells import (
    CellQuery,
    CellTable,
    Count,
    OutcomeQuery,
    OutcomeTable,
    RateQuery,
    cell_table,
    count_rate,
    outcome_tables,
)
from prereg_kit.registers.file import Registers

ARMS = ("paired", "independent")


def frame(rows: list[dict]) -> dict[str, list]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def registers(rows: list[dict], kind: str = "episodes") -> Registers:
    return Registers.from_frames({kind: frame(rows)})


def episodes(cells: dict[tuple, list[int]], **more) -> list[dict]:
    """Rows from (arm, seed, task) -> outcomes by schedule."""
    return [
        {
            "run_id": f"{arm}-{seed}",
            "arm": arm,
            "seed": seed,
            "task": task,
            "schedule": k,
            **more,
            "true_success": bool(x),
        }
        for (arm, seed, task), outcomes in cells.items()
        for k, x in enumerate(outcomes)
    ]


def cells_of(found: Registers, kind: str, **asked) -> CellTable:
    return cell_table(found, kind, CellQuery(**asked))


def rate(found: Registers, kind: str, **asked) -> Count:
    return count_rate(found, kind, RateQuery(**asked))


def outcomes(found: Registers, kind: str, **asked) -> dict[str, dict[str, OutcomeTable]]:
    return outcome_tables(found, kind, OutcomeQuery(**asked))


def table(rows: list[dict] | Registers, **changes) -> CellTable:
    asked = {
        "where": {}, "value": "true_success", "arm": "arm", "arms": ARMS, "pairs": "seed", "cluster": "task", **changes
    }  # fmt: skip
    return cells_of(rows if isinstance(rows, Registers) else registers(rows), "episodes", **asked)


def differences(found: CellTable) -> list[list[Fraction]]:
    numerators, denominator = found.numerators()
    gaps = (numerators[0] - numerators[1]).sum(axis=1)  # [seed, task]
    return [[Fraction(int(gap), denominator) for gap in line] for line in gaps]


def refused(rows: list[dict] | Registers, **changes) -> RegisterError:
    with pytest.raises(RegisterError) as caught:
        table(rows, **changes)
    return caught.value


HALF = Fraction(1, 2)


# D[seed][task] = 1/2, 0 / -1/2, 1/2 / 1, 1/2 with two schedules in each cell; task 10 is the first column
FIRST = {
    ("paired", 0, "10"): [1, 0], ("independent", 0, "10"): [0, 0],
    ("paired", 0, "2"): [1, 0], ("independent", 0, "2"): [0, 1],
    ("paired", 1, "10"): [0, 0], ("independent", 1, "10"): [0, 1],
    ("paired", 1, "2"): [1, 1], ("independent", 1, "2"): [1, 0],
    ("paired", 2, "10"): [1, 1], ("independent", 2, "10"): [0, 0],
    ("paired", 2, "2"): [1, 0], ("independent", 2, "2"): [0, 0],
}  # fmt: skip


STEPS = {"0": 1, "20": 2, "40": 2, "60": 2, "80": 2, "100": 1}


def curve(points: dict[int, int], out_of: int = 100, arms: tuple[str, ...] = ARMS) -> list[dict]:
    return [
        {
            "run_id": arm,
            "arm": arm,
            "seed": 0,
            "step": step,
            "task": str(t),
            "schedule": 0,
            "true_success": t < x,
        }
        for arm in arms
        for step, x in points.items()
        for t in range(out_of)
    ]


def groups() -> list[dict]:
    return [
        {
            "run_id": arm, "condition": "C4", "arm": arm, "seed": 0, "step": 0, "row": i, "task": "t",
            "schedule_seeds": ["s"] * 4 if arm == "paired" else ["a", "b", "c", "d"],
            "slots": [0, 1, 2, 3], "true_outcomes": [True] * 4, "observed_rewards": [1.0] * 4,
            "all_correct": i < 7, "zero_variance": False, "spurious": arm == "independent" and i < 4,
        }
        for arm in ARMS for i in range(10)
    ]  # fmt: skip


def counts(*rows: tuple[str, object, object], **more) -> Registers:
    return registers([
        {"run_id": f"{arm}{i}", "condition": "C4", "arm": arm, "seed": i, "step": 0, **more, "successes": x, "episodes": n}
        for i, (arm, x, n) in enumerate(rows)
    ], "counts")  # fmt: skip


def primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
        number += 1
    return found


def diagonal(count: int, arms=ARMS) -> list[dict]:
    return [
        {"arm": arm, "seed": i, "task": f"t{i:05d}", "schedule": 0, "true_success": True}
        for arm in arms
        for i in range(count)
    ]

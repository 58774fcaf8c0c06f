"""The ledger: a fixed denominator, closed reasons, one counted run per cell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prereg_kit.decision.ledger import counted_runs, ledger
from prereg_kit.errors import RegisterError
from prereg_kit.plan.matrix import Exclusion, PlannedRuns, RunMatrix
from prereg_kit.registers.formats import RunRow

MATRIX = RunMatrix(
    planned=(PlannedRuns(condition=("A", "B"), arm=("t", "r"), seed=("0", "1")),),
    exclusions=(Exclusion(id="broken-disk", text="The disk broke."),),
)


def run(arm: str, seed: int, condition: str = "A", **more: object) -> RunRow:
    return replace(RunRow(f"{condition}-{arm}-{seed}", "s", "0" * 64, condition, arm, seed), **more)  # type: ignore[arg-type]


FOUR = [run("t", 0), run("r", 0), run("t", 1), run("r", 1)]


def statuses(runs: list[RunRow]) -> dict[str, str]:
    return {row.run_id: row.status for row in ledger(MATRIX, runs)}


def test_every_planned_run_has_a_line_and_what_never_ran_is_not_missing() -> None:
    found = statuses(FOUR)
    assert [found[r.run_id] for r in FOUR] == ["included"] * 4
    assert [found[f"B/{arm}/{seed}"] for arm in "tr" for seed in "01"] == ["not_run"] * 4


def test_a_planned_run_that_is_not_there_is_missing_if_its_siblings_ran() -> None:
    assert statuses(FOUR[:3])["A/r/1"] == "missing"


def test_an_excluded_run_keeps_its_line_and_its_cell_is_missing() -> None:
    runs = [*FOUR[:3], run("r", 1, counted=False, exclusion_reason="broken-disk")]
    rows = {row.run_id: row for row in ledger(MATRIX, runs)}
    assert rows["A-r-1"].status == "excluded"
    assert rows["A-r-1"].reason == "The disk broke."
    assert rows["A/r/1"].status == "missing"


def test_a_second_uncounted_run_of_a_cell_leaves_the_cell_filled() -> None:
    second = replace(run("r", 1, counted=False, exclusion_reason="broken-disk"), run_id="again")
    found = statuses([*FOUR, second])
    assert found["again"] == "excluded" and found["A-r-1"] == "included" and "A/r/1" not in found


def test_runs_outside_the_matrix_are_extra() -> None:
    assert statuses([*FOUR, run("t", 7)])["A-t-7"] == "extra"


def test_of_several_attempts_the_last_one_counts() -> None:
    attempts = [run("t", 0, status="failed"), run("t", 0, attempt=2), *FOUR[1:]]
    rows = [row for row in ledger(MATRIX, attempts) if row.run_id == "A-t-0"]
    assert [(row.attempt, row.status) for row in rows] == [(2, "included")]
    assert len(counted_runs(attempts, MATRIX)) == 4


def test_a_run_whose_last_attempt_failed_does_not_count() -> None:
    attempts = [run("t", 0), run("t", 0, attempt=2, status="failed"), *FOUR[1:]]
    assert [row.status for row in ledger(MATRIX, attempts) if row.run_id == "A-t-0"] == ["missing"]
    assert "A-t-0" not in {r.run_id for r in counted_runs(attempts, MATRIX)}


def test_two_counted_runs_of_a_cell_are_refused_by_name() -> None:
    twice = [*FOUR, replace(run("r", 1), run_id="again")]
    with pytest.raises(RegisterError, match="A-r-1 and again"):
        counted_runs(twice, MATRIX)


def test_a_reason_that_the_plan_does_not_list_is_refused() -> None:
    with pytest.raises(RegisterError, match="broken-disk"):
        counted_runs([run("t", 0, counted=False, exclusion_reason="bad result")], MATRIX)
    with pytest.raises(RegisterError, match="reason"):
        counted_runs([run("t", 0, counted=False)], MATRIX)


def test_runs_on_top_of_the_plan_are_listed_and_not_counted() -> None:
    assert {r.run_id for r in counted_runs([*FOUR, run("t", 7), run("r", 7)], MATRIX)} == {
        r.run_id for r in FOUR
    }


def test_a_matrix_without_conditions_plans_every_condition() -> None:
    matrix = RunMatrix(planned=(PlannedRuns(arm=("t", "r"), seed=("0", "1")),))
    found = {row.run_id: row.status for row in ledger(matrix, FOUR)}
    assert list(found.values()) == ["included"] * 4
    assert len(counted_runs(FOUR, matrix)) == 4

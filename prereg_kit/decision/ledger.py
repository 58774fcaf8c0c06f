"""The ledger: every planned and every found run, and what became of it. Pure.

The denominator is fixed by the plan: a planned run that is missing stays in the list. Attempts of one run are one
line (the latest attempt); a second run of a planned cell is repeated unless the register says that it is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from prereg_kit.decision.verdict import LedgerRow
from prereg_kit.errors import RegisterError, Where
from prereg_kit.plan.matrix import ANY, RunMatrix, covers
from prereg_kit.registers.formats import RunRow

Cell = tuple[str, str, str]


def latest_attempts(runs: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """One row per run: its latest attempt, in the order of the register."""
    latest: dict[str, RunRow] = {}
    for run in runs:
        if run.run_id not in latest or run.attempt > latest[run.run_id].attempt:
            latest[run.run_id] = run
    return tuple(latest.values())


def counted_runs(runs: Sequence[RunRow], matrix: RunMatrix) -> tuple[RunRow, ...]:
    """The runs that enter the verdicts: completed, counted, and planned. A run made on top of the plan is not counted.

    Raises:
        RegisterError: two counted runs of one (condition, arm, seed); a run left out for a reason that the plan does
            not list.
    """
    reasons = {exclusion.id for exclusion in matrix.exclusions}
    planned = matrix.cells()
    seen: dict[Cell, RunRow] = {}
    counted = []
    for run in latest_attempts(runs):
        if not run.counted:
            if run.exclusion_reason not in reasons:
                raise RegisterError(
                    "a run is left out for a reason that the plan does not list",
                    where=Where(field="exclusion_reason", key=f"run_id={run.run_id}"),
                    expected=f"one of: {', '.join(sorted(reasons)) or 'none (the plan excludes nothing)'}",
                    found=run.exclusion_reason,
                    next_step="Count the run, or name an exclusion of the frozen plan.",
                    code="unlisted-exclusion",
                )
            continue
        if run.status != "completed":
            continue
        cell = cell_of(run)
        if not is_planned(cell, planned):
            continue
        if cell in seen:
            raise RegisterError(
                f"two counted runs of condition {cell[0]}, arm {cell[1]}, seed {cell[2]}: "
                f"{seen[cell].run_id} and {run.run_id}",
                where=Where(key=f"run_id={run.run_id}"),
                expected="one run per cell of the matrix",
                next_step="Mark one as not counted, with an exclusion of the frozen plan.",
                code="repeated-run",
            )
        seen[cell] = run
        counted.append(run)
    return tuple(counted)


def is_planned(cell: Cell, planned: Sequence[Cell]) -> bool:
    """Whether a run is one of the matrix; a plan without a matrix plans every run, a block without conditions any."""
    return not planned or any(covers(each, cell) for each in planned)


def cell_of(run: RunRow) -> Cell:
    """(condition, arm, seed) as texts."""
    return (run.condition, run.arm, str(run.seed))


def ledger(matrix: RunMatrix, runs: Sequence[RunRow]) -> tuple[LedgerRow, ...]:
    """Planned runs first, in the plan's order, then what else was found."""
    planned = matrix.cells()
    texts = {exclusion.id: exclusion.text for exclusion in matrix.exclusions}
    found: dict[Cell, list[RunRow]] = {}
    for run in latest_attempts(runs):
        found.setdefault(cell_of(run), []).append(run)
    began = [cell for cell, rows in found.items() if any(row.counted for row in rows)]
    rows: list[LedgerRow] = []
    for cell in planned:
        places = [place for place in found if covers(cell, place)]
        here = sorted((run for place in places for run in found.pop(place)), key=lambda run: not run.counted)
        if not any(run.counted for run in here):
            rows.append(
                _absent(
                    cell,
                    some_ran=any(covers((cell[0], cell[1], ANY), place) for place in began),
                    found=bool(here),
                )
            )
        rows += [_row(run, planned=True, texts=texts) for run in here]
    for extra in found.values():
        rows += [_row(run, planned=not planned, texts=texts) for run in extra]
    return tuple(rows)


def _absent(cell: Cell, *, some_ran: bool, found: bool) -> LedgerRow:
    condition, arm, seed = cell
    return LedgerRow(
        run_id="/".join(part for part in cell if part),
        status="missing" if some_ran or found else "not_run",
        planned=True,
        condition=condition or None,
        arm=arm or None,
        seed=seed or None,
        reason="planned; its only run is left out" if found else "planned, and not in the register",
    )


def _row(run: RunRow, *, planned: bool, texts: dict[str, str]) -> LedgerRow:
    status: Literal["included", "excluded", "missing", "extra"]
    if not run.counted:
        status, reason = "excluded", texts.get(run.exclusion_reason or "", run.exclusion_reason)
    elif run.status != "completed":
        status, reason = "missing", f"the run is {run.status}"
    else:
        status, reason = (
            ("included", None) if planned else ("extra", "not in the plan's matrix, and not counted")
        )
    details = {
        name: value
        for name in ("accelerator", "provider", "code_commit", "stack")
        if (value := getattr(run, name)) is not None
    }
    return LedgerRow(
        run_id=run.run_id, status=status, planned=planned, condition=run.condition, arm=run.arm, seed=str(run.seed),
        attempt=run.attempt, reason=reason, started_at=run.started_at, finished_at=run.finished_at, details=details,
    )  # fmt: skip

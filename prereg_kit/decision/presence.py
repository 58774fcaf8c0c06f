"""Whether the runs and pairs that the plan plans are there, for one endpoint. Pure given a `Source`.

Two guards, each of which says when it cannot work. The index of runs is compared with the planned runs. The rows are
compared with the planned pairs: a planned pair without rows is missing, whatever an index says, and a pair that
nobody planned is not counted.
"""

from __future__ import annotations

from prereg_kit.decision.request import Request
from prereg_kit.errors import RegisterError
from prereg_kit.plan.criteria.measured import Measured, Paired, Scalar, Steps, Unknown
from prereg_kit.plan.endpoint import Contrast, Mean, StepsToThreshold, arms_of
from prereg_kit.plan.matrix import ANY, covers
from prereg_kit.plan.planned_pairs import parts_by_column
from prereg_kit.registers import cells
from prereg_kit.registers.formats import CONTEXTS, REPEATS, RunRow

NO_INDEX = "no index of runs was given: failed, excluded and repeated runs cannot be told from rows alone"


def before(request: Request) -> Unknown | None:
    """What the index and the plan's matrix say before any row is read; None where nothing stands in the way."""
    absent = _not_run(request)
    if absent is not None:
        return absent
    planned = request.planned
    if request.runs is None:
        request.guard("planned-runs", NO_INDEX)
    else:
        request.guard(
            "planned-runs", planned.words if planned.obstacle in ("no-runs", "named-by-run") else None
        )
    if planned.obstacle in ("not-planned", "pairs-unnamed"):
        request.guard("planned-pairs", planned.words)
        return request.unknown("not_evaluable", "runs-not-planned", planned.words)
    return None


def narrowed(request: Request) -> Unknown | None:
    """For an endpoint that sums over pairs: compare the pairs of its rows with the plan, and read planned ones only.

    Raises:
        RegisterError: as in `cell_table`, for the selection.
    """
    planned = request.planned
    if planned.obstacle is not None:
        request.guard("planned-pairs", planned.words)
        return None
    found = cells.values_present(
        request.registers, request.endpoint.register_, where=request.where, column=planned.column
    )
    if found is None:
        said = f"the {request.endpoint.register_} register has no column {planned.column}"
        request.guard("planned-pairs", said)
        return None
    request.guard("planned-pairs")
    counted = tuple(pair for pair in found if pair in planned.pairs)
    extra = [pair for pair in found if pair not in planned.pairs]
    if extra and counted:
        request.notes.append(
            f"{request.name}: {planned.column}s {', '.join(extra)} are not planned and not counted"
        )
        request.only = {planned.column: counted}
    return _lacking(request, counted)


def after(request: Request, found: Measured) -> Measured:
    """For an endpoint that keeps its pairs apart: the value, or Unknown where planned pairs are missing."""
    pairs = pairs_of(request, found)
    if pairs is None:
        return found
    planned = request.planned
    request.guard("planned-pairs", planned.words or None)
    if planned.obstacle is not None:
        return found
    return _lacking(request, pairs) or found


def missing_pairs(request: Request, found: Measured) -> tuple[str, ...]:
    """The planned pairs that a measured endpoint does not have."""
    pairs = pairs_of(request, found)
    return () if pairs is None else tuple(p for p in request.planned.pairs if p not in pairs)


def pairs_of(request: Request, found: Measured) -> tuple[str, ...] | None:
    """The pairs that a measured endpoint rests on; None where it does not keep them apart."""
    if isinstance(found, Paired):
        return found.seeds
    if isinstance(found, Steps):
        return tuple(found.treatment)
    if isinstance(found, Scalar) and isinstance(request.endpoint, Mean) and found.evidence == "recomputed":
        return tuple(found.per_unit)
    return None


def _lacking(request: Request, found: tuple[str, ...]) -> Unknown | None:
    planned = request.planned
    missing = [pair for pair in planned.pairs if pair not in found]
    if not missing:
        return None
    words = f"planned {planned.column} pairs are missing: {', '.join(missing)} (see `runs.missing`)"
    if request.effective.plan.runs.missing == "refuse" or not found:
        return request.unknown("not_evaluable", "runs-missing", words)
    request.notes.append(f"{request.name}: {words}; they are left out")
    return None


def _not_run(request: Request) -> Unknown | None:
    """Not run, by the index of runs: no counted run matches, or one arm of a contrast has none."""
    if request.runs is None:
        return None
    plan = request.effective.plan
    where = {column: values for column, values in request.where.items() if column in _run_columns(request)}
    matching = [run for run in request.runs if _matches(request, run, where)]
    wanted = ", ".join(f"{column} = {' or '.join(values)}" for column, values in where.items()) or "this plan"
    if not matching:
        return request.unknown("not_run", "runs-not-run", f"no run of {wanted} is in the register")
    arms: tuple[str, ...] = next(
        (values for column, values in where.items() if parts_by_column(plan).get(column) == "arm"), ()
    )
    compared = arms_of(request.endpoint, plan.arms)
    if compared is not None and parts_by_column(plan).get(compared.column) == "arm":
        arms = (compared.treatment, compared.reference)
        lacking = [arm for arm in arms if not any(run.arm == arm for run in matching)]
        if lacking:
            named = " or ".join(lacking)
            return request.unknown(
                "not_run", "runs-not-run", f"no run of {wanted} with arm {named} is in the register"
            )
    return _missing_runs(request, where, arms, matching)


def _run_columns(request: Request) -> dict[str, str]:
    """The columns of rows that an index knows, with the field of a run that says the same."""
    parts = parts_by_column(request.effective.plan)
    return {column: part for column, part in parts.items() if part != "pair"} | {"run_id": "run_id"}


def _matches(request: Request, run: RunRow, where: dict[str, tuple[str, ...]]) -> bool:
    columns = _run_columns(request)
    return all(str(getattr(run, columns[column])) in values for column, values in where.items())


def _missing_runs(
    request: Request, where: dict[str, tuple[str, ...]], arms: tuple[str, ...], matching: list[RunRow]
) -> Unknown | None:
    """Planned runs that are not there, unless the plan lets a missing pair be left out.

    A rule for three seeds is another rule on two of them, so it is not evaluated.
    """
    matrix = request.effective.plan.runs
    if matrix.missing != "refuse" or "run_id" in where:
        return None
    conditions, seeds = where.get("condition", ()), where.get("seed", ())
    found = {(run.condition, run.arm, str(run.seed)) for run in matching}
    lacking = [
        cell
        for cell in matrix.cells()
        if all(
            not wanted or one in (ANY, *wanted)
            for one, wanted in zip(cell, (conditions, arms, seeds), strict=True)
        )
        and not any(covers(cell, run) for run in found)
        and any(covers((cell[0], cell[1], ANY), run) for run in found)
    ]
    if not lacking:
        return None
    named = "; ".join(" ".join(part for part in (c, a, f"seed {s}") if part) for c, a, s in lacking)
    return request.unknown(
        "not_evaluable", "runs-missing", f"planned runs are missing: {named} (see `runs.missing`)"
    )


def planned_but_absent(request: Request, error: RegisterError) -> Unknown | None:
    """Rows without an index: an absent condition or arm that the plan plans was not run; anything else is a defect."""
    if error.code != "absent-value" or request.runs is not None or error.where.field is None:
        return None
    part = parts_by_column(request.effective.plan).get(error.where.field)
    if part not in ("condition", "arm"):
        return None
    place = 0 if part == "condition" else 1
    if str(error.found) in {cell[place] for cell in request.effective.plan.runs.cells()}:
        return request.unknown("not_run", "runs-not-run", error.problem)
    return None


def watch_rows(request: Request) -> None:
    """Note which guards the columns of the rows make possible."""
    rows = request.registers.rows(request.endpoint.register_)
    lacks = [name for name in ("run_id", *_agreeing(request)) if name not in rows.columns]
    if request.runs is None:
        request.guard("rows-agree-with-index", NO_INDEX)
    else:
        request.guard(
            "rows-agree-with-index", f"the rows have no column {', '.join(lacks)}" if lacks else None
        )
    if isinstance(request.endpoint, Contrast | Mean | StepsToThreshold):
        reason = None
        if "run_id" in request.where:
            reason = "the endpoint names its runs by run_id"
        elif "run_id" not in rows.columns or "run_id" in rows.lacking:
            reason = "the rows have no column run_id: two runs of one arm and pair cannot be told apart"
        request.guard("one-run-per-cell", reason)
    request.guard("unmixed", _averaged(request))


def _averaged(request: Request) -> str | None:
    """Why rows of different measurements could be averaged; None where a declared key leaves no room for it.

    A key that the plan declares says which columns number the rows of a cell. A renamed condition among them would be
    averaged over like a repetition.
    """
    plan, where = request.effective.plan, request.where
    known = {*CONTEXTS, *REPEATS, "run_id", "row", *parts_by_column(plan), plan.resampling.clusters}
    arms = arms_of(request.endpoint, plan.arms)
    read = {arms.column if arms else None, *(getattr(request.endpoint, "group", ()))}
    over = getattr(request.endpoint, "over", None)
    read |= {over.column if over is not None else None, getattr(request.endpoint, "axis", None)}
    loose = [name for name in request.key or () if name not in known | read and name not in where]
    if not loose:
        return None
    return f"the declared key averages over {', '.join(loose)}: rows of different values are one measurement"


def _agreeing(request: Request) -> tuple[str, ...]:
    """The columns in which rows are compared with the index's own."""
    arms = arms_of(request.endpoint, request.effective.plan.arms)
    return ("seed",) if arms is None else ("arm", "seed")

"""Endpoints to exact numbers, from the rows that the plan names. Pure given a `Source`.

What was never run is told apart from what is missing: an endpoint whose runs the register's index does not hold is
not_run; rows that should be there and are not are a defect of the register, and refused.
"""

from __future__ import annotations

from fractions import Fraction

from prereg_kit.decision import contrasts, figures
from prereg_kit.decision.measured import Groups, Measured, Scalar, Units, Unknown
from prereg_kit.decision.request import Request, arms_of
from prereg_kit.errors import RegisterError
from prereg_kit.plan.criterion import Estimate, walk
from prereg_kit.plan.endpoint import Contrast, Distinct, LuckShare, Mean, Rate, Series, StepsToThreshold
from prereg_kit.registers import cells
from prereg_kit.registers.formats import RunRow
from prereg_kit.statistics import luck
from prereg_kit.statistics.random_stream import StreamKey

RUN_COLUMNS = ("condition", "arm", "seed", "run_id")


def measure(request: Request) -> Measured:
    """The endpoint's exact value, or Unknown where its runs were not run or its figure was not reported.

    Raises:
        RegisterError: a defect of the register, the row or key named.
    """
    endpoint = request.endpoint
    if endpoint.register_ == "reported":
        return figures.reported(request)
    absent = _not_run(request)
    if absent is not None:
        return absent
    try:
        match endpoint:
            case Contrast():
                return contrasts.contrast(request, endpoint)
            case Mean():
                return contrasts.mean(request, endpoint)
            case Rate():
                return _rate(request, endpoint)
            case LuckShare():
                return _luck(request, endpoint)
            case Series():
                return figures.series(request, endpoint)
            case Distinct():
                return _distinct(request, endpoint)
            case StepsToThreshold():
                return contrasts.steps_to_threshold(request, endpoint)
    except RegisterError as error:
        if error.code == "absent-kind":
            return request.unknown("not_evaluable", "rows-missing", error.problem)
        planned = _planned_but_absent(request, error)
        if planned is not None:
            return planned
        raise
    raise AssertionError(f"no measure for {type(endpoint).__name__}")


def _not_run(request: Request) -> Unknown | None:
    """Not run, by the index of runs: no counted run matches, or one arm of a contrast has none."""
    if request.runs is None:
        return None
    where = request.where
    matching = [run for run in request.runs if _matches(run, where)]
    wanted = ", ".join(f"{c} = {' or '.join(where[c])}" for c in RUN_COLUMNS if c in where) or "this plan"
    if not matching:
        return request.unknown("not_run", "runs-not-run", f"no run of {wanted} is in the register")
    arms: tuple[str, ...] = where.get("arm", ())
    if isinstance(request.endpoint, Contrast | StepsToThreshold):
        column, *own = arms_of(request)
        if column == "arm":
            arms = tuple(own)
            lacking = [arm for arm in arms if not any(run.arm == arm for run in matching)]
            if lacking:
                named = " or ".join(lacking)
                return request.unknown(
                    "not_run", "runs-not-run", f"no run of {wanted} with arm {named} is in the register"
                )
    return _missing_runs(request, where, arms, matching)


def _missing_runs(
    request: Request, where: dict[str, tuple[str, ...]], arms: tuple[str, ...], matching: list[RunRow]
) -> Unknown | None:
    """Planned runs that are not there, unless the plan lets a missing pair be left out.

    A rule for three seeds is another rule on two of them, so it is not evaluated.
    """
    matrix = request.effective.plan.runs
    if matrix.missing != "refuse" or "run_id" in where:
        return None
    seeds = where.get("seed")
    found = {(run.condition, run.arm, str(run.seed)) for run in matching}
    lacking = [
        cell
        for cell in matrix.planned_for(where.get("condition", ()), arms)
        if (seeds is None or cell[2] in seeds)
        and not any((cell[0] in ("", c)) and (cell[1], cell[2]) == (a, s) for c, a, s in found)
        and any(cell[0] in ("", c) and cell[1] == a for c, a, _ in found)
    ]
    if not lacking:
        return None
    named = "; ".join(" ".join(part for part in (c, a, f"seed {s}") if part) for c, a, s in lacking)
    return request.unknown(
        "not_evaluable",
        "runs-missing",
        f"planned runs are missing: {named} (see `runs.missing`)",
    )


def _matches(run: RunRow, where: dict[str, tuple[str, ...]]) -> bool:
    return all(str(getattr(run, column)) in where[column] for column in RUN_COLUMNS if column in where)


def _planned_but_absent(request: Request, error: RegisterError) -> Unknown | None:
    """Rows without an index: an absent condition or arm that the plan plans was not run; anything else is a defect."""
    if (
        error.code != "absent-value"
        or request.runs is not None
        or error.where.field not in ("condition", "arm")
    ):
        return None
    place = 0 if error.where.field == "condition" else 1
    if str(error.found) in {cell[place] for cell in request.effective.plan.runs.cells()}:
        return request.unknown("not_run", "runs-not-run", error.problem)
    return None


def _rate(request: Request, endpoint: Rate) -> Measured:
    how = request.effective.plan.resampling
    query = cells.RateQuery(
        where=request.where, numerator=endpoint.count, denominator=endpoint.among, key=request.key,
        repeats=request.policy.repeats, pooled=tuple(column for column in (how.pairs, how.clusters) if column),
    )  # fmt: skip
    found = cells.count_rate(request.registers, endpoint.register_, query)
    request.notes += [f"{request.name}: {note}" for note in found.notes]
    if found.rate is None:
        return request.unknown(
            "not_evaluable", "undefined", f"no row counts towards {request.name}: 0/0 has no value"
        )
    per = {unit: Fraction(a, b) for unit, (a, b) in found.per.items() if b}
    return Scalar(request.name, endpoint.unit, found.rate, "recomputed", per)


def _levels(request: Request) -> tuple[Fraction, ...]:
    """Every level that some rule may ask for: as written, and as widened by each family of the plan."""
    plan = request.effective.plan
    named = [part.level for _, rule in plan.criteria() for part in walk(rule) if isinstance(part, Estimate)]
    sizes = (1, *(plan.family_size(family) for family in plan.families))
    wanted = [1 - (1 - level) / size for level in (*named, plan.resampling.level) for size in sizes]
    return tuple(dict.fromkeys(wanted))


def _luck(request: Request, endpoint: LuckShare) -> Measured:
    query = cells.OutcomeQuery(
        where=request.where, value=endpoint.value, each=endpoint.each,
        unit=request.effective.plan.resampling.clusters or "task",
    )  # fmt: skip
    tables = cells.outcome_tables(request.registers, endpoint.register_, query)
    how = request.effective.plan.resampling
    values: dict[str, Fraction] = {}
    lower: dict[tuple[str, Fraction], Fraction] = {}
    upper: dict[tuple[str, Fraction], Fraction] = {}
    undefined = 0
    for unit, by_task in tables.items():
        share = luck.luck_share({task: table.numerators for task, table in by_task.items()})
        undefined += share.undefined
        if share.value is None:
            return request.unknown(
                "not_evaluable", "undefined", f"{unit}: no table varies, so it has no luck share"
            )
        values[unit] = share.value
        key = StreamKey(seed=how.seed, plan=request.effective.digest)
        for level in _levels(request):
            lower[unit, level], upper[unit, level] = luck.lower_and_upper(share, level, how.resamples, key)
    if undefined:
        request.notes.append(
            f"{request.name}: {undefined} tables without variance have no luck share and are left out"
        )
    return Units(request.name, endpoint.unit, values, lower, upper, "recomputed", undefined)


def _distinct(request: Request, endpoint: Distinct) -> Measured:
    found = cells.distinct_per_group(
        request.registers, endpoint.register_, where=request.where, value=endpoint.value, group=endpoint.group
    )
    return Groups(
        request.name, "share of groups", found.groups, found.single, found.first_single, found.first_several
    )

"""Endpoints to exact numbers, from the rows that the plan names. Pure given a `Source`.

What was never run is told apart from what is missing: an endpoint whose runs the register's index does not hold is
not_run; planned runs and pairs that should be there and are not leave it not_evaluable (`presence`); rows that
should be there and are not are a defect of the register, and refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from prereg_kit.decision import contrasts, presence, reported, series
from prereg_kit.decision.request import Request
from prereg_kit.errors import RegisterError
from prereg_kit.plan.criteria.measured import Groups, Measured, Scalar, Units
from prereg_kit.plan.criteria.rule import about_endpoints
from prereg_kit.plan.endpoint import (
    Contrast,
    Distinct,
    LuckShare,
    Mean,
    Rate,
    Selected,
    Series,
    StepsToThreshold,
    arms_of,
)
from prereg_kit.registers import cells
from prereg_kit.registers.cells.selection import require_plan_columns
from prereg_kit.statistics import luck
from prereg_kit.statistics.random_stream import StreamKey


def measure(request: Request) -> Measured:
    """The endpoint's exact value, or Unknown where its runs were not run or its figure was not reported.

    Raises:
        RegisterError: a defect of the register, the row or key named.
    """
    endpoint = request.endpoint
    _watch_points(request)
    if endpoint.register_ == "reported":
        return reported.reported(request)
    absent = presence.before(request)
    if absent is not None:
        return absent
    try:
        _require_columns(request)
        presence.watch_rows(request)
        return _from_rows(request, endpoint)
    except RegisterError as error:
        if error.code == "absent-kind":
            return request.unknown("not_evaluable", "rows-missing", error.problem)
        planned = presence.planned_but_absent(request, error)
        if planned is not None:
            return planned
        raise


def _from_rows(request: Request, endpoint: Selected) -> Measured:
    match endpoint:
        case Contrast():
            return presence.after(request, contrasts.contrast(request, endpoint))
        case Mean():
            return presence.after(request, contrasts.mean(request, endpoint))
        case StepsToThreshold():
            return presence.after(request, contrasts.steps_to_threshold(request, endpoint))
        case Rate() | LuckShare() | Series() | Distinct():
            return presence.narrowed(request) or _pooled(request, endpoint)
        case _:
            assert_never(endpoint)


def _require_columns(request: Request) -> None:
    """Every column that the plan names for a table of cells is there, or all that lack are named at once.

    Raises:
        RegisterError: `absent-column`.
    """
    endpoint, how = request.endpoint, request.effective.plan.resampling
    if not isinstance(endpoint, Contrast | Mean | StepsToThreshold):
        return
    at = f"endpoints.{request.name}"
    named: list[tuple[str | None, str]] = [(endpoint.value, f"{at}.value")]
    named += [(column, f"{at}.where") for column in endpoint.where]
    compared = arms_of(endpoint, request.effective.plan.arms)
    if compared is not None and not isinstance(endpoint, Mean):
        own = "arms" if endpoint.arms is None else f"{at}.arms"
        named.append((compared.column, f"{own}.column"))
    if isinstance(endpoint, StepsToThreshold):
        named.append((endpoint.axis, f"{at}.axis"))
    elif endpoint.over is not None:
        named.append((endpoint.over.column, f"{at}.over"))
    named += [(how.pairs, "resampling.pairs")]
    if endpoint.register_ != "counts":
        named.append((how.clusters, "resampling.clusters"))
    rows = request.registers.rows(endpoint.register_)
    require_plan_columns(rows, [(column, field) for column, field in named if column])


def _pooled(request: Request, endpoint: Rate | LuckShare | Series | Distinct) -> Measured:
    match endpoint:
        case Rate():
            return _rate(request, endpoint)
        case LuckShare():
            return _luck(request, endpoint)
        case Series():
            return series.series(request, endpoint)
        case Distinct():
            return _distinct(request, endpoint)


def _watch_points(request: Request) -> None:
    """Note whether the plan names the points that a series or a curve must have."""
    endpoint = request.endpoint
    if isinstance(endpoint, StepsToThreshold):
        request.guard(
            "named-points", None if endpoint.steps else "the endpoint names no `steps`: those found are taken"
        )
    parts = about_endpoints(rule for _, rule in request.effective.plan.criteria())
    loose = [part for part in parts if part.endpoint == request.name and part.takes_any_points()]
    if isinstance(endpoint, Series):
        request.guard("named-points", "a rule names no `points`: those found are judged" if loose else None)


def _rate(request: Request, endpoint: Rate) -> Measured:
    how = request.effective.plan.resampling
    query = cells.RateQuery(
        where=request.where, numerator=endpoint.count, denominator=endpoint.among, key=request.key,
        repeats=request.policy.repeats, pooled=tuple(column for column in (how.pairs, how.clusters) if column),
    )  # fmt: skip
    found = cells.count_rate(request.registers, endpoint.register_, query)
    request.notes += [f"{request.name}: {note}" for note in found.notes]
    rows_differ = "the rows have no key column: a repeated row cannot be found"
    request.guard("distinct-rows", None if found.distinct else rows_differ)
    if found.rate is None:
        return request.unknown(
            "not_evaluable", "undefined", f"no row counts towards {request.name}: 0/0 has no value"
        )
    per = {unit: Fraction(a, b) for unit, (a, b) in found.per.items() if b}
    return Scalar(request.name, endpoint.unit, found.rate, "recomputed", per)


def _levels(request: Request) -> tuple[Fraction, ...]:
    """Every level that some rule may ask for: as written, and as widened by each family of the plan."""
    plan = request.effective.plan
    parts = about_endpoints(rule for _, rule in plan.criteria())
    named = [bound.level for part in parts for bound in part.compared().ends]
    sizes = (1, *(plan.family_size(family) for family in plan.families))
    wanted = [1 - (1 - level) / size for level in (*named, plan.resampling.level) for size in sizes]
    return tuple(dict.fromkeys(wanted))


def _luck(request: Request, endpoint: LuckShare) -> Measured:
    query = cells.OutcomeQuery(
        where=request.where, value=endpoint.value, value_range=request.value_range, each=endpoint.each,
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

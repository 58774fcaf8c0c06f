"""Endpoints to exact numbers, from the rows that the plan names. Pure given a `Source`.

What was never run is told apart from what is missing: an endpoint whose runs the register's index does not hold is
not_run; rows that should be there and are not are a defect of the register, and refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prereg_kit import cells, luck
from prereg_kit.cells import CellTable, Policy, Source
from prereg_kit.cells.source import ValueKind
from prereg_kit.decision.measured import Groups, Measured, Paired, Scalar, Units, Unknown
from prereg_kit.errors import DecisionError, RegisterError
from prereg_kit.history import EffectivePlan
from prereg_kit.plan.criterion import Estimate, walk
from prereg_kit.plan.endpoint import Contrast, Distinct, LuckShare, Mean, Over, Rate, Selection, Series, StepsToThreshold
from prereg_kit.plan.fields import decimal_text
from prereg_kit.random_stream import StreamKey
from prereg_kit.registers import RunRow
from prereg_kit.verdict import Evidence, Interval, Reason

RUN_COLUMNS = ("condition", "arm", "seed", "run_id")
_LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class AlongAxis:
    """Cell means before the axis is weighted away: numerators [arm, seed, axis, task] over one denominator."""

    column: str
    axis: tuple[str, ...]
    arms: tuple[str, ...]
    seeds: tuple[str, ...]
    numerators: NDArray[Any]
    denominator: int


@dataclass
class Request:
    """One endpoint to measure; `used` and `notes` are filled on the way."""

    effective: EffectivePlan
    registers: Source
    runs: Sequence[RunRow] | None
    name: str
    endpoint: Selection
    each: dict[str, str]
    used: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    along: AlongAxis | None = None

    @property
    def where(self) -> dict[str, tuple[str, ...]]:
        """The endpoint's conditions with those of `for_each`; a reported register is searched by endpoint name."""
        where = dict(self.endpoint.where)
        if self.endpoint.register_ == "reported":
            where.setdefault("endpoint", (self.name,))
        return where | {column: (value,) for column, value in self.each.items() if column not in where}

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key columns that the plan gives this register, or None for the register's default."""
        spec = self.effective.plan.registers.get(self.endpoint.register_)
        return None if spec is None else spec.key

    @property
    def policy(self) -> Policy:
        """How the plan says defects are treated."""
        spec = self.effective.plan.registers.get(self.endpoint.register_)
        unequal = self.endpoint.unequal if isinstance(self.endpoint, Contrast) else "refuse"
        return Policy(repeats="refuse" if spec is None else spec.repeats, unequal=unequal)

    def value_kind(self, column: str) -> ValueKind:
        """A proportion is a mean of true and false; every other unit is a mean of numbers."""
        return "boolean" if self.endpoint.unit == "proportion" and self.endpoint.register_ != "counts" else "number"

    def unknown(self, outcome: str, code: str, message: str) -> Unknown:
        """Nothing to judge, and why."""
        return Unknown(self.name, outcome, (Reason(code=code, message=message),))  # type: ignore[arg-type]


def measure(request: Request) -> Measured:
    """The endpoint's exact value, or Unknown where its runs were not run or its figure was not reported.

    Raises:
        RegisterError: a defect of the register, the row or key named.
    """
    endpoint = request.endpoint
    if endpoint.register_ == "reported":
        return _reported(request)
    absent = _not_run(request)
    if absent is not None:
        return absent
    try:
        match endpoint:
            case Contrast():
                return _contrast(request, endpoint)
            case Mean():
                return _mean(request, endpoint)
            case Rate():
                return _rate(request, endpoint)
            case LuckShare():
                return _luck(request, endpoint)
            case Series():
                return _series(request, endpoint)
            case Distinct():
                return _distinct(request, endpoint)
    except RegisterError as error:
        planned = _planned_but_absent(request, error)
        if planned is not None:
            return planned
        raise
    assert isinstance(endpoint, StepsToThreshold)
    return request.unknown("not_evaluable", "censored", "steps to a threshold are bounds; no criterion reads them yet")


def _arms(request: Request) -> tuple[str, str, str]:
    endpoint = request.endpoint
    arms = endpoint.arms if isinstance(endpoint, Contrast) and endpoint.arms else request.effective.plan.arms
    return arms.column, arms.treatment, arms.reference


def _not_run(request: Request) -> Unknown | None:
    """Not run, by the index of runs: no counted run matches, or one arm of a contrast has none."""
    if request.runs is None:
        return None
    where = request.where
    matching = [run for run in request.runs if _matches(run, where)]
    wanted = ", ".join(f"{c} = {' or '.join(where[c])}" for c in RUN_COLUMNS if c in where) or "this plan"
    if not matching:
        return request.unknown("not_run", "runs-not-run", f"no run of {wanted} is in the register")
    if isinstance(request.endpoint, Contrast):
        column, *arms = _arms(request)
        if column == "arm":
            lacking = [arm for arm in arms if not any(run.arm == arm for run in matching)]
            if lacking:
                return request.unknown(
                    "not_run", "runs-not-run", f"no run of {wanted} with arm {' or '.join(lacking)} is in the register"
                )
    return None


def _matches(run: RunRow, where: dict[str, tuple[str, ...]]) -> bool:
    return all(str(getattr(run, column)) in where[column] for column in RUN_COLUMNS if column in where)


def _planned_but_absent(request: Request, error: RegisterError) -> Unknown | None:
    """Rows without an index: an absent condition or arm that the plan plans was not run; anything else is a defect."""
    if error.code != "absent-value" or request.runs is not None or error.where.field not in ("condition", "arm"):
        return None
    place = 0 if error.where.field == "condition" else 1
    if str(error.found) in {cell[place] for cell in request.effective.plan.runs.cells()}:
        return request.unknown("not_run", "runs-not-run", error.problem)
    return None


def _table(request: Request, over: Over | None, value: str, *, arms: bool, clusters: bool = True) -> CellTable:
    plan = request.effective.plan
    counts = request.endpoint.register_ == "counts"
    column, treatment, reference = _arms(request)
    table = cells.cell_table(
        request.registers,
        request.endpoint.register_,
        where=request.where,
        value=value,
        value_kind=request.value_kind(value),
        episodes="episodes" if counts else None,
        arm=column if arms else None,
        arms=(treatment, reference) if arms else (),
        pairs=plan.resampling.pairs,
        cluster=plan.resampling.clusters if clusters else None,
        axis=None if over is None else over.column,
        axis_values=None if over is None else tuple(over.weights),
        key=request.key,
        policy=request.policy,
    )
    request.used[request.endpoint.register_] = table.rows_used
    request.notes += [f"{request.name}: {note}" for note in table.notes]
    return table


def _weights(table: CellTable, over: Over | None) -> tuple[list[int], int]:
    """Whole-number weights in the order of the table's axis, and the number that their sum stands for."""
    if over is None:
        return [1], 1
    total = sum(over.weights.values())
    parts = {point: weight / total for point, weight in over.weights.items()}
    common = math.lcm(*(part.denominator for part in parts.values()))
    return [int(parts[point] * common) for point in table.axis], common


def _collapsed(request: Request, over: Over | None, value: str, *, arms: bool) -> tuple[CellTable, np.ndarray, int]:
    """Cell means [arm, seed, task] as whole numbers over one denominator, the axis weighted away."""
    table = _table(request, over, value, arms=arms)
    numerators, denominator = table.numerators()
    if over is not None and arms:
        request.along = AlongAxis(over.column, table.axis, table.arms, table.seeds, numerators, denominator)
    weights, common = _weights(table, over)
    largest = max(abs(int(numerators.max(initial=0))), abs(int(numerators.min(initial=0))))
    numbers = numerators if largest * common * 2 < _LARGEST else numerators.astype(object)
    weighted = sum(numbers[:, :, index] * weight for index, weight in enumerate(weights))
    return table, np.asarray(weighted), denominator * common


def _contrast(request: Request, endpoint: Contrast) -> Measured:
    table, numbers, denominator = _collapsed(request, endpoint.over, endpoint.value, arms=True)
    difference = numbers[0] - numbers[1]
    shared = math.gcd(denominator, *(int(value) for value in np.unique(difference)))
    reduced = difference // shared
    if reduced.dtype == object and int(np.abs(reduced).max(initial=0)) * reduced.size >= _LARGEST:
        raise DecisionError(
            f"the differences of {request.name} need more than 62 bits", next_step="Round the values in the register."
        )
    return Paired(
        request.name, endpoint.unit, table.seeds, reduced.astype(np.int64), denominator // shared, table.has_tasks
    )


def _mean(request: Request, endpoint: Mean) -> Measured:
    table, numbers, denominator = _collapsed(request, endpoint.over, endpoint.value, arms=False)
    tasks = numbers.shape[2]
    per_seed = {
        seed: Fraction(int(numbers[0, index].sum()), tasks * denominator) for index, seed in enumerate(table.seeds)
    }
    value = sum(per_seed.values(), Fraction(0)) / len(per_seed)
    return Scalar(request.name, endpoint.unit, value, "recomputed", per_seed)


def _rate(request: Request, endpoint: Rate) -> Measured:
    found = cells.count_rate(
        request.registers, endpoint.register_, where=request.where, numerator=endpoint.count,
        denominator=endpoint.among, key=request.key, repeats=request.policy.repeats,
    )  # fmt: skip
    request.used[endpoint.register_] = found.rows_used
    request.notes += [f"{request.name}: {note}" for note in found.notes]
    if found.rate is None:
        return request.unknown("not_evaluable", "undefined", f"no row counts towards {request.name}: 0/0 has no value")
    per = {unit: Fraction(a, b) for unit, (a, b) in found.per.items() if b}
    return Scalar(request.name, endpoint.unit, found.rate, "recomputed", per)


def _levels(request: Request) -> tuple[Fraction, ...]:
    named = [
        part.level
        for _, rule in request.effective.plan.criteria()
        for part in walk(rule)
        if isinstance(part, Estimate)
    ]
    return tuple(dict.fromkeys([*named, request.effective.plan.resampling.level]))


def _luck(request: Request, endpoint: LuckShare) -> Measured:
    tables = cells.outcome_tables(
        request.registers, endpoint.register_, where=request.where, value=endpoint.value, each=endpoint.each,
        unit=request.effective.plan.resampling.clusters or "task",
    )  # fmt: skip
    how = request.effective.plan.resampling
    values: dict[str, Fraction] = {}
    lower: dict[tuple[str, Fraction], Fraction] = {}
    upper: dict[tuple[str, Fraction], Fraction] = {}
    undefined = 0
    for unit, by_task in tables.items():
        share = luck.luck_share({task: table.numerators for task, table in by_task.items()})
        undefined += share.undefined
        if share.value is None:
            return request.unknown("not_evaluable", "undefined", f"{unit}: no table varies, so it has no luck share")
        values[unit] = share.value
        key = StreamKey(seed=how.seed, plan=request.effective.digest)
        for level in _levels(request):
            lower[unit, level], upper[unit, level] = luck.lower_and_upper(share, level, how.resamples, key)
    if undefined:
        request.notes.append(f"{request.name}: {undefined} tables without variance have no luck share and are left out")
    return Units(request.name, endpoint.unit, values, lower, upper, "recomputed", undefined)


def _rows(request: Request, value: str, columns: tuple[str, ...]) -> tuple[cells.ValueRow, ...]:
    rows = cells.value_rows(
        request.registers, request.endpoint.register_, where=request.where, value=value, columns=columns,
        key=request.key,
    )  # fmt: skip
    request.used[request.endpoint.register_] = len(rows)
    return rows


def _series(request: Request, endpoint: Series) -> Measured:
    return _along(request, endpoint, _rows(request, endpoint.value, (endpoint.axis,)), "recomputed")


def _along(request: Request, endpoint: Series, rows: Sequence[cells.ValueRow], evidence: Evidence) -> Measured:
    values: dict[str, Fraction] = {}
    for row in rows:
        point = row.key.get(endpoint.axis)
        if point is None or point in values:
            raise RegisterError(
                f"{request.name} has {'a value without' if point is None else 'two values at one'} {endpoint.axis}",
                expected=f"one row per {endpoint.axis}",
                found=dict(row.key),
                next_step="Narrow the endpoint's `where` until one row per point is left.",
                code="mixed",
            )
        values[point] = row.value
    if endpoint.relative_to is not None:
        if endpoint.relative_to not in values:
            return request.unknown("not_evaluable", "rows-missing", f"{request.name} has no {endpoint.relative_to}")
        base = values.pop(endpoint.relative_to)
        values = {point: value - base for point, value in values.items()}
    if not values:
        return request.unknown("not_evaluable", "rows-missing", f"{request.name} has no rows")
    return Units(request.name, endpoint.unit, dict(sorted(values.items(), key=_natural)), evidence=evidence)


def _natural(item: tuple[str, Fraction]) -> tuple[int, int, str]:
    return (0, int(item[0]), "") if item[0].lstrip("-").isdigit() else (1, 0, item[0])


def _distinct(request: Request, endpoint: Distinct) -> Measured:
    found = cells.distinct_per_group(
        request.registers, endpoint.register_, where=request.where, value=endpoint.value, group=endpoint.group
    )
    request.used[endpoint.register_] = found.rows_used
    return Groups(
        request.name, "share of groups", found.groups, found.single, found.first_single, found.first_several
    )


def _reported(request: Request) -> Measured:
    endpoint = request.endpoint
    try:
        rows = _rows(request, "value", ("run_id", "level", "statistic"))
    except RegisterError as error:
        if error.code in ("absent-value", "no-rows-selected", "absent-kind"):
            return request.unknown("not_evaluable", "no-reported-figure", f"no figure is reported for {request.name}")
        raise
    estimates = [row for row in rows if row.key["statistic"] == "estimate"]
    if isinstance(endpoint, Series):
        return _along(request, endpoint, estimates, "reported")
    values = {row.key.get("run_id") or "reported": row.value for row in estimates}
    if not values:
        return request.unknown("not_evaluable", "no-reported-figure", f"no estimate is reported for {request.name}")
    ends: dict[str, dict[tuple[str, Fraction], Fraction]] = {"lower": {}, "upper": {}}
    for row in rows:
        statistic, level = row.key["statistic"], row.key.get("level")
        if statistic in ends and level is not None:
            ends[statistic][row.key.get("run_id") or "", Fraction(level)] = row.value
    if len(values) == 1 and "reported" in values and isinstance(endpoint, Rate | Mean):
        return Scalar(request.name, endpoint.unit, values["reported"], "reported")
    return Units(request.name, endpoint.unit, values, ends["lower"], ends["upper"], "reported")


def reported_interval(
    registers: Source, endpoint: str, level: Fraction, each: dict[str, str]
) -> tuple[Interval, Fraction, Fraction] | Reason:
    """A published interval of a contrast, or the reason why there is none at this level."""
    where = {"endpoint": endpoint, **each}
    try:
        rows = cells.value_rows(registers, "reported", where=where, value="value", columns=("level", "statistic"))
    except RegisterError as error:
        if error.code not in ("absent-value", "no-rows-selected", "absent-kind"):
            raise
        rows = ()
    ends = {
        row.key["statistic"]: row.value
        for row in rows
        if row.key.get("level") is not None and Fraction(row.key["level"] or "0") == level
    }
    if "lower" not in ends or "upper" not in ends:
        return Reason(
            code="no-reported-figure",
            message=f"no interval of level {decimal_text(level)} is reported for {endpoint}, and counts have no tasks to resample",
        )
    lower, upper = ends["lower"], ends["upper"]
    shown = Interval(
        level=float(level), lower=float(lower), upper=float(upper), engine="reported",
        scheme="as published", lower_exact=str(lower), upper_exact=str(upper), note="published, not recomputed",
    )  # fmt: skip
    return shown, lower, upper

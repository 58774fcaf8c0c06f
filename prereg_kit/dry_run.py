"""Dry runs: a rule is evaluated on small invented registers before anything is frozen. No file is read.

Each endpoint is measured on rows that have exactly the columns and values that the plan names: typical rows, rows
where everything is equal, one seed, a missing value, and no rows at all. What must be measured is measured; what must
be refused is refused with a RegisterError; anything else is a finding.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from prereg_kit.decision.court import Court
from prereg_kit.decision.measured import Paired, Unknown
from prereg_kit.errors import PreregError, RegisterError
from prereg_kit.history import EffectivePlan
from prereg_kit.plan.criterion import Criterion_, IntervalEnd, endpoints_of, walk
from prereg_kit.plan.endpoint import (
    Contrast,
    Distinct,
    Gap,
    LuckShare,
    Mean,
    Rate,
    Ratio,
    Selection,
    Series,
    StepsToThreshold,
)
from prereg_kit.plan.plan import Plan
from prereg_kit.register_file import Registers
from prereg_kit.registers import FORMATS
from prereg_kit.verdict import Reason

Variant = Literal["typical", "tied", "one seed", "missing value", "no rows"]
VARIANTS: tuple[Variant, ...] = ("typical", "tied", "one seed", "missing value", "no rows")
TASKS, REPEATS = 3, 2
Row = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A dry run that did not end as it must: which endpoint, on which rows, and what happened."""

    endpoint: str
    variant: Variant
    message: str


def failures(effective: EffectivePlan, rule: Criterion_, seeds: int) -> Iterator[Failure]:
    """Measure every endpoint of a rule on invented rows.

    Args:
        effective: the plan.
        rule: one criterion of it.
        seeds: how many seed pairs to invent, at least 1.
    """
    for name in endpoints_of(rule):
        levels = [p.two_sided_level for p in walk(rule) if isinstance(p, IntervalEnd) and p.endpoint == name]
        for part in _parts(effective.plan, name):
            endpoint = effective.plan.endpoints[part]
            assert isinstance(endpoint, Selection)
            if endpoint.register_ == "reported":
                continue
            for variant in VARIANTS:
                message = _try(effective, part, endpoint, variant, seeds, levels)
                if message is not None:
                    yield Failure(part, variant, message)
                    break


def _parts(plan: Plan, name: str) -> tuple[str, ...]:
    endpoint = plan.endpoints[name]
    if isinstance(endpoint, Gap):
        return (*_parts(plan, endpoint.of), *_parts(plan, endpoint.minus))
    if isinstance(endpoint, Ratio):
        return (*_parts(plan, endpoint.of), *_parts(plan, endpoint.over))
    return (name,)


def _try(
    effective: EffectivePlan, name: str, endpoint: Selection, variant: Variant, seeds: int, levels: list[Any]
) -> str | None:
    rows = [] if variant == "no rows" else list(_rows(effective.plan, endpoint, variant, seeds))
    try:
        court = Court(effective, Registers.from_frames({endpoint.register_: _columns(rows)}), None)
        measured = court.measured(name)
        for level in levels:
            found = court.interval(measured, level, "percentile") if isinstance(measured, Paired) else None
            if isinstance(found, Reason) and effective.plan.kind != "retrospective":
                return found.message  # a retrospective plan may take the interval from published figures
    except RegisterError as error:
        return None if variant in ("missing value", "no rows") else str(error)
    except PreregError as error:
        return str(error)
    if variant in ("missing value", "no rows"):
        return f"rows with {variant} were accepted"
    if isinstance(measured, Unknown) and not (variant == "tied" and measured.reasons[0].code == "undefined"):
        return measured.reasons[0].message
    return None


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {"arm": []}


def _literal(text: str) -> Any:  # noqa: ANN401 - a cell of an invented register
    return int(text) if text.lstrip("-").isdigit() and text == str(int(text)) else text


def _rows(plan: Plan, endpoint: Selection, variant: Variant, seeds: int) -> Iterator[Row]:
    """Rows that an endpoint can be measured on: its conditions, crossed with arms, seeds, its axis, units, repeats."""
    seeds = 1 if variant == "one seed" else seeds
    own = getattr(endpoint, "arms", None) or plan.arms
    fixed = {column: _literal(values[0]) for column, values in endpoint.where.items()}
    crossed: dict[str, list[Any]] = {}
    if isinstance(endpoint, Contrast | StepsToThreshold):
        crossed[own.column] = [own.treatment, own.reference]
    crossed[plan.resampling.pairs] = list(range(seeds))
    over = endpoint.over if isinstance(endpoint, Contrast | Mean) else None
    if over is not None:
        crossed[over.column] = [_literal(point) for point in over.weights]
    if isinstance(endpoint, StepsToThreshold | Series):
        steps = getattr(endpoint, "steps", None) or (getattr(endpoint, "relative_to", None) or "0", "1", "2")
        crossed[endpoint.axis] = [_literal(point) for point in steps]
    crossed |= _units(plan, endpoint)
    for number, choice in enumerate(itertools.product(*crossed.values())):
        row: Row = {**dict(zip(crossed, choice, strict=True)), **fixed}
        yield row | _values(endpoint, variant, number)


def _units(plan: Plan, endpoint: Selection) -> dict[str, list[Any]]:
    tasks: list[Any] = [f"task-{number}" for number in range(TASKS)]
    if isinstance(endpoint, LuckShare):
        units: dict[str, list[Any]] = {
            plan.resampling.clusters or "task": tasks, "schedule": [0, 1, 2], "sample": [0, 1, 2],
        }  # fmt: skip
        return units if endpoint.each in ("seed",) else {endpoint.each: ["run-0"], **units}
    if isinstance(endpoint, Distinct):
        return {column: [0, 1] for column in endpoint.group}
    if isinstance(endpoint, Series):
        return {}
    if endpoint.register_ == "counts":
        return {}
    repeats = "row" if endpoint.register_ == "groups" else "schedule"
    inner: dict[str, list[Any]] = (
        {} if endpoint.register_ == "groups" else {plan.resampling.clusters or "task": tasks}
    )
    return inner | {repeats: list(range(REPEATS))}


def _values(endpoint: Selection, variant: Variant, number: int) -> Row:
    flag: Any = variant != "tied" and (number * 7 + number // 3) % 5 < 3
    if variant == "missing value" and number == 0:
        flag = None
    if isinstance(endpoint, Rate):
        if endpoint.register_ == "counts":
            return {endpoint.count: None if flag is None else int(flag), endpoint.among or "episodes": 2}
        return {endpoint.count: flag} | ({endpoint.among: True} if endpoint.among else {})
    value: str = getattr(endpoint, "value")  # noqa: B009 - every remaining endpoint names one
    if isinstance(endpoint, Distinct):
        lists = FORMATS.get(endpoint.register_)
        column = lists.column(value) if lists else None
        listed = column is not None and column.type in ("texts", "integers", "booleans", "numbers")
        entry = None if flag is None else str(int(flag))
        return {value: [entry, entry] if listed else entry}
    if endpoint.register_ == "counts":
        return {value: None if flag is None else int(flag), "episodes": 2}
    if endpoint.unit == "proportion":
        return {value: flag}
    return {value: None if flag is None else number % 3 if variant != "tied" else 1}

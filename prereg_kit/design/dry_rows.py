"""Invented rows on which an endpoint must be measurable: its conditions, crossed with what it reads. Pure.

Every column has exactly the values that the plan names for it. A condition of `where` on a column that the endpoint
crosses anyway (seed, task, step, ...) gives that column its values; one that lists several values gets rows of each.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

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
from prereg_kit.plan.plan import Plan
from prereg_kit.registers.formats import CONTEXTS, FORMATS, REPEATS

Variant = Literal["typical", "tied", "one seed", "missing value", "no rows"]
VARIANTS: tuple[Variant, ...] = ("typical", "tied", "one seed", "missing value", "no rows")
TASKS, EPISODES = 3, 2
MOST_ROWS = 100_000
"""Seeds are taken away, down to one, until there are no more rows than this."""
Row = dict[str, Any]
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def rows(plan: Plan, endpoint: Selected, variant: Variant, seeds: int) -> Iterator[Row]:
    """Rows that an endpoint can be measured on.

    Args:
        plan: for arms, pairing column, repeated units and the register's key.
        endpoint: its register is not `reported`.
        variant: which rows; "no rows" gives none.
        seeds: how many seed pairs to invent, at least 1.
    """
    if variant == "no rows":
        return
    crossed = columns(plan, endpoint, 1 if variant == "one seed" else seeds)
    while math.prod(map(len, crossed.values())) > MOST_ROWS and variant != "one seed" and seeds > 1:
        seeds //= 2
        crossed = columns(plan, endpoint, seeds)
    for number, choice in enumerate(itertools.product(*crossed.values())):
        yield dict(zip(crossed, choice, strict=True)) | _values(endpoint, variant, number)


def columns(plan: Plan, endpoint: Selected, seeds: int) -> dict[str, list[Any]]:
    """The columns to cross and the values of each, as a register would hold them."""
    crossed: dict[str, Sequence[str]] = dict(_read(plan, endpoint, seeds))
    crossed |= dict(_keyed(plan, endpoint, {*crossed, *endpoint.where}))
    arms = arms_of(endpoint, plan.arms)
    must_stay = set(crossed) & {"" if arms is None else arms.column, _axis(endpoint)}
    for column, wanted in endpoint.where.items():
        # an endpoint needs both arms and every point of its axis, also where a condition then takes some away
        crossed[column] = tuple(dict.fromkeys((*crossed[column], *wanted))) if column in must_stay else wanted
    return {column: _typed(values) for column, values in crossed.items()}


def _typed(values: Sequence[str]) -> list[Any]:
    """Whole numbers where every text is one, as a column has one type."""
    return [int(value) for value in values] if all(map(_WHOLE.fullmatch, values)) else list(values)


def _axis(endpoint: Selected) -> str:
    over = endpoint.over if isinstance(endpoint, Contrast | Mean) else None
    if over is not None:
        return over.column
    return endpoint.axis if isinstance(endpoint, Series | StepsToThreshold) else ""


def _read(plan: Plan, endpoint: Selected, seeds: int) -> Iterator[tuple[str, Sequence[str]]]:
    """What the endpoint reads beside its conditions, each column with its values as texts."""
    arms = arms_of(endpoint, plan.arms)
    if arms is not None:
        yield arms.column, (arms.treatment, arms.reference)
    if isinstance(endpoint, Contrast | StepsToThreshold | Mean):
        yield plan.resampling.pairs, _numbered(seeds)
    over = endpoint.over if isinstance(endpoint, Contrast | Mean) else None
    if over is not None:
        yield over.column, tuple(over.weights)
    if isinstance(endpoint, StepsToThreshold):
        yield endpoint.axis, endpoint.steps or _numbered(3)
    if isinstance(endpoint, Series):
        yield endpoint.axis, tuple(dict.fromkeys((endpoint.relative_to or "0", *_numbered(3))))
        return
    if isinstance(endpoint, Distinct):
        for column in endpoint.group:
            yield column, _numbered(2)
        return
    yield from _units(plan, endpoint)


def _units(plan: Plan, endpoint: Selected) -> Iterator[tuple[str, Sequence[str]]]:
    cluster = plan.resampling.clusters
    tasks = tuple(f"task-{number}" for number in range(TASKS))
    if isinstance(endpoint, LuckShare):
        yield endpoint.each, ("run-0",) if endpoint.each not in ("seed", "step") else ("0",)
        yield from ((cluster or "task", tasks), ("schedule", _numbered(3)), ("sample", _numbered(3)))
        return
    if endpoint.register_ not in ("counts", "groups") and cluster is not None:
        yield cluster, tasks


def _keyed(plan: Plan, endpoint: Selected, known: Collection[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The column that numbers the episodes of a cell, and what else a declared key names, constant."""
    spec = plan.registers.get(endpoint.register_)
    key = [column for column in (() if spec is None else spec.key or ()) if column not in known]
    number = None
    if endpoint.register_ != "counts" and not isinstance(endpoint, LuckShare | Series | Distinct):
        usual = "row" if endpoint.register_ == "groups" else "schedule"
        numbers = [c for c in key if c in REPEATS or c == "row" or (c not in CONTEXTS and c != "run_id")]
        number = numbers[0] if numbers else usual if spec is None or spec.key is None else None
    for column in (*key, *((number,) if number is not None and number not in key else ())):
        if column not in known:
            yield column, _numbered(EPISODES) if column == number else ("0",)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def _values(endpoint: Selected, variant: Variant, number: int) -> Row:
    flag: Any = variant != "tied" and (number * 7 + number // 3) % 5 < 3
    if variant == "missing value" and number == 0:
        flag = None
    if isinstance(endpoint, Rate):
        if endpoint.register_ == "counts":
            return {endpoint.count: None if flag is None else int(flag), endpoint.among or "episodes": 2}
        return {endpoint.count: flag} | ({endpoint.among: True} if endpoint.among else {})
    value = endpoint.column()
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
    bounds = endpoint.bounds
    if bounds is not None:  # the least, the middle and the greatest value that a row may have
        third = Fraction(number % 3 if variant != "tied" else 1, 2)
        return {value: None if flag is None else str(bounds[0] + (bounds[1] - bounds[0]) * third)}
    return {value: None if flag is None else number % 3 if variant != "tied" else 1}

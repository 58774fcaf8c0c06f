"""Which pairs a plan's run matrix plans for one endpoint, or why the matrix cannot say. Pure.

A planned run is described by `condition`, `arm`, `seed` and `pair`; rows are described by columns. This module is the
one place that knows which column stands for which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from prereg_kit.plan.endpoint import Selected, arms_of
from prereg_kit.plan.matrix import ANY, PlannedRuns
from prereg_kit.plan.plan import Plan

Part = Literal["condition", "arm", "seed", "pair"]
Obstacle = Literal["no-runs", "named-by-run", "not-planned", "pairs-unnamed"]


@dataclass(frozen=True)
class PlannedPairs:
    """The planned pairs of an endpoint, in the plan's order, or why the matrix cannot say.

    Attributes:
        column: the pairing column.
        pairs: its planned values; empty with an obstacle.
        obstacle: `no-runs`: the plan plans no runs at all. `named-by-run`: the endpoint names its runs by `run_id`.
            `not-planned`: the matrix plans no run that the endpoint needs. `pairs-unnamed`: the matrix plans its runs
            and does not say which values of the pairing column they have.
        words: the obstacle as a sentence without a full stop.
        lacking: with `not-planned`, the first combination of values that no block plans.
    """

    column: str
    pairs: tuple[str, ...] = ()
    obstacle: Obstacle | None = None
    words: str = ""
    lacking: Mapping[Part, str] = field(default_factory=dict)


def parts_by_column(plan: Plan) -> dict[str, Part]:
    """The column of rows that each part of a planned run is compared with."""
    columns: dict[str, Part] = {"condition": "condition", "seed": "seed"}
    columns.setdefault(plan.arms.column, "arm")
    columns.setdefault(plan.resampling.pairs, "pair")
    columns.setdefault("arm", "arm")
    return columns


def pair_part(plan: Plan) -> Part:
    """The part of a planned run that names its pair."""
    return parts_by_column(plan)[plan.resampling.pairs]


def wanted_parts(
    plan: Plan, endpoint: Selected, where: Mapping[str, Sequence[str]]
) -> dict[Part, tuple[str, ...]]:
    """What an endpoint demands of the runs that it reads: the part of a planned run, and the values it may have."""
    columns = parts_by_column(plan)
    wanted = {columns[name]: tuple(values) for name, values in where.items() if name in columns}
    arms = arms_of(endpoint, plan.arms)
    if arms is not None and arms.column in columns:
        both = (arms.treatment, arms.reference)
        wanted[columns[arms.column]] = both
    return wanted


def planned_pairs(plan: Plan, endpoint: Selected, where: Mapping[str, Sequence[str]]) -> PlannedPairs:
    """The pairs that have to be there for an endpoint under the conditions `where`.

    Args:
        plan: for the matrix, the arms and the pairing column.
        endpoint: it reads rows; an endpoint on published figures belongs to no run.
        where: the endpoint's conditions with that of `for_each`.
    """
    column = plan.resampling.pairs
    if not plan.runs.planned:
        return PlannedPairs(column, (), "no-runs", "the plan names no runs (`runs.planned`)")
    if "run_id" in where:
        return PlannedPairs(column, (), "named-by-run", "the endpoint names its runs by run_id")
    wanted = wanted_parts(plan, endpoint, where)
    lacking = _lacking(plan.runs.planned, wanted)
    if lacking:
        named = " and ".join(f"{part} {value}" for part, value in lacking.items())
        return PlannedPairs(column, (), "not-planned", f"the plan plans no run of {named}", lacking)
    blocks = [block for block in plan.runs.planned if _admits(block, wanted)]
    part = pair_part(plan)
    listed = [value for block in blocks for value in _values(block, part)]
    if ANY in listed:
        words = (
            f"pairs are told apart by {column}, and `runs.planned` does not say which values of {column} are "
            f"planned; add `{part}: [...]` to each block"
        )
        return PlannedPairs(column, (), "pairs-unnamed", words)
    pairs = tuple(dict.fromkeys(value for value in listed if part not in wanted or value in wanted[part]))
    return PlannedPairs(column, pairs)


def pairs_by_arm(
    plan: Plan, endpoint: Selected, where: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """The planned pairs of the treatment and of the reference; empty where an endpoint compares no planned arms."""
    arms, columns = arms_of(endpoint, plan.arms), parts_by_column(plan)
    if arms is None or arms.column not in columns:
        return ()
    wanted, part = wanted_parts(plan, endpoint, where), pair_part(plan)
    return tuple(
        tuple(
            value
            for block in plan.runs.planned
            if _admits(block, {**wanted, columns[arms.column]: (arm,)})
            for value in _values(block, part)
        )
        for arm in (arms.treatment, arms.reference)
    )


def _values(block: PlannedRuns, part: Part) -> tuple[str, ...]:
    listed: dict[Part, tuple[str, ...]] = {
        "condition": block.condition, "arm": block.arm, "seed": block.seed, "pair": block.pair,
    }  # fmt: skip
    return listed[part]


def _admits(block: PlannedRuns, wanted: Mapping[Part, Sequence[str]]) -> bool:
    return all(
        any(value in (ANY, *values) for value in _values(block, part)) for part, values in wanted.items()
    )


def _lacking(blocks: Sequence[PlannedRuns], wanted: Mapping[Part, Sequence[str]]) -> dict[Part, str]:
    """The first combination of wanted values that no block plans; empty if each is planned."""
    for values in product(*wanted.values()):
        one = dict(zip(wanted, values, strict=True))
        if not any(_admits(block, {part: (value,) for part, value in one.items()}) for block in blocks):
            return one
    return {}

"""What a plan's run matrix says about its own rules: runs and pairs that are needed and not planned. Pure.

A guard that cannot work after the freeze is found here, before it: `planned_pairs` is the function that a decision
asks as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prereg_kit.plan.criteria.rule import endpoints_of
from prereg_kit.plan.endpoint import Gap, Ratio, Selected
from prereg_kit.plan.matrix import ANY
from prereg_kit.plan.plan import Plan
from prereg_kit.plan.planned_pairs import pair_part, pairs_by_arm, planned_pairs

DEFAULT_SEEDS = 3


@dataclass(frozen=True)
class MatrixFault:
    """An endpoint that the matrix does not serve. `code` is that of the finding; `words` complete "ENDPOINT ...".

    `needs` says which runs, where some are not planned at all.
    """

    code: str
    endpoint: str
    words: str
    needs: Mapping[str, str] = field(default_factory=dict)


def matrix_faults(plan: Plan, name: str) -> Iterator[MatrixFault]:
    """The faults of the endpoints that a hypothesis reads: in its rules, its controls, its readings."""
    each = plan.hypotheses[name].for_each
    narrower = [{}] if each is None else [{each.column: (value,)} for value in each.values]
    for endpoint_name in selections_of(plan, name):
        endpoint = plan.endpoints[endpoint_name]
        assert not isinstance(endpoint, Gap | Ratio)
        seen: set[str] = set()
        for more in narrower:
            for fault in _faults(plan, endpoint_name, endpoint, {**endpoint.where, **more}):
                if fault.words not in seen:
                    seen.add(fault.words)
                    yield fault


def selections_of(plan: Plan, name: str) -> tuple[str, ...]:
    """The endpoints on rows that a hypothesis rests on; a gap or ratio stands for those that it combines."""
    hypothesis = plan.hypotheses[name]
    named = [*endpoints_of(*plan.rules_of(name))]
    named += [new for reading in hypothesis.readings.values() for new in reading.replace.values()]
    parts = dict.fromkeys(part for endpoint in named for part in _parts(plan, endpoint))
    return tuple(part for part in parts if plan.endpoints[part].register_ != "reported")  # type: ignore[union-attr]


def _parts(plan: Plan, name: str) -> tuple[str, ...]:
    combined = plan.endpoints[name].combines()
    return tuple(part for other in combined for part in _parts(plan, other)) if combined else (name,)


def _faults(
    plan: Plan, name: str, endpoint: Selected, where: dict[str, tuple[str, ...]]
) -> Iterator[MatrixFault]:
    planned = planned_pairs(plan, endpoint, where)
    if planned.obstacle == "not-planned":
        words = f"needs runs that the plan does not plan: {planned.words}"
        yield MatrixFault("not-planned", name, words, {str(k): v for k, v in planned.lacking.items()})
    elif planned.obstacle == "pairs-unnamed":
        yield MatrixFault("pairs-unnamed", name, f"cannot be compared with the planned runs: {planned.words}")
    elif planned.obstacle is None and plan.runs.missing == "refuse":
        arms = pairs_by_arm(plan, endpoint, where)
        alone = [pair for pair in planned.pairs if any(pair not in pairs for pairs in arms)]
        if alone:
            words = (
                f"needs {planned.column} {', '.join(alone)} in both arms, and the plan plans them for one arm"
            )
            yield MatrixFault("not-planned", name, words)


def planned_seeds(plan: Plan) -> tuple[int, tuple[str, ...]]:
    """The number of pairs of the run matrix, and what is to be said about it."""
    part = pair_part(plan)
    pairs: dict[tuple[str, str], set[str]] = {}
    for block in plan.runs.planned:
        for condition in block.condition:
            for arm in block.arm:
                values = {"condition": (condition,), "arm": (arm,), "seed": block.seed, "pair": block.pair}[
                    part
                ]
                group = "" if part == "condition" else condition
                pairs.setdefault((group, arm), set()).update(value for value in values if value != ANY)
    counts = [
        len(found & pairs.get(other, set()))
        for place, found in pairs.items()
        if (other := _other_arm(plan, place)) is not None
    ]
    known = [count for count in counts if count]
    if not known:
        return DEFAULT_SEEDS, (
            f"the plan names no runs: its rules are checked at {DEFAULT_SEEDS} seed pairs",
        )
    if len(set(known)) > 1:
        return max(known), (
            f"conditions have different numbers of seed pairs; rules are checked at {max(known)}",
        )
    return known[0], ()


def _other_arm(plan: Plan, place: tuple[str, str]) -> tuple[str, str] | None:
    """Where the reference of a planned (condition, arm) of the treatment stands; None for any other arm."""
    condition, arm = place
    if plan.arms.column == "condition":
        return (plan.arms.reference, arm) if condition == plan.arms.treatment else None
    return (condition, plan.arms.reference) if arm == plan.arms.treatment else None

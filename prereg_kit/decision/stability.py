"""How far a verdict is from another: without each seed pair, and with missing pairs at worst and best. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from prereg_kit.decision.court import Court
from prereg_kit.decision.measured import Paired
from prereg_kit.decision.verdict import Guard, Outcome, Stability
from prereg_kit.plan.criterion import Criterion_, IntervalEnd, endpoints_of, walk
from prereg_kit.plan.endpoint import Gap, Ratio
from prereg_kit.statistics import exact

MAX_SEEDS = 16
COST = 10.0
"""Seconds: an interval whose recomputation for every left-out seed would cost more is not repeated."""


def stability(court: Court, name: str) -> Stability | None:
    """Leave-one-seed-out outcomes of a verdict whose rule reads contrasts, and what missing pairs could change.

    None where the rule reads no contrast and no planned pair is missing.
    """
    base, own = court.place(name)
    rules = court.plan.rules_of(base)
    direct = dict.fromkeys(endpoint for rule in rules for endpoint in endpoints_of(rule))
    found = {part: own.measured(part) for endpoint in direct for part in _parts(court, endpoint)}
    named = {e: paired for e in direct if isinstance(paired := found.get(e), Paired)}
    lacking = {e: lost for e, measured in found.items() if (lost := own.missing_pairs(e, measured))}
    missing = {pair for lost in lacking.values() for pair in lost}
    if not named and not missing:
        return None
    left = _left_out(court, name, rules, list(named.values())) if named else Stability()
    if not missing:
        return left
    pairs = f"{court.plan.resampling.pairs} pairs {', '.join(sorted(missing))} are planned and missing"
    known = set(direct) == set(named) and all(each.unit == "proportion" for each in named.values())
    if not known:  # only a difference of proportions says how bad the worst case is
        pairs += "; their worst and best case are known for differences of proportions only"
        _guard(court, lacking, missing_reason="the worst case is known for differences of proportions only")
        return _noted(left, pairs)
    _guard(court, lacking, missing_reason=None)
    ends = {"missing_worst": court.completed(-1), "missing_best": court.completed(1)}
    outcomes = {end: other.verdict(name).outcome for end, other in ends.items()}
    return _noted(left.model_copy(update=outcomes), pairs)


def _parts(court: Court, name: str) -> tuple[str, ...]:
    """The endpoint, or those that a gap or ratio combines."""
    endpoint = court.plan.endpoints[name]
    if isinstance(endpoint, Gap):
        return (*_parts(court, endpoint.of), *_parts(court, endpoint.minus))
    if isinstance(endpoint, Ratio):
        return (*_parts(court, endpoint.of), *_parts(court, endpoint.over))
    return (name,)


def _guard(court: Court, named: Iterable[str], *, missing_reason: str | None) -> None:
    court.guards.append(
        Guard(
            name="missing-pairs-bounded", applies=missing_reason is None, endpoints=tuple(named),
            reason=missing_reason,
        )
    )  # fmt: skip


def _noted(found: Stability, note: str) -> Stability:
    return found.model_copy(update={"note": "; ".join(part for part in (found.note, note) if part)})


def _left_out(court: Court, name: str, rules: tuple[Criterion_, ...], contrasts: list[Paired]) -> Stability:
    seeds = tuple(dict.fromkeys(seed for contrast in contrasts for seed in contrast.seeds))
    if len(seeds) < 2:
        return Stability(note="one seed pair: nothing can be left out")
    if len(seeds) > MAX_SEEDS:
        return Stability(note=f"more than {MAX_SEEDS} seed pairs: not tried")
    if _too_dear(rules, contrasts, court):
        return Stability(note="leaving seeds out would recompute intervals for too long: not tried")
    outcomes: dict[str, Outcome] = {seed: court.without_seed(seed).verdict(name).outcome for seed in seeds}
    changed = [seed for seed, outcome in outcomes.items() if outcome != court.verdict(name).outcome]
    note = f"without seed {', '.join(changed)} the outcome is another one" if changed else None
    return Stability(leave_one_out=outcomes, note=note)


def _too_dear(rules: tuple[Criterion_, ...], contrasts: list[Paired], court: Court) -> bool:
    if not any(isinstance(part, IntervalEnd) for rule in rules for part in walk(rule)):
        return False
    total = 0.0
    for contrast in contrasts:
        pairs, tasks = contrast.cells.shape
        span = int(contrast.cells.max() - contrast.cells.min())
        if court.plan.resampling.engine == "monte_carlo" or not contrast.has_tasks:
            total += pairs * 1.0
        else:
            total += pairs * exact.cost(pairs - 1, tasks, max(span, 1))
    return total > COST

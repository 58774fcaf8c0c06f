"""How far a verdict is from another: without each seed pair, and with missing pairs at worst and best. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from prereg_kit.decision.evaluator import Evaluator
from prereg_kit.decision.verdict import Guard, Outcome, Stability
from prereg_kit.plan.criteria.criterion import BaseCriterion
from prereg_kit.plan.criteria.measured import Paired
from prereg_kit.plan.criteria.rule import about_endpoints, endpoints_of
from prereg_kit.statistics import exact

MAX_SEEDS = 16
COST = 10.0
"""Seconds: an interval whose recomputation for every left-out seed would cost more is not repeated."""


def stability(evaluator: Evaluator, name: str) -> Stability | None:
    """Leave-one-seed-out outcomes of a verdict whose rule reads contrasts, and what missing pairs could change.

    None where the rule reads no contrast and no planned pair is missing.
    """
    base, own = evaluator.place(name)
    rules = evaluator.plan.rules_of(base)
    direct = endpoints_of(*rules)
    found = {part: own.measured(part) for endpoint in direct for part in _parts(evaluator, endpoint)}
    named = {e: paired for e in direct if isinstance(paired := found.get(e), Paired)}
    lacking = {e: lost for e, measured in found.items() if (lost := own.missing_pairs(e, measured))}
    missing = {pair for lost in lacking.values() for pair in lost}
    if not named and not missing:
        return None
    left = _left_out(evaluator, name, rules, list(named.values())) if named else Stability()
    if not missing:
        return left
    pairs = f"{evaluator.plan.resampling.pairs} pairs {', '.join(sorted(missing))} are planned and missing"
    known = set(direct) == set(named) and all(each.unit == "proportion" for each in named.values())
    if not known:  # only a difference of proportions says how bad the worst case is
        pairs += "; their worst and best case are known for differences of proportions only"
        _guard(
            evaluator, lacking, missing_reason="the worst case is known for differences of proportions only"
        )
        return _noted(left, pairs)
    _guard(evaluator, lacking, missing_reason=None)
    ends = {"missing_worst": evaluator.completed(-1), "missing_best": evaluator.completed(1)}
    outcomes = {end: other.verdict(name).outcome for end, other in ends.items()}
    return _noted(left.model_copy(update=outcomes), pairs)


def _parts(evaluator: Evaluator, name: str) -> tuple[str, ...]:
    """The endpoint, or those that a gap or ratio combines."""
    combined = evaluator.plan.endpoints[name].combines()
    return tuple(part for other in combined for part in _parts(evaluator, other)) if combined else (name,)


def _guard(evaluator: Evaluator, named: Iterable[str], *, missing_reason: str | None) -> None:
    evaluator.note_guard(
        Guard(
            name="missing-pairs-bounded", applies=missing_reason is None, endpoints=tuple(named),
            reason=missing_reason,
        )
    )  # fmt: skip


def _noted(found: Stability, note: str) -> Stability:
    return found.model_copy(update={"note": "; ".join(part for part in (found.note, note) if part)})


def _left_out(
    evaluator: Evaluator, name: str, rules: tuple[BaseCriterion, ...], contrasts: list[Paired]
) -> Stability:
    seeds = tuple(dict.fromkeys(seed for contrast in contrasts for seed in contrast.seeds))
    if len(seeds) < 2:
        return Stability(note="one seed pair: nothing can be left out")
    if len(seeds) > MAX_SEEDS:
        return Stability(note=f"more than {MAX_SEEDS} seed pairs: not tried")
    if _too_dear(rules, contrasts, evaluator):
        return Stability(note="leaving seeds out would recompute intervals for too long: not tried")
    outcomes: dict[str, Outcome] = {
        seed: evaluator.without_seed(seed).verdict(name).outcome for seed in seeds
    }
    changed = [seed for seed, outcome in outcomes.items() if outcome != evaluator.verdict(name).outcome]
    note = f"without seed {', '.join(changed)} the outcome is another one" if changed else None
    return Stability(leave_one_out=outcomes, note=note)


def _too_dear(rules: tuple[BaseCriterion, ...], contrasts: list[Paired], evaluator: Evaluator) -> bool:
    if all(part.interval_level() is None for part in about_endpoints(rules)):
        return False
    total = 0.0
    for contrast in contrasts:
        pairs, tasks = contrast.cells.shape
        span = int(contrast.cells.max() - contrast.cells.min())
        if evaluator.plan.resampling.engine == "monte_carlo" or not contrast.has_tasks:
            total += pairs * 1.0
        else:
            total += pairs * exact.cost(pairs - 1, tasks, max(span, 1))
    return total > COST

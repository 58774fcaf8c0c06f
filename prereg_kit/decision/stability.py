"""How far a verdict is from another: without each seed pair, and with missing pairs at worst and best. Pure."""

from __future__ import annotations

from prereg_kit.decision.court import Court
from prereg_kit.decision.measured import Paired
from prereg_kit.decision.verdict import Outcome, Stability
from prereg_kit.plan.criterion import Criterion_, IntervalEnd, endpoints_of, walk
from prereg_kit.statistics import exact

MAX_SEEDS = 16
COST = 10.0
"""Seconds: an interval whose recomputation for every left-out seed would cost more is not repeated."""


def stability(court: Court, name: str) -> Stability | None:
    """Leave-one-seed-out outcomes of a verdict whose rule reads contrasts; None where there are none."""
    base, own = court.place(name)
    rules = court.plan.rules_of(base)
    endpoints = dict.fromkeys(endpoint for rule in rules for endpoint in endpoints_of(rule))
    named = {e: found for e in endpoints if isinstance(found := own.measured(e), Paired)}
    if not named:
        return None
    left = _left_out(court, name, rules, list(named.values()))
    missing = {seed for endpoint, found in named.items() for seed in own.missing_seeds(endpoint, found)}
    if not missing or any(found.unit != "proportion" for found in named.values()):
        return left  # only a proportion says how bad the worst case is
    ends = {"missing_worst": court.completed(-1), "missing_best": court.completed(1)}
    pairs = f"seed pairs {', '.join(sorted(missing))} are planned and missing"
    return left.model_copy(
        update={end: other.verdict(name).outcome for end, other in ends.items()}
        | {"note": "; ".join(part for part in (left.note, pairs) if part)}
    )


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

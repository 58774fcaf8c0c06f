"""A whole rule on many simulated studies at once: arrays of per-seed differences in, outcomes out. Pure.

What a simulation can say is said in floats; verdicts on real registers never come from here. Interval ends are those of
the bootstrap over seed pairs alone (no task noise), so that a rule's interval clause is judged at its most favourable.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prereg_kit.design.simulation import seed_quantile
from prereg_kit.plan.criterion import (
    All,
    AnyOf,
    Criterion_,
    Difference,
    Estimate,
    EverySeed,
    IntervalEnd,
    Not,
    Op,
    endpoints_of,
    walk,
)
from prereg_kit.plan.endpoint import Contrast, Endpoint
from prereg_kit.plan.hypothesis import Hypothesis

Draws = Mapping[str, NDArray[np.float64]]
"""Endpoint -> differences [simulated study, seed pair]."""

PASS, FAIL, INCONCLUSIVE = 1, 0, 2
_CODES = {"pass": PASS, "fail": FAIL, "inconclusive": INCONCLUSIVE}


def rules_of(hypothesis: Hypothesis) -> dict[str, Criterion_]:
    """The criteria that decide a hypothesis, by outcome name."""
    rules: dict[str, Criterion_] = dict(hypothesis.outcomes or {})
    if hypothesis.passes_if is not None:
        rules["pass"] = hypothesis.passes_if
    if hypothesis.fails_if is not None:
        rules["fail"] = hypothesis.fails_if
    return rules


def obstacle(hypothesis: Hypothesis, endpoints: Mapping[str, Endpoint]) -> str | None:
    """Why a rule cannot be simulated from per-seed differences, or None if it can."""
    for rule in rules_of(hypothesis).values():
        for part in walk(rule):
            if not isinstance(part, All | AnyOf | Not | Difference | EverySeed | IntervalEnd | Estimate):
                return f"its clause {part.criterion} is not about seed pairs"  # type: ignore[attr-defined]
        for name in endpoints_of(rule):
            if not isinstance(endpoints[name], Contrast):
                return f"{name} is a {endpoints[name].kind}, not a contrast of seed pairs"
    return None


def outcomes(hypothesis: Hypothesis, draws: Draws) -> NDArray[np.int8]:
    """The outcome of every simulated study: PASS, FAIL or INCONCLUSIVE."""
    held = {name: holds(rule, draws) for name, rule in rules_of(hypothesis).items()}
    size = len(next(iter(held.values())))
    if hypothesis.outcomes is not None:
        once = sum(held.values(), np.zeros(size, dtype=np.int8)) == 1
        result = np.full(size, INCONCLUSIVE, dtype=np.int8)
        for name, mask in held.items():
            result[mask & once] = _CODES[hypothesis.counts_as.get(name, "inconclusive")]
        return result
    if hypothesis.fails_if is None:
        return np.where(held["pass"], PASS, FAIL).astype(np.int8)
    both = held["pass"] == held["fail"]
    return np.where(both, INCONCLUSIVE, np.where(held["pass"], PASS, FAIL)).astype(np.int8)


def clauses_of(hypothesis: Hypothesis) -> tuple[Criterion_, ...]:
    """The clauses of `passes_if`, for finding the one that binds."""
    rule = hypothesis.passes_if
    if rule is None:
        return ()
    return rule.of if isinstance(rule, All) else (rule,)


def holds(criterion: Criterion_, draws: Draws) -> NDArray[np.bool_]:
    """Whether a criterion holds in every simulated study."""
    match criterion:
        case All():
            return _every([holds(clause, draws) for clause in criterion.of])
        case AnyOf():
            return ~_every([~holds(clause, draws) for clause in criterion.of])
        case Not():
            return ~holds(criterion.of, draws)
        case Difference():
            return _within(criterion.bounds, draws[criterion.endpoint].mean(axis=1))
        case EverySeed():
            return _every(list(_within(criterion.bounds, draws[criterion.endpoint]).T))
        case IntervalEnd():
            lower, upper = interval_ends(draws[criterion.endpoint], criterion.two_sided_level)
            parts = [
                _within(((op, bound),), lower if end == "lower" else upper)
                for end, op, bound in criterion.ends
            ]
            return _every(parts)
        case Estimate():
            values = draws[criterion.endpoint]
            parts = [_within(criterion.limits, values.mean(axis=1))]
            lower, upper = interval_ends(values, criterion.level)
            if criterion.lower_above is not None:
                parts.append(_within((("above", criterion.lower_above),), lower))
            if criterion.upper_below is not None:
                parts.append(_within((("below", criterion.upper_below),), upper))
            return _every(parts)
    raise AssertionError(f"{type(criterion).__name__} cannot be simulated; `obstacle` says so first")


def _every(parts: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    held = parts[0].copy()
    for part in parts[1:]:
        held &= part
    return held


def _within(bounds: tuple[tuple[Op, Fraction], ...], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    held = np.ones(values.shape, dtype=np.bool_)
    for op, bound in bounds:
        limit = float(bound)
        held &= {"above": values > limit, "at_least": values >= limit, "below": values < limit}.get(
            op, values <= limit
        )
    return held


def interval_ends(
    values: NDArray[np.float64], level: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inverse-CDF ends of the bootstrap over seed pairs, for every simulated study."""
    tail = (1 - level) / 2
    return seed_quantile(values, tail), seed_quantile(values, 1 - tail)

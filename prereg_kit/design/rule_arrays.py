"""A whole rule on many simulated studies at once: arrays of per-seed differences in, outcomes out. Pure.

What a simulation can say is said in floats; verdicts on real registers never come from here. Interval ends are those of
the bootstrap over seed pairs alone (no task noise), so that a rule's interval clause is judged at its most favourable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prereg_kit.design.characteristics import FAIL, INCONCLUSIVE, NAMES, PASS
from prereg_kit.design.simulation import seed_quantiles
from prereg_kit.plan.criteria.criterion import BaseCriterion
from prereg_kit.plan.criteria.rule import All, endpoints_of, walk
from prereg_kit.plan.endpoint import Contrast, Endpoint
from prereg_kit.plan.hypothesis import Hypothesis
from prereg_kit.statistics.mixture import Floats

_CODES = {name: code for code, name in NAMES.items()}


@dataclass(frozen=True)
class SimulatedStudies:
    """Simulated studies of one rule; its endpoints are taken to move together and see the same differences.

    Attributes:
        drawn: differences [simulated study, seed pair].
        known_ends: the ends at a level, where they need not be sorted out again.
    """

    drawn: Floats
    known_ends: Callable[[Fraction], tuple[Floats, Floats]] | None = None

    def differences(self, endpoint: str) -> Floats:
        """Differences [simulated study, seed pair] of a contrast."""
        return self.drawn

    def ends(self, endpoint: str, level: Fraction) -> tuple[Floats, Floats]:
        """Inverse-CDF ends of the bootstrap over seed pairs, [simulated study] each."""
        if self.known_ends is not None:
            return self.known_ends(level)
        tail = (1 - level) / 2
        lower, upper = seed_quantiles(self.drawn, (tail, 1 - tail))
        return lower, upper


def obstacle(hypothesis: Hypothesis, endpoints: Mapping[str, Endpoint]) -> str | None:
    """Why a rule cannot be simulated from per-seed differences, or None if it can."""
    for rule in hypothesis.rules().values():
        for part in walk(rule):
            found = part.obstacle()
            if found is not None:
                return found
        for name in endpoints_of(rule):
            if not isinstance(endpoints[name], Contrast):
                return f"{name} is a {endpoints[name].kind}, not a contrast of seed pairs"
    return None


def outcomes(hypothesis: Hypothesis, studies: SimulatedStudies) -> NDArray[np.int8]:
    """The outcome of every simulated study, as a code of `characteristics.NAMES`."""
    drawn = studies.drawn
    held = {name: rule.holds_in(studies) for name, rule in hypothesis.rules().items()}
    if hypothesis.outcomes is not None:
        once = sum(held.values(), np.zeros(len(drawn), dtype=np.int8)) == 1
        result = np.full(len(drawn), INCONCLUSIVE, dtype=np.int8)
        for name, mask in held.items():
            result[mask & once] = _CODES[hypothesis.counts_as.get(name, "inconclusive")]
        return result
    if hypothesis.fails_if is None:
        return np.where(held["pass"], PASS, FAIL).astype(np.int8)
    both = held["pass"] == held["fail"]
    return np.where(both, INCONCLUSIVE, np.where(held["pass"], PASS, FAIL)).astype(np.int8)


def clauses_of(hypothesis: Hypothesis) -> tuple[BaseCriterion, ...]:
    """The clauses of `passes_if`, for finding the one that binds."""
    rule = hypothesis.passes_if
    if rule is None:
        return ()
    return rule.of if isinstance(rule, All) else (rule,)

"""The aligned scalar bandit (Section 4.3, Appendix A.1): the counterexample to "pairing always helps".

One step, a ~ Bernoulli(p), true reward r = a, score S = a - p, one group of G, grader flips at rate q. All
scores lie on one line and point where the reward does, so the successes of a group agree and L exceeds R. A
group enters only through k, its number of successes: summing over k ~ Bin(G, p) is exact for any G;
`enumerated` walks all 2^G action tuples and, for each, every mask, and is what the paper did.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from study.theory import conditions, enumeration, luck
from study.theory.advantages import MeanCentred, Rule, Standardised
from study.theory.closed_forms import FlipMoments, Moments, flip_moments
from study.theory.conditions import Array
from study.theory.decomposition import Decomposition, decompose, mean_gradient
from study.theory.designs import Design, Independent, Paired, binomial
from study.theory.enumeration import World
from study.theory.equation5 import Sides, sides
from study.theory.geometry import Geometry, of_scores


@dataclass(frozen=True)
class Bandit:
    """The bandit's parameters; the defaults are the paper's.

    Attributes:
        size: G >= 2.
        flip_rate: q in [0, 1].
        success_rate: p in (0, 1); the paper takes theta = 0, p = 1/2.
    """

    size: int = 8
    flip_rate: float = 0.1
    success_rate: float = 0.5

    def __post_init__(self) -> None:
        conditions.group_size(self.size)
        conditions.probability(self.flip_rate, "flip rate")
        conditions.probability(self.success_rate, "success rate")

    def law(self) -> Array:
        """P(k = 0), ..., P(k = G)."""
        return binomial(self.size, self.success_rate)

    def group(self, successes: int) -> tuple[Array, Array]:
        """Scores (G, 1) and outcomes (G,) of a clean group with k successes."""
        outcome = (np.arange(self.size) < successes).astype(float)
        return outcome[:, None] - self.success_rate, outcome

    def geometries(self) -> list[Geometry]:
        """The group's geometry for k = 0..G."""
        return [of_scores(*self.group(k)) for k in range(self.size + 1)]

    def sides(self) -> Sides:
        """L and R of Eq. 5."""
        return sides(self.geometries(), self.law())

    def moments(self, design: Design, rule: Rule) -> tuple[Decomposition, float]:
        """Pooled trace in two parts, and the expected update's norm; closed forms, O(G^2) in all."""
        each: list[FlipMoments] = [
            flip_moments(one, self.flip_rate, design, rule) for one in self.geometries()
        ]
        clean = np.array([_clean_gradient(*self.group(k)) for k in range(self.size + 1)])
        mean = mean_gradient(clean, each, self.law())
        return decompose(each, float(mean @ mean), self.law()), float(np.linalg.norm(mean))

    def enumerated(self, design: Design, rule: Rule) -> tuple[Decomposition, float]:
        """The same by brute force: 2^G action tuples, every mask of each; no closed form of this package."""
        each: list[Moments] = []
        chances = []
        mean = 0.0
        for actions in itertools.product((0.0, 1.0), repeat=self.size):
            outcome = np.array(actions)
            scores = outcome[:, None] - self.success_rate
            moments = enumeration.flip_moments(scores, outcome, self.flip_rate, design, rule)
            k = int(outcome.sum())
            chances.append(self.success_rate**k * (1.0 - self.success_rate) ** (self.size - k))
            mean += chances[-1] * float(moments.mean[0])
            each.append(moments)
        return decompose(each, mean * mean, np.array(chances)), abs(mean)

    def world(self) -> World:
        """The bandit as an enumerable world with two schedules, keep and flip: a third road to the numbers."""
        p, q = self.success_rate, self.flip_rate
        return World(
            schedule_law=np.array([1.0 - q, q]),
            policy=np.array([[1.0 - p, p]] * 2),
            scores=np.array([[[-p], [1.0 - p]]] * 2),
            rewards=np.array([[0.0, 1.0], [0.0, 0.0]]),
        )

    def contrast_variance(self, design: Design) -> float:
        """Var(R_i - R_j) of two siblings: 2 Var(R) - 2 p^2 Cov(F_i, F_j)."""
        parts = luck.grader_flips(self.success_rate, self.flip_rate)
        shared = self.success_rate**2 * design.pair_covariance(self.size, self.flip_rate)
        return 2.0 * (parts.env + parts.pol - shared)


def _clean_gradient(scores: Array, outcome: Array) -> Array:
    gradient: Array = (outcome - outcome.mean()) @ scores / outcome.size
    return gradient


@dataclass(frozen=True)
class Named:
    """One number of Appendix A.1.

    Attributes:
        name: what it is.
        value: ours.
        printed: the paper's digits, or None where it prints none.
        enumerated: the same number by brute force, or None where it needs none.
    """

    name: str
    value: float
    printed: str | None = None
    enumerated: float | None = None

    @property
    def agrees(self) -> bool | None:
        """True where `value` rounds to the printed digits; None where the paper prints none."""
        if self.printed is None:
            return None
        places = len(self.printed.partition(".")[2])
        return abs(self.value - float(self.printed)) <= 0.5 * 10.0**-places * (1 + 1e-9)


MOST_BRUTE = 12

_LEFT = "L = E||g_c||^2"
_RIGHT = "R = E sum r_i ||S_i - Sbar||^2 / G^2"
_GAP = "mean-centred gap, q(1-q)(L - R)"

_PRINTED = {
    "contrast independent": "0.4950",
    "contrast paired": "0.4500",
    "mean-centred Tr Var(g), independent": "0.002615",
    "mean-centred Tr Var(g), paired": "0.005845",
    "mean-centred expected update norm, independent": "0.1969",
    "mean-centred expected update norm, paired": "0.1969",
    "standardised Tr Var(g), independent": "0.007053",
    "standardised Tr Var(g), paired": "0.019724",
    "standardised expected update norm, independent": "0.3918",
    "standardised expected update norm, paired": "0.3905",
    _LEFT: "0.04956",
    _RIGHT: "0.01367",
    _GAP: "0.00323",
}


def _sides_by_enumeration(model: Bandit) -> Sides:
    left = right = 0.0
    for actions in itertools.product((0.0, 1.0), repeat=model.size):
        outcome = np.array(actions)
        scores = outcome - model.success_rate
        k = int(outcome.sum())
        chance = model.success_rate**k * (1.0 - model.success_rate) ** (model.size - k)
        clean = float((outcome - outcome.mean()) @ scores) / model.size
        left += chance * clean**2
        right += chance * float(outcome @ (scores - scores.mean()) ** 2) / model.size**2
    return Sides(left, right)


def report(bandit: Bandit | None = None, *, brute: bool = True) -> list[Named]:
    """Every number of Appendix A.1 by name, and the parts that the paper does not print.

    Args:
        bandit: the paper's unless given; another one is compared with nothing.
        brute: add each number's brute-force value; 3^G evaluations, so only up to G = 12.

    Returns:
        Rows in the paper's order.
    """
    model = bandit if bandit is not None else Bandit()
    printed = _PRINTED if model == Bandit() else {}
    check = brute and model.size <= MOST_BRUTE
    designs: tuple[Design, ...] = (Independent(), Paired())
    rows = []
    for design in designs:
        pair = [[0, 1]] if isinstance(design, Paired) else [[0], [1]]
        oracle = model.world().group(2, pair, MeanCentred())[1] if check else None
        value = model.contrast_variance(design)
        rows.append(
            Named(
                f"reward-contrast variance, {design.name}",
                value,
                printed.get(f"contrast {design.name}"),
                oracle,
            )
        )
    traces: dict[str, float] = {}
    for rule in (MeanCentred(), Standardised()):
        for design in designs:
            ours, norm = model.moments(design, rule)
            theirs = model.enumerated(design, rule) if check else None
            if theirs is not None and isinstance(rule, MeanCentred):
                traces[design.name] = theirs[0].trace
            for what, value, other in (
                ("Tr Var(g)", ours.trace, theirs and theirs[0].trace),
                ("mask part", ours.mask, theirs and theirs[0].mask),
                ("between-group part", ours.between, theirs and theirs[0].between),
                ("expected update norm", norm, theirs and theirs[1]),
            ):
                name = f"{rule.name} {what}, {design.name}"
                rows.append(Named(name, value, printed.get(name), other))
    both = model.sides()
    walked = _sides_by_enumeration(model) if check else None
    gap = traces["paired"] - traces["independent"] if traces else None
    rows.append(Named(_LEFT, both.left, printed.get(_LEFT), walked.left if walked else None))
    rows.append(Named(_RIGHT, both.right, printed.get(_RIGHT), walked.right if walked else None))
    rows.append(Named(_GAP, both.gap(model.flip_rate), printed.get(_GAP), gap))
    return rows

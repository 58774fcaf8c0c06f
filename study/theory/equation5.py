"""The paper's Equation 5: when does pairing lower the variance of the gradient under one-sided grader flips?

Mean-centred advantages, flip rate q, clean group gradient g_c:

    Tr Var(independent) = q(1-q) R + (1-q)^2 V_c        R = (1/G^2) E sum r_i ||S_i - Sbar||^2
    Tr Var(paired)      = q(1-q) L + (1-q)^2 V_c        L = E ||g_c||^2,  V_c = Tr Var(g_c)

so pairing lowers the trace iff 0 < q < 1 and L < R. Since D^2 (L - R) is the sum of <v_i, v_j> over pairs
of distinct successes, the condition says: on average, two successes of a group point *away* from each other
once the group's mean score is taken off. Orthogonal scores do (that mean is what they share); aligned ones
do not.

For another rule the same comparison holds with a threshold: pairing lowers the mask variance iff L/R <
tau(k, G, q).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions, geometry
from study.theory.advantages import MeanCentred, Rule
from study.theory.closed_forms import coefficients
from study.theory.designs import Independent, Paired
from study.theory.geometry import Geometry


@dataclass(frozen=True)
class Sides:
    """Both sides of Eq. 5 over a population of clean groups, in squared score units.

    Attributes:
        left: L, the size of the clean group gradient.
        right: R, the score spread of the successful rollouts.
    """

    left: float
    right: float

    @property
    def holds(self) -> bool:
        """True where L < R: pairing lowers the trace for every q strictly between 0 and 1."""
        return self.left < self.right

    @property
    def ratio(self) -> float | None:
        """L/R, which is also the ratio of the mask variances; None where R = 0."""
        return self.left / self.right if self.right > 0 else None

    def gap(self, flip_rate: float) -> float:
        """Tr Var(paired) - Tr Var(independent) = q(1-q) (L - R); exactly 0 at q = 0 and q = 1."""
        rate = conditions.probability(flip_rate, "flip rate")
        return rate * (1.0 - rate) * (self.left - self.right)

    def traces(self, flip_rate: float, clean_variance: float) -> Traces:
        """The mean-centred traces of both designs.

        Args:
            flip_rate: q in [0, 1].
            clean_variance: V_c = Tr Var(g_c) = L - ||E g_c||^2, in [0, L].
        """
        rate = conditions.probability(flip_rate, "flip rate")
        if not 0.0 <= clean_variance <= self.left * (1 + 1e-9):
            raise TheoryError(
                "not the variance of a clean gradient",
                where=Where(field="clean variance"),
                expected=f"a number in [0, L = {self.left!r}]",
                found=clean_variance,
            )
        between = (1.0 - rate) ** 2 * clean_variance
        spread = rate * (1.0 - rate)
        return Traces(spread * self.right + between, spread * self.left + between, between)


@dataclass(frozen=True)
class Traces:
    """Tr Var(g) of the two designs, and the part that they share."""

    independent: float
    paired: float
    between: float

    @property
    def ratio(self) -> float | None:
        """Paired over independent; None where the independent trace is 0."""
        return self.paired / self.independent if self.independent > 0 else None

    @property
    def mask_share(self) -> float | None:
        """The mask variance's share of the independent trace: the reduction is this times (1 - L/R)."""
        return 1.0 - self.between / self.independent if self.independent > 0 else None


def sides(groups: Sequence[Geometry], probabilities: npt.ArrayLike | None = None) -> Sides:
    """L and R averaged over clean groups, equally weighted unless probabilities are given.

    Raises:
        TheoryError: no group, or probabilities that do not match.
    """
    return Sides(*geometry.average(groups, probabilities))


def residual(gap: float, both: Sides, flip_rate: float) -> float:
    """How far a measured gap is from q(1-q)(L - R), relative to q(1-q)(L + R).

    Zero where both are zero, infinite where only the scale is.

    Args:
        gap: Tr Var(paired) - Tr Var(independent), obtained without Eq. 5.
        both: the two sides, obtained without the gap.
        flip_rate: q in [0, 1].
    """
    rate = conditions.probability(flip_rate, "flip rate")
    scale = rate * (1.0 - rate) * (both.left + both.right)
    error = abs(gap - both.gap(rate))
    if scale == 0.0:
        return 0.0 if error == 0.0 else math.inf
    return error / scale


def threshold(successes: int, size: int, flip_rate: float, rule: Rule | None = None) -> float | None:
    """tau: pairing lowers a group's mask variance iff L/R < tau, for any advantage rule.

    With n = Var(x) and i the identity coefficient of `closed_forms`, paired < independent reads
    n_paired L < n_indep L + i_indep (k R - L), hence tau = k i / (n_paired - n_indep + i), and inf where the
    denominator is not positive: then every geometry favours pairing. Mean-centred: tau = 1 whatever k, G
    and q.

    Args:
        successes: k in [0, G].
        size: G >= 2.
        flip_rate: q in [0, 1].
        rule: the advantage rule; mean-centred unless given.

    Returns:
        tau in (0, inf], or None where the designs tie whatever the geometry (k <= 1, q = 0, q = 1).
    """
    chosen = rule if rule is not None else MeanCentred()
    rate = conditions.probability(flip_rate, "flip rate")
    group = conditions.group_size(size)
    if conditions.whole(successes, "successes", 0, group) <= 1 or rate in (0.0, 1.0):
        return None
    apart = coefficients(successes, group, rate, Independent(), chosen)
    shared = coefficients(successes, group, rate, Paired(), chosen)
    cost = shared.number - apart.number + apart.identity
    if cost <= np.finfo(float).eps * apart.identity:
        return math.inf
    return successes * apart.identity / cost

"""Moments of a group's gradient under grader flips, without enumerating a mask.

O(k) once the geometry is known.

Write the rule's contrast as d(m) when m of the k successes are observed, and x(m) = d(m) m/k. Since
advantages sum to zero, g = (d(M)/D) times the sum of the centred rows v_i of the kept successes. Under an
exchangeable design the kept ones are a uniform choice of M among k, so

    E g        = E[x(M)] g_c,           g_c the clean gradient: flips shorten the mean, they never turn it
    Tr Var(g)  = Var(x(M)) L  +  E[ d(M)^2 M (k - M) ] / (k^2 (k-1)) * (k R - L)

*How many* are kept moves g along g_c; *which* are kept spreads it by the dispersion k R - L of the
successes. Both terms are non-negative. Pairing makes the second one zero and, for mean-centred advantages,
the first one as large as it can be: Eq. 5 weighs the two. With d = 1 the sum is q(1-q) R for independent
and q(1-q) L for paired flips.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from study.theory import conditions
from study.theory.advantages import MeanCentred, Rule
from study.theory.designs import Design
from study.theory.geometry import Geometry


@dataclass(frozen=True)
class Moments:
    """First and second moments of one group's gradient over the noise, given the clean group.

    Attributes:
        second: E||g||^2.
        mean_square: ||E g||^2.
        trace: Tr Var(g) = second - mean_square, computed without that difference where a closed form allows.
    """

    second: float
    mean_square: float
    trace: float


@dataclass(frozen=True)
class FlipMoments(Moments):
    """Moments under grader flips.

    Attributes:
        length: E g = length times the clean gradient.
        number_part: the part of the trace owed to how many successes are kept.
        identity_part: the part owed to which ones.
    """

    length: float
    number_part: float
    identity_part: float


@dataclass(frozen=True)
class Coefficients:
    """What rule, design and flip rate contribute: E[x], Var(x) and E[d^2 M(k-M)] / (k^2 (k-1))."""

    length: float
    number: float
    identity: float


@lru_cache(maxsize=4096)
def coefficients(successes: int, size: int, flip_rate: float, design: Design, rule: Rule) -> Coefficients:
    """The three coefficients that multiply a group's geometry; remembered, since they depend on no score.

    Args:
        successes: k in [0, G].
        size: G >= 2.
        flip_rate: q in [0, 1]; exact at both ends.
        design: how the flips are coupled; a hashable value.
        rule: the advantage rule; a hashable value.

    Raises:
        TheoryError: an argument out of range, or a design that does not fit G or q.
    """
    group = conditions.group_size(size)
    k = conditions.whole(successes, "successes", 0, group)
    rate = conditions.probability(flip_rate, "flip rate")
    if k == 0:
        return Coefficients(0.0, 0.0, 0.0)
    law = design.kept(k, group, rate)
    contrast = rule.contrast(group)[: k + 1]
    kept = np.arange(k + 1.0)
    size_along = contrast * kept / k
    length = float(law @ size_along)
    away = size_along - length
    number = float(law @ (away * away))
    if k == 1:
        return Coefficients(length, number, 0.0)
    identity = float(law @ (contrast * contrast * kept * (k - kept))) / (k * k * (k - 1.0))
    return Coefficients(length, number, identity)


def flip_moments(
    geometry: Geometry, flip_rate: float, design: Design, rule: Rule | None = None
) -> FlipMoments:
    """Moments of g over the flips of one group, for any exchangeable design and any rule; O(k).

    Args:
        geometry: G, k, L, R of the clean group (weights and divisor already inside).
        flip_rate: q in [0, 1].
        design: how the flips are coupled.
        rule: the advantage rule; mean-centred unless given.

    Returns:
        Moments in squared score units; all zero at k = 0, trace zero at q = 0 and q = 1.
    """
    chosen = rule if rule is not None else MeanCentred()
    parts = coefficients(geometry.successes, geometry.size, flip_rate, design, chosen)
    number = parts.number * geometry.left
    identity = parts.identity * geometry.dispersion
    mean_square = parts.length**2 * geometry.left
    trace = number + identity
    return FlipMoments(mean_square + trace, mean_square, trace, parts.length, number, identity)

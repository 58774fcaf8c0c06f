"""Which coupling of the flips is best, and what sharing a schedule among only some siblings buys.

Mean-centred advantages see an exchangeable design only through c = Cov(F_i, F_j):

    Tr Var(g | S, r) = q(1-q) R + c (L - R),      c_min <= c <= q(1-q)

so pairing (the largest c) is best iff L < R, and the balanced, antithetic design (the smallest) is best iff
L > R. For any rule the second moment is linear, and the mean's length linear, in the law of the number
flipped, so both the trace and the trace over the squared mean are quasi-concave in it: a minimum sits at a
vertex of {laws with mean Gq}, that is at a law on at most two counts. Trying all O(G^2) of them finds the
best design exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.advantages import MeanCentred, Rule
from study.theory.closed_forms import FlipMoments, flip_moments
from study.theory.designs import Blocks, Exchangeable, Independent, Paired, hypergeometric
from study.theory.geometry import Geometry

Objective = Literal["trace", "relative"]


@dataclass(frozen=True)
class BestCoupling:
    """The best exchangeable design for one group, beside the two of the paper.

    Attributes:
        design: the law of the number flipped.
        counts: the one or two numbers of flips that it uses.
        best, paired, independent: moments under each.
    """

    design: Exchangeable
    counts: tuple[int, ...]
    best: FlipMoments
    paired: FlipMoments
    independent: FlipMoments


def best_exchangeable(
    geometry: Geometry, flip_rate: float, rule: Rule | None = None, objective: Objective = "trace"
) -> BestCoupling:
    """The exchangeable design with the smallest trace, or the smallest trace per squared mean.

    The designer couples G flips without seeing outcomes; the geometry only says which coupling to choose.
    Under mean-centring both objectives agree, since the mean is (1-q) g_c whatever the design; under
    standardisation designs differ in the mean's length too, and `relative` compares noise to signal.

    Args:
        geometry: G, k, L, R of the clean group.
        flip_rate: q in [0, 1].
        rule: the advantage rule; mean-centred unless given.
        objective: what to minimise.

    Raises:
        TheoryError: `relative` where the mean gradient is zero (k = 0 or k = G), or an unknown objective.
    """
    if objective not in ("trace", "relative"):
        raise TheoryError(
            "unknown objective", where=Where(field="objective"), expected="trace or relative", found=objective
        )
    if objective == "relative" and geometry.left == 0:
        raise TheoryError(
            "no signal to compare the noise with",
            where=Where(field="geometry"),
            expected="a clean gradient that is not zero",
            found=geometry,
        )
    chosen = rule if rule is not None else MeanCentred()
    rate = conditions.probability(flip_rate, "flip rate")
    size, k = geometry.size, geometry.successes
    second, length = _by_count(geometry, chosen)
    target = size * rate
    best: tuple[float, tuple[int, ...], np.ndarray] | None = None
    for low, high in _two_point_supports(size, target):
        law = np.zeros(size + 1)
        law[low] = 1.0 if low == high else (high - target) / (high - low)
        law[high] += 0.0 if low == high else (target - low) / (high - low)
        mean = float(law @ length)
        value = float(law @ second) - mean * mean * geometry.left
        if objective == "relative":
            value = value / (mean * mean * geometry.left) if mean > 0 else float("inf")
        if best is None or value < best[0] - 1e-15 * abs(best[0]):
            best = (value, (low,) if low == high else (low, high), law)
    if best is None:
        raise AssertionError(f"no law has mean {target!r} among {size} flips")
    design = Exchangeable(tuple(float(mass) for mass in best[2]), name="best exchangeable")
    return BestCoupling(
        design,
        best[1],
        flip_moments(geometry, rate, design, chosen) if k else flip_moments(geometry, rate, Paired(), chosen),
        flip_moments(geometry, rate, Paired(), chosen),
        flip_moments(geometry, rate, Independent(), chosen),
    )


def _by_count(geometry: Geometry, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """E||g||^2 and the mean's length given n flips, n = 0..G; shapes (G+1,)."""
    size, k = geometry.size, geometry.successes
    if k == 0:
        return np.zeros(size + 1), np.zeros(size + 1)
    kept = np.arange(k + 1.0)
    along = rule.contrast(size)[: k + 1] * kept / k
    spread = np.zeros(k + 1)
    if k > 1:
        spread = rule.contrast(size)[: k + 1] ** 2 * kept * (k - kept) / (k * k * (k - 1.0))
    chances = np.stack([hypergeometric(size, k, count)[::-1] for count in range(size + 1)])
    return chances @ (along**2 * geometry.left + spread * geometry.dispersion), chances @ along


def _two_point_supports(size: int, target: float) -> list[tuple[int, int]]:
    if abs(target - round(target)) < 1e-12 * size:
        whole = round(target)
        pairs = [(low, high) for low in range(whole) for high in range(whole + 1, size + 1)]
        return [(whole, whole), *pairs]
    below = int(np.floor(target))
    return [(low, high) for low in range(below + 1) for high in range(below + 1, size + 1)]


def pair_rate(blocks: Sequence[int]) -> float:
    """The chance that two random siblings share a schedule: sum c(c-1) / (G(G-1)).

    It is (c-1)/(G-1) for equal blocks.

    Args:
        blocks: sizes of the blocks, each at least 1, adding up to G >= 2.

    Raises:
        TheoryError: a size below 1, or a group of one.
    """
    sizes = [conditions.whole(block, "block", 1) for block in blocks]
    size = conditions.group_size(sum(sizes))
    return sum(block * (block - 1) for block in sizes) / (size * (size - 1))


def dose_response(geometry: Geometry, flip_rate: float, rule: Rule | None = None) -> dict[int, FlipMoments]:
    """Moments at every block size that divides G, from c = 1 (independent) to c = G (paired).

    Mean-centred, the trace is linear in the dose (c-1)/(G-1): (1 - dose) q(1-q) R + dose q(1-q) L.
    """
    divisors = [block for block in range(1, geometry.size + 1) if geometry.size % block == 0]
    return {block: flip_moments(geometry, flip_rate, Blocks(block), rule) for block in divisors}

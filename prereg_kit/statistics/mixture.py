"""What a resampling scheme is, in integers, and how its outcomes are counted as integers.

Pure. Every scheme of `statistics.exact` draws `power` units with replacement, adds them for a composition of rows,
mixes over the compositions, and (for own tasks per seed) adds `outer` independent copies of that:

    P(x) = ( sum over components w of weight_w * [ h_w(x) ] ** power ) ** outer

with h_w the histogram of the integers v_w = composition_w @ table over the units.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_TAIL = 47.0  # ln(2 / 1e-20), rounded up


@dataclass(frozen=True)
class Mixture:
    """What is resampled, in integers.

    Attributes:
        table: int64 [R, U], non-negative, greatest common divisor 1 (or all zero); U distinct units.
        multiplicity: int64 [U], how many of the drawn units have this column; sums to `power`.
        compositions: int64 [W, R], how often each row is taken; all rows sum to `taken`.
        weights: int64 [W], how many outcomes of the row resampling have this composition.
        power: how many units are drawn, with replacement.
        outer: how many independent copies of the whole are added (1 for crossed schemes).
    """

    table: Integers
    multiplicity: Integers
    compositions: Integers
    weights: Integers
    power: int
    outer: int = 1

    @property
    def taken(self) -> int:
        """How many rows each composition takes."""
        return int(self.compositions[0].sum())

    @property
    def top(self) -> int:
        """The largest conceivable sum; the smallest is 0."""
        return self.outer * self.power * self.taken * int(self.table.max(initial=0))

    @property
    def outcomes(self) -> int:
        """The number of equally likely outcomes, an exact integer."""
        return int((int(self.weights.sum()) * self.power**self.power) ** self.outer)

    def window(self) -> tuple[int, int]:
        """First and last lattice index of a window that misses less than 1e-20 of the mass.

        Bernstein's inequality with the spread of the widest row as a bound on that of any composition.
        """
        if self.outer > 1 or not self.top:
            return 0, self.top
        share = self.multiplicity / self.power
        means = self.table @ share
        centred = self.table - means[:, None]
        spread = self.taken * math.sqrt(float(np.max((centred * centred) @ share)))
        reach = self.taken * float(np.max(np.ptp(self.table, axis=1)))
        slack = reach * _TAIL / 3
        half = slack + math.sqrt(slack * slack + 2 * self.power * spread * spread * _TAIL)
        low, high = self._extremes(means)
        first = math.floor(self.power * low - half - 1)
        last = math.ceil(self.power * high + half + 1)
        return max(0, first), min(self.top, last)

    @property
    def lowest(self) -> int:
        """The smallest index that occurs."""
        return self.outer * self.power * min(int((row @ self.table).min()) for row in self.compositions)

    @property
    def highest(self) -> int:
        """The largest index that occurs."""
        return self.outer * self.power * max(int((row @ self.table).max()) for row in self.compositions)

    def _extremes(self, means: Floats) -> tuple[float, float]:
        if len(self.compositions) <= 4096:
            per = self.compositions @ means
            return float(per.min()), float(per.max())
        return self.taken * float(means.min()), self.taken * float(means.max())

    def recheck_cost(self, highest: int) -> float:
        """Seconds that counting in integers up to index `highest` takes, by a fixed estimate."""
        bits: float = self.power * math.log2(max(self.power, 2)) * self.outer
        terms = min(self.table.shape[1], self.taken * int(self.table.max(initial=0)) + 1)
        per: float = 1.5e-7 + 6e-11 * bits
        inner: float = len(self.weights) * min(highest, self.top // self.outer) * terms * per
        if self.outer == 1:
            return inner
        return inner + highest * (self.top // self.outer) * per


def exact_quantile(mixture: Mixture, p: Fraction, highest: int) -> int:
    """The smallest index with F >= p, counted in integers up to `highest`, where F >= p must hold."""
    need = -(-p.numerator * mixture.outcomes // p.denominator)
    below = 0
    for index, count in enumerate(exact_counts(mixture, highest)):
        below += count
        if below >= need:
            return index
    raise AssertionError("the filter's bound does not hold")


def exact_counts(mixture: Mixture, highest: int) -> Iterator[int]:
    """How many of `mixture.outcomes` equally likely outcomes fall on index 0, 1, .. `highest`, as integers."""
    if mixture.outer == 1:
        yield from _inner_counts(mixture, highest)
        return
    inner = list(_inner_counts(mixture, min(highest, mixture.top // mixture.outer)))
    least = next((index for index, count in enumerate(inner) if count), highest + 1)
    base = {index - least: count for index, count in enumerate(inner) if count}
    powers = _power_of_polynomial(base, mixture.outer) if base else iter(())
    for index in range(highest + 1):
        yield next(powers) if index >= mixture.outer * least else 0


def _inner_counts(mixture: Mixture, highest: int) -> Iterator[int]:
    """Counts of a single copy; the components advance together, so only their last terms are kept."""
    running: list[tuple[int, int, int, Iterator[int]]] = []
    for composition, weight in zip(mixture.compositions, mixture.weights.tolist(), strict=True):
        values = composition @ mixture.table
        low = int(values.min())
        step = max(int(np.gcd.reduce(values - low)), 1)
        places, inverse = np.unique((values - low) // step, return_inverse=True)
        sizes = np.bincount(inverse, weights=mixture.multiplicity).astype(np.int64)
        base = dict(zip(places.tolist(), sizes.tolist(), strict=True))
        running.append((mixture.power * low, step, weight, _power_of_polynomial(base, mixture.power)))
    for index in range(highest + 1):
        yield sum(
            weight * next(terms)
            for start, step, weight, terms in running
            if index >= start and (index - start) % step == 0
        )


def _power_of_polynomial(base: dict[int, int], power: int) -> Iterator[int]:
    """Coefficients 0, 1, 2, .. of (sum_k base[k] x**k) ** power, without end; base[0] > 0.

    From P' h = power h' P for P = h**power: n h_0 P_n = sum_k (k (power + 1) - n) h_k P_(n - k) (Miller's
    recurrence; Knuth, The Art of Computer Programming 2, section 4.7, equation 9).
    """
    constant, degree = base[0], max(base)
    rest = [(place, count, place * (power + 1) * count) for place, count in base.items() if place]
    recent = deque([constant**power], maxlen=max(degree, 1))
    yield recent[0]
    for n in itertools.count(1):
        total = sum((slope - n * count) * recent[-place] for place, count, slope in rest if place <= n)
        recent.append(total // (n * constant))
        yield recent[-1]

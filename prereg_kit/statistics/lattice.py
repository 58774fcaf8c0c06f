"""The exact distribution of a resampled mean: powers of small histograms on an integer lattice.

Pure: a mixture in, one distribution out, in two steps.

1. A floating-point filter. The characteristic function (`statistics.transform`) on a window that holds all but
   1e-20 of the mass, one inverse FFT, probabilities rounded to multiples of 2**-62 and summed as integers.
   `Lattice.bound` bounds its error: the transform's own bound, plus sqrt(N) 10 log2(N) eps |p|_2 for the inverse
   FFT (Higham, Accuracy and Stability of Numerical Algorithms, theorem 24.2, with a generous constant), plus
   N 2**-63 for the rounding, plus 1e-20.
2. Integers. Where the filter's cumulative probability lies within 1e-9 of the p that is asked for (or within the
   bound, whichever is more), the outcomes are counted as Python integers (`statistics.mixture`) and compared as
   rationals. A tie is therefore a tie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.mixture import Floats, Integers, Mixture, exact_quantile
from prereg_kit.statistics.transform import EPS, smooth_length, transform

_SCALE = 1 << 62
_NEAR = Fraction(1, 10**9)
RECHECK_LIMIT = 20.0  # seconds, by the fixed estimate of `Mixture.recheck_cost`


@dataclass(frozen=True)
class Lattice:
    """The distribution of a resampled mean on the points `origin + step * index`.

    Attributes:
        origin: value at index 0.
        step: distance of neighbouring points, positive (1 where there is only one point).
        first: index of the first point of the window.
        cumulative: int64 [N], F at each point of the window, in multiples of 2**-62, not decreasing.
        bound: proven bound on the error of `cumulative` as a probability.
        mixture: what was resampled; the integer recomputation reads it.
    """

    origin: Fraction
    step: Fraction
    first: int
    cumulative: Integers = field(repr=False)
    bound: float
    mixture: Mixture = field(repr=False)

    @property
    def degenerate(self) -> bool:
        """Whether the resampled mean can take one value only."""
        return self.mixture.top == 0

    @property
    def minimum(self) -> Fraction:
        """The smallest value that can occur."""
        return self.quantile_at(self.mixture.lowest)

    @property
    def maximum(self) -> Fraction:
        """The largest value that can occur."""
        return self.quantile_at(self.mixture.highest)

    def quantile_at(self, index: int) -> Fraction:
        """The value of lattice point `index`."""
        return self.origin + self.step * index

    def probabilities(self) -> tuple[Floats, Floats]:
        """Values [N] and probabilities [N] of the window as floats, for drawing; never for deciding."""
        values = float(self.origin) + float(self.step) * (self.first + np.arange(len(self.cumulative)))
        return values.astype(np.float64), np.diff(self.cumulative, prepend=0) / _SCALE

    def cdf(self, value: Fraction) -> float:
        """F(value) in [0, 1], within `bound` of the truth; for showing, never for deciding."""
        index = math.floor((value - self.origin) / self.step) - self.first
        if index < 0:
            return 0.0
        return float(self.cumulative[min(index, len(self.cumulative) - 1)]) / _SCALE

    def quantile(self, p: Fraction) -> Fraction:
        """Inverse CDF: the smallest value whose cumulative probability is at least `p`, exactly.

        Args:
            p: in (0, 1].

        Raises:
            DecisionError: `p` is outside (0, 1], or F comes within the filter's error of `p` on a register so
                large that counting in integers would take longer than `RECHECK_LIMIT`.
        """
        if not 0 < p <= 1:
            raise DecisionError("no such quantile", expected="a probability in (0, 1]", found=str(p))
        if self.degenerate:
            return self.origin
        if p == 1:
            return self.maximum
        for near in (max(_NEAR, Fraction(self.bound)), Fraction(self.bound)):
            low, high = self._candidates(p, near)
            if low == high:
                return self.quantile_at(low)
            if self.mixture.recheck_cost(high) <= RECHECK_LIMIT:
                return self.quantile_at(exact_quantile(self.mixture, p, high))
        raise DecisionError(
            f"the {float(p):g} quantile lies within {self.bound:.1g} of a jump of the exact distribution and the "
            "register is too large to be counted in integers",
            code="quantile-on-a-jump",
            found=f"{self.mixture.power} units",
            next_step="Register `engine: monte_carlo`, or another level.",
        )

    def _candidates(self, p: Fraction, near: Fraction) -> tuple[int, int]:
        """Indices between which the quantile must lie; equal when the filter decides."""
        low_mark, high_mark = math.ceil((p - near) * _SCALE), math.ceil((p + near) * _SCALE)
        low = -1 if low_mark <= 0 else self.first + int(np.searchsorted(self.cumulative, low_mark))
        position = (
            int(np.searchsorted(self.cumulative, high_mark)) if high_mark < _SCALE else len(self.cumulative)
        )
        high = self.mixture.top if position == len(self.cumulative) else self.first + position
        return low, high


def distribution(mixture: Mixture, origin: Fraction, step: Fraction) -> Lattice:
    """The distribution of `origin + step * sum` for the sum that `mixture` describes.

    Bounded memory: about 50 bytes per lattice point of the window plus blocks of 2 MiB.
    """
    if not mixture.top:
        return Lattice(origin, step, 0, np.array([_SCALE], dtype=np.int64), 0.0, mixture)
    first, last = mixture.window()
    length = smooth_length(last - first + 1)
    frequencies, error = transform(mixture, first, length)
    chances = np.fft.irfft(frequencies, length)[: last - first + 1]
    norm = float(np.sqrt(chances @ chances))
    bound = error + math.sqrt(length) * 10 * math.log2(length + 1) * EPS * norm + length * 2.0**-63 + 1e-20
    fixed = np.rint(chances * float(_SCALE)).astype(np.int64)
    return Lattice(origin, step, first, np.maximum.accumulate(np.cumsum(fixed)), bound, mixture)

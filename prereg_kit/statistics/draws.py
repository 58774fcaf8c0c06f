"""Resampled values as exact numbers: quantiles and their Monte Carlo error without a float.

Pure. Ranks are computed from rational levels, ends are fractions, and so is the Monte Carlo standard deviation:
what depends on it ("undecided at this number of resamples") is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.mixture import Integers


@dataclass(frozen=True)
class Draws:
    """Resampled values in ascending order, as numerators over one denominator or as fractions.

    Attributes:
        sums: int64 [B] ascending, or B fractions ascending.
        denominator: positive; a resampled value is sum / denominator.
        constant: whether no resample could have given another value.
        undefined: how many resamples had no value (0/0); they are not among `sums`.
    """

    sums: Integers | Sequence[Fraction] = field(repr=False)
    denominator: int
    constant: bool = False
    undefined: int = 0

    @classmethod
    def of_ratio(cls, numerators: Integers, denominators: Integers) -> Draws:
        """Draws of numerator / denominator, resample by resample, such as rows of `resample.crossed_sums`.

        A resample whose denominator is 0 has no value: it is left out and counted in `undefined`.

        Args:
            numerators: integers [B].
            denominators: integers >= 0 [B].

        Raises:
            DecisionError: no resample has a value.
        """
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        values = sorted(Fraction(top, bottom) for top, bottom in pairs if bottom)
        if not values:
            raise DecisionError("every resampled ratio is 0/0", found=len(numerators))
        return cls(values, 1, values[0] == values[-1], len(numerators) - len(values))

    @property
    def resamples(self) -> int:
        """B, the number of resamples that have a value."""
        return len(self.sums)

    def quantile(self, p: Fraction) -> Fraction:
        """Inverse CDF of the draws: the smallest drawn mean with at least p B draws at or below it.

        Raises:
            DecisionError: p outside (0, 1].
        """
        return self._at(self._rank(p))

    def mc_sd(self, p: Fraction) -> Fraction:
        """Monte Carlo standard deviation of `quantile(p)`, from order statistics (Woodruff, JASA 1952).

        Another run would put the quantile about one binomial standard deviation, sqrt(B p (1 - p)), of ranks
        away. The larger of the two distances to the values at those ranks is taken (rounded outwards): on a fine
        lattice it is the sd with a small upward bias, and on a coarse one, where the quantile jumps between
        neighbouring points, it is the jump, so that a bound next to the quantile is not called decided. A
        rational number, the same on every machine.

        Raises:
            DecisionError: p outside (0, 1].
        """
        rank = self._rank(p)
        square = self.resamples * p * (1 - p)
        reach = math.isqrt(math.ceil(square) - 1) + 1 if square > 0 else 0
        low, high = max(rank - reach, 1), min(rank + reach, self.resamples)
        here = self._at(rank)
        return max(here - self._at(low), self._at(high) - here)

    def undecided(self, p: Fraction, bound: Fraction) -> bool:
        """Whether `bound` lies within one Monte Carlo sd of `quantile(p)`, ends included.

        A quantile that does not vary between runs (sd 0) is decided, even on the bound.
        """
        sd = self.mc_sd(p)
        return sd > 0 and abs(self.quantile(p) - bound) <= sd

    def _at(self, rank: int) -> Fraction:
        value = self.sums[rank - 1]
        return Fraction(value if isinstance(value, Fraction) else int(value)) / self.denominator

    def _rank(self, p: Fraction) -> int:
        if not 0 < p <= 1:
            raise DecisionError("no such quantile", expected="a probability in (0, 1]", found=str(p))
        return math.ceil(p * self.resamples)

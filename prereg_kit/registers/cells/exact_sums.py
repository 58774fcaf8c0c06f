"""Exact sums per cell: int64 while that is provably enough, Python integers beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.registers.cells.source import Ints

_SAFE = 1 << 62


class Sums:
    """Sums of exact values over cells of a padded shape; all sums share `denominator`.

    Attributes:
        totals: shape = the padded shape; int64, or object once a sum could exceed 2**62.
        denominator: what the totals are to be divided by.
    """

    def __init__(self, shape: Sequence[int] = (1,)) -> None:
        self.totals: npt.NDArray[Any] = np.zeros(shape, dtype=np.int64)
        self.denominator = 1
        self._bound = 0

    def reshape(self, shape: Sequence[int]) -> None:
        """Grow to a larger padded shape of the same number of axes; sums keep their place."""
        if tuple(shape) == self.totals.shape:
            return
        grown = np.zeros(shape, dtype=self.totals.dtype)
        grown[tuple(slice(0, length) for length in self.totals.shape)] = self.totals
        self.totals = grown

    def add(self, cells: Ints, numerators: npt.NDArray[Any], denominator: int) -> None:
        """Add values to cells; `cells` are positions in the flattened padded shape."""
        if denominator != self.denominator:
            common = math.lcm(denominator, self.denominator)
            self._scale(common // self.denominator)
            self.denominator = common
        factor = self.denominator // denominator
        largest = max((abs(int(numerators.min())), abs(int(numerators.max()))), default=0) * factor
        self._bound += largest * len(numerators)
        if max(self._bound, factor) >= _SAFE and self.totals.dtype != object:
            self.totals = self.totals.astype(object)
        flat = self.totals.reshape(-1)
        if max(largest * len(numerators), factor) < _SAFE:
            numbers = numerators.astype(np.int64, copy=False)
            numbers = numbers * factor if factor != 1 else numbers
            if flat.dtype == object:
                block = np.zeros(flat.shape, dtype=np.int64)
                np.add.at(block, cells, numbers)
                flat += block
            else:
                np.add.at(flat, cells, numbers)
        else:
            np.add.at(flat, cells, numerators.astype(object) * factor)

    def _scale(self, factor: int) -> None:
        self._bound *= factor
        if max(self._bound, factor) >= _SAFE and self.totals.dtype != object:
            self.totals = self.totals.astype(object)
        self.totals *= factor

    def trimmed(self, shape: Sequence[int]) -> npt.NDArray[Any]:
        """The sums of the real cells, back in int64 where they fit."""
        totals = self.totals[tuple(slice(0, length) for length in shape)]
        if totals.dtype == object and all(abs(total) < _SAFE for total in totals.reshape(-1)):
            return totals.astype(np.int64)
        return totals.copy()

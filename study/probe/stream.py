"""Gradients of one unit at a time: their Gram matrix and weighted sums, accumulated in float64.

A unit is one group (outcome probe) or one task (transition probe). Its gradients lie in one buffer that every unit
reuses; products are taken over blocks of coordinates, so beyond the buffer and the running vectors nothing of full
width exists. For d coordinates, n rows a unit and m running vectors the memory is d (n x itemsize + 8 m) bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from study.errors import StudyError

Array = npt.NDArray[np.float64]

BLOCK = 65_536
"""Coordinates whose products are taken at once."""


class Unit:
    """The buffer for one unit's gradients.

    Args:
        rows: gradients of a unit.
        width: d, coordinates of a gradient.
        dtype: float64, or float32 where the model's gradients have no more digits; products are float64 either way.
    """

    def __init__(self, rows: int, width: int, dtype: npt.DTypeLike = np.float64) -> None:
        kind = np.dtype(dtype)
        if rows < 1 or width < 1 or kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise StudyError(
                "not a unit", expected="rows, width >= 1 and float32 or float64", found=(rows, width, kind)
            )
        self.rows: npt.NDArray[Any] = np.zeros((rows, width), dtype=kind)

    @property
    def width(self) -> int:
        """d, coordinates of a gradient."""
        return int(self.rows.shape[1])

    def gram(self) -> Array:
        """Inner products of the rows, shape (n, n), symmetric to the bit."""
        count = len(self.rows)
        total = np.zeros((count, count))
        for part in self._blocks():
            total += part @ part.T
        return (total + total.T) / 2.0

    def add_to(self, vectors: Array, levers: Array) -> None:
        """Add levers @ rows to running vectors in place.

        Args:
            vectors: shape (m, d), float64.
            levers: shape (m, n).
        """
        if vectors.shape != (len(levers), self.width) or levers.shape[1] != len(self.rows):
            raise StudyError(
                "running vectors do not match the unit",
                expected=f"vectors {(len(levers), self.width)}, levers {(len(vectors), len(self.rows))}",
                found=(vectors.shape, levers.shape),
            )
        for start, part in zip(range(0, self.width, BLOCK), self._blocks(), strict=True):
            vectors[:, start : start + BLOCK] += levers @ part

    def _blocks(self) -> Iterator[Array]:
        for start in range(0, self.width, BLOCK):
            yield self.rows[:, start : start + BLOCK].astype(np.float64, copy=False)


def gram_of(vectors: Array) -> Array:
    """Inner products of running vectors (m, d) over blocks of coordinates, shape (m, m), symmetric to the bit."""
    total = np.zeros((len(vectors), len(vectors)))
    for start in range(0, vectors.shape[1], BLOCK):
        part = vectors[:, start : start + BLOCK]
        total += part @ part.T
    return (total + total.T) / 2.0

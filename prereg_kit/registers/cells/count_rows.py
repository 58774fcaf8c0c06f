"""Rows of counts: so many of so many, or refused with the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells.walk import Part, Walk

Whole = npt.NDArray[Any]


def whole_counts(walk: Walk, part: Part, value: str, among: str, *, least: int = 1) -> tuple[Whole, Whole]:
    """The two counts of every row, as whole numbers.

    Args:
        walk: the pass, for the row's place.
        part: the rows.
        value: the column of what was counted.
        among: the column of out of how many.
        least: the smallest number that it may have been counted among: 1 for a mean, 0 where rows are summed.

    Raises:
        RegisterError: `impossible-count`: no whole number, below 0, or more than it was counted among.
    """
    tops = [part.numerators(name) for name in (value, among)]
    scales = [part.block.values[name].denominator for name in (value, among)]
    if max(scales) > 1:
        tops = [top.astype(object) for top in tops]
    wrong = (tops[0] % scales[0] != 0) | (tops[1] % scales[1] != 0)
    first, second = (top // scale for top, scale in zip(tops, scales, strict=True))
    wrong = wrong | (first < 0) | (second < least) | (first > second)
    if wrong.any():
        row = part.position(int(np.argmax(wrong)))
        raise RegisterError(
            f"an impossible count: {part.block.raw(value, row)!r} of {part.block.raw(among, row)!r}",
            where=walk.place(part.block, row, value),
            expected=f"whole numbers with 0 <= {value} <= {among}"
            + (f" and {among} above 0" if least else ""),
            code="impossible-count",
        )
    return first, second

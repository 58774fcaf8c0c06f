"""Tables with far more cells than rows: found incomplete without being laid out, and refused with what is missing.

A mistake such as a task name of its own in every row would otherwise ask for seeds x tasks cells, almost all empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.completeness import Grid, missing_cells
from prereg_kit.registers.cells.labels import canonical_order
from prereg_kit.registers.cells.packed_keys import Field, Keys
from prereg_kit.registers.cells.source import Label

SMALL = 1 << 22
"""Cells that are laid out whatever the number of rows."""
CELLS_PER_ROW = 4
"""More cells than this for each row cannot all have an episode, even if half of them belong to unpaired runs."""


def hopeless(fields: Sequence[Field], rows: int) -> bool:
    """Whether a complete table over these fields would need many times the rows that there are."""
    cells = math.prod(each.size for each in fields)
    return cells > SMALL and cells > CELLS_PER_ROW * rows


def refusal(
    keys: Keys, fields: Sequence[Field], labels: Sequence[list[Label]], place: Place
) -> RegisterError:
    """What `Grid` would refuse: unpaired runs, missing points of the axis, or missing cells with the first of them.

    Args:
        keys: packed cells of all rows, the fields most significant first.
        fields: arm, pairing column, axis, cluster, and what is averaged.
        labels: the labels of each field by local code.
        place: the register.
    """
    present = np.unique(keys)
    codes: list[npt.NDArray[np.int64]] = []
    for each in reversed(fields):
        codes.append(present & ((1 << each.bits) - 1))
        present = present >> each.bits
    codes.reverse()
    orders = [
        canonical_order(each) if field.fixed is None else each
        for field, each in zip(fields, labels, strict=True)
    ]
    ranks = [_ranks(before, after)[code] for before, after, code in zip(labels, orders, codes, strict=True)]
    sizes = [len(each) for each in orders]
    runs = np.zeros((*sizes[:3], 1), dtype=np.int64)
    runs[ranks[0], ranks[1], ranks[2], 0] = 1
    names = [each.column for each in fields]
    grid = Grid(runs, runs, names[:4], orders[:4], averaged={}, place=place)
    try:
        grid.pair_up("refuse")
        grid.require_steps("refuse")
    except RegisterError as error:
        return error
    # Cells in order, as whole numbers: beyond 64 bits for absurd sizes, and then counted with Python integers.
    cells = np.zeros(len(ranks[0]), dtype=object if math.prod(sizes) >= 1 << 62 else np.int64)
    for rank, size in zip(ranks, sizes, strict=True):
        cells = cells * size + rank
    cells = np.sort(cells)
    gap = np.flatnonzero(cells != np.arange(len(cells)))
    first = int(gap[0]) if len(gap) else len(cells)
    at = []
    for size in reversed(sizes):
        first, here = divmod(first, size)
        at.append(here)
    key = {name: order[i] for name, order, i in zip(names, orders, reversed(at), strict=True) if name}
    return missing_cells(math.prod(sizes) - len(cells), key, names[3], place)


def _ranks(before: Sequence[Label], after: Sequence[Label]) -> npt.NDArray[np.int64]:
    place = {(type(label), label): i for i, label in enumerate(after)}
    return np.array([place[type(label), label] for label in before], dtype=np.int64)

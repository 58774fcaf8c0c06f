"""One order for a table's rows and columns, whatever order they come in.

Pure. The Monte Carlo engine draws places, so a table must stand in an order that neither the order of the
register's rows nor the names of tasks and seeds can move.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from prereg_kit.statistics.mixture import Integers

_TRIED = 5040


def canonical(table: Integers) -> Integers:
    """The same int64 [S, T] whatever the order of `table`'s rows and columns."""
    rows, columns = canonical_order(table[None])
    return np.ascontiguousarray(table[rows][:, columns])


def canonical_order(tables: Integers, arm: Integers | None = None) -> tuple[Integers, Integers]:
    """Row order [S] and column order [T] that put tables [H, S, T], permuted together, into one form.

    Rows of a lower `arm` [S] come first and are never exchanged with those of another.

    Rows are ranked by their sorted cells, and rows that tie by what their columns hold, for as long as that
    separates more of them (colour refinement); columns are then sorted. Rows that still tie are mostly
    exchangeable; they are tried in every order (up to 5,040) and the smallest table is kept.
    """
    cells = _labels(tables)
    group = np.zeros(len(cells), dtype=np.int64) if arm is None else arm
    rank = _ranks(np.column_stack([group, np.sort(cells, axis=1)]))
    classes = int(rank.max()) + 1
    while classes < len(rank):
        column_rank = _ranks(np.sort(_pair(cells, rank[:, None]), axis=0).T)
        rank = _ranks(np.column_stack([rank, np.sort(_pair(cells, column_rank[None, :]), axis=1)]))
        if int(rank.max()) + 1 == classes:
            break
        classes = int(rank.max()) + 1
    order = np.argsort(rank, kind="stable").tolist()
    groups = [list(group) for _, group in itertools.groupby(order, key=lambda row: int(rank[row]))]
    tied = [group for group in groups if len({cells[row].tobytes() for row in group}) > 1]
    orders = [order]
    if tied and math.prod(math.factorial(len(group)) for group in tied) <= _TRIED:
        choices = itertools.product(
            *(itertools.permutations(group) if group in tied else [group] for group in groups)
        )
        orders = [list(itertools.chain(*choice)) for choice in choices]
    best = min(orders, key=lambda rows: _smallest(cells[rows]).astype(">i8").tobytes())
    return np.array(best, dtype=np.int64), np.lexsort(cells[best][::-1]).astype(np.int64)


def _smallest(cells: Integers) -> Integers:
    """The table with its columns in lexicographic order, first row first."""
    return np.ascontiguousarray(cells[:, np.lexsort(cells[::-1])])


def _labels(tables: Integers) -> Integers:
    """One integer for each cell's tuple over the H tables, in the tuples' order; the values if H is 1."""
    cells: Integers = tables[0]
    for table in tables[1:]:
        cells = _pair(table, np.unique(cells, return_inverse=True)[1].reshape(cells.shape))
    return cells


def _ranks(rows: Integers) -> Integers:
    """Dense rank [n] of each row in lexicographic order; equal rows share one."""
    _, inverse = np.unique(rows, axis=0, return_inverse=True)
    return np.asarray(inverse, dtype=np.int64).reshape(-1)


def _pair(values: Integers, label: Integers) -> Integers:
    """One integer for each (label, value) pair, in the pairs' order."""
    dense = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    return np.asarray(label * (int(dense.max()) + 1) + dense, dtype=np.int64)

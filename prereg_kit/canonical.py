"""One order for a table's rows and columns, whatever order they come in.

Pure. The Monte Carlo engine draws places, so a table must stand in an order that neither the order of the
register's rows nor the names of tasks and seeds can move.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from prereg_kit.mixture import Integers


def canonical(table: Integers) -> Integers:
    """The same table whatever the order of its rows and columns: int64 [S, T].

    Rows are ranked by their sorted values, and rows that tie by what their columns hold, as often as that
    separates more (colour refinement); columns are then sorted. Rows that still tie are tried in every order
    (up to 5,040 of them) and the smallest table is kept.
    """
    rank = _ranks(np.sort(table, axis=1))
    while len(np.unique(rank)) < len(rank):
        column_rank = _ranks(np.sort(_pair(table, rank[:, None]), axis=0).T)
        finer = _ranks(np.column_stack([rank, np.sort(_pair(table, column_rank[None, :]), axis=1)]))
        if len(np.unique(finer)) == len(np.unique(rank)):
            break
        rank = finer
    order = np.argsort(rank, kind="stable")
    groups = [list(group) for _, group in itertools.groupby(order.tolist(), key=lambda row: int(rank[row]))]
    groups = [_distinct(group, table) for group in groups]
    tried = math.prod(math.factorial(len(group)) for group in groups)
    choices: Iterator[tuple[tuple[int, ...], ...]] = iter([tuple(tuple(group) for group in groups)])
    if 1 < tried <= 5040:
        choices = itertools.product(*(itertools.permutations(group) for group in groups))
    return min((_sorted_columns(table[list(itertools.chain(*choice))]) for choice in choices), key=_bytes)


def _distinct(group: list[int], table: Integers) -> list[int]:
    """Rows of one rank; in value order, which is only a start for the search over their orders."""
    return sorted(group, key=lambda row: table[row].tolist())


def _bytes(table: Integers) -> bytes:
    return table.astype(">i8").tobytes()


def _sorted_columns(table: Integers) -> Integers:
    return np.ascontiguousarray(table[:, np.lexsort(table[::-1])])


def _ranks(rows: Integers) -> Integers:
    """Dense rank [n] of each row in lexicographic order; equal rows share one."""
    _, inverse = np.unique(rows, axis=0, return_inverse=True)
    return np.asarray(inverse, dtype=np.int64).reshape(-1)


def _pair(values: Integers, label: Integers) -> Integers:
    """One integer for each (value, label) pair, order by label first."""
    dense = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    return np.asarray(label * (int(dense.max()) + 1) + dense, dtype=np.int64)

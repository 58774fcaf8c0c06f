"""The Monte Carlo bootstrap: task counts x matrix product, reproducible bit for bit.

Pure. Where the exact engine does not apply, or a plan registers `engine: monte_carlo`. Every resample is a sum of
integers below 2**53, so the order in which a machine adds them, its BLAS and its number of threads cannot change
it. Draws come from `statistics.random_stream`, axis by axis: task counts are drawn once and serve every endpoint
over the same number of tasks, seed counts likewise.

Tables are put in a canonical order first (`canonical`), so that neither the order of rows nor a renaming of tasks
or seeds moves an end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.canonical import canonical, canonical_order
from prereg_kit.statistics.draws import Draws
from prereg_kit.statistics.exact import compress, integers, positive
from prereg_kit.statistics.mixture import Integers
from prereg_kit.statistics.random_stream import Stream, StreamKey

BLOCK = 256  # resamples to one block of the stream; part of the specification
_STEP = 1 << 20


def crossed(D: ArrayLike, denominator: int, resamples: int, key: StreamKey) -> Draws:  # noqa: N803
    """Seed pairs and tasks resampled crossed.

    Args:
        D: integers [S, T]; a cell's difference is D / denominator.
        denominator: positive.
        resamples: B >= 1.
        key: seed, plan and scheme; the axes `tasks` and `seeds` of it are drawn.

    Raises:
        DecisionError: not a non-empty integer table, or B < 1.
    """
    return crossed_batch([D], denominator, resamples, key)[0]


def crossed_batch(
    tables: Sequence[ArrayLike], denominator: int, resamples: int, key: StreamKey
) -> list[Draws]:
    """As `crossed` for several tables, drawing the counts of tables of one shape once.

    Each result is what `crossed` gives for that table alone.

    Raises:
        DecisionError: as `crossed`.
    """
    checked = [canonical(integers(table, 2)) for table in tables]
    positive(denominator)
    done: dict[int, Draws] = {}
    for shape in dict.fromkeys(table.shape for table in checked):
        chosen = [index for index, table in enumerate(checked) if table.shape == shape]
        sums = _sums(np.stack([checked[index] for index in chosen]), resamples, key)
        for index, row in zip(chosen, sums, strict=True):
            scale = shape[0] * shape[1] * denominator
            done[index] = _draws(row, scale, bool(np.ptp(checked[index]) == 0))
    return [done[index] for index in range(len(checked))]


def crossed_sums(tables: Sequence[ArrayLike], resamples: int, key: StreamKey) -> Integers:
    """Sums over the drawn seed pairs and tasks for every table, int64 [H, B], in the order of the draws.

    The building block of endpoints that are not a mean, such as a rate with a random denominator
    (`RatioDraws.of`): column b is one resample, the same tasks and seed pairs in every table. The tables are put
    in one canonical order together.

    Args:
        tables: H integer tables [S, T] over the same seed pairs and tasks.
        resamples: B >= 1.
        key: axes `tasks` and `seeds` of it are drawn.

    Raises:
        DecisionError: tables that are not integer or not of one shape, or B < 1.
    """
    checked = [integers(table, 2) for table in tables]
    if len({table.shape for table in checked}) != 1:
        raise DecisionError("tables of different shapes", found=[table.shape for table in checked])
    stack = np.stack(checked)
    rows, columns = canonical_order(stack)
    return _sums(stack[:, rows][:, :, columns], resamples, key)


def _sums(tables: Integers, resamples: int, key: StreamKey) -> Integers:
    count, seeds, tasks = tables.shape
    columns, column_of = _columns(tables.reshape(count * seeds, tasks))
    matrix = columns.T.astype(np.float64)
    result = _room(count, resamples)
    rows = _rows(tasks)
    drawn = counts(key.on("seeds"), seeds, resamples, rows=rows)
    for start, taken in counts(key.on("tasks"), tasks, resamples, rows=rows, column_of=column_of):
        per_row = (taken @ matrix).reshape(-1, count, seeds)
        result[:, start : start + len(per_row)] = np.einsum("bhs,bs->hb", per_row, next(drawn)[1])
    return result


def unpaired(
    treatment: ArrayLike, reference: ArrayLike, denominator: int, resamples: int, key: StreamKey
) -> Draws:
    """Seeds of the two arms resampled apart, tasks common; integers [S1, T] and [S0, T].

    Raises:
        DecisionError: tables that are not integer or not of the same T, or B < 1.
    """
    above, below = integers(treatment, 2), integers(reference, 2)
    if above.shape[1] != below.shape[1]:
        raise DecisionError(
            "arms with different numbers of tasks", found=f"{above.shape[1]}, {below.shape[1]}"
        )
    common = math.lcm(len(above), len(below))
    table = np.concatenate([above * (common // len(above)), -below * (common // len(below))])
    order, places = canonical_order(table[None], np.repeat([0, 1], [len(above), len(below)]))
    table = table[order][:, places]
    rows, tasks = _rows(above.shape[1]), above.shape[1]
    columns, column_of = _columns(table)
    matrix = columns.T.astype(np.float64)
    sums = _room(resamples)
    first = counts(key.on("treatment seeds"), len(above), resamples, rows=rows)
    second = counts(key.on("reference seeds"), len(below), resamples, rows=rows)
    for start, drawn in counts(key.on("tasks"), tasks, resamples, rows=rows, column_of=column_of):
        taken = np.concatenate([next(first)[1], next(second)[1]], axis=1)
        sums[start : start + len(taken)] = ((drawn @ matrix) * taken).sum(axis=1)
    constant = bool(np.ptp(above) == 0 and np.ptp(below) == 0)
    return _draws(sums, common * tasks * positive(denominator), constant)


def seeds_only(D: ArrayLike, denominator: int, resamples: int, key: StreamKey) -> Draws:  # noqa: N803
    """Seed pairs resampled, the tasks taken as they are; integers [S, T]."""
    table = integers(D, 2)
    return _one_axis(table.sum(axis=1), table.shape[1] * positive(denominator), resamples, key.on("seeds"))


def tasks_only(D: ArrayLike, denominator: int, resamples: int, key: StreamKey) -> Draws:  # noqa: N803
    """Tasks resampled, the seed pairs taken as they are; integers [S, T]."""
    table = integers(D, 2)
    return _one_axis(table.sum(axis=0), table.shape[0] * positive(denominator), resamples, key.on("tasks"))


def pooled(differences: ArrayLike, denominator: int, resamples: int, key: StreamKey) -> Draws:
    """Single values resampled as if independent, for comparison; integers [n]."""
    return _one_axis(integers(differences, 1), positive(denominator), resamples, key.on("episodes"))


def own_tasks(rows: Sequence[ArrayLike], denominator: int, resamples: int, key: StreamKey) -> Draws:
    """Seed pairs resampled, then tasks within each drawn seed pair on their own; integers [S][T]."""
    table = np.sort(integers(rows, 2), axis=1)
    table = table[np.lexsort(table.T[::-1])]
    seeds, tasks = table.shape
    flat = table.ravel()
    sums = _room(resamples)
    for start, size, block in blocks(resamples):
        who = Stream(key.on("seeds"), block).below(seeds, size * seeds)
        stream = Stream(key.on("tasks of a drawn seed"), block)
        step = _rows(seeds * tasks)
        for offset in range(0, size, step):
            part = min(step, size - offset)
            which = stream.below(tasks, part * seeds * tasks).reshape(part * seeds, tasks)
            which += who[offset * seeds : (offset + part) * seeds, None] * tasks
            sums[start + offset : start + offset + part] = flat[which].reshape(part, -1).sum(axis=1)
    return _draws(sums, seeds * tasks * positive(denominator), bool(np.ptp(table) == 0))


def _one_axis(values: Integers, denominator: int, resamples: int, key: StreamKey) -> Draws:
    ordered = np.sort(values)
    columns, column_of = _columns(ordered[None, :])
    vector = columns[0].astype(np.float64)
    sums = _room(resamples)
    size = len(ordered)
    for start, drawn in counts(key, size, resamples, rows=_rows(size), column_of=column_of):
        sums[start : start + len(drawn)] = (drawn @ vector).astype(np.int64)
    return _draws(sums, size * denominator, bool(np.ptp(values) == 0))


def counts(
    key: StreamKey, units: int, resamples: int, *, rows: int, column_of: Integers | None = None
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """How often each unit is drawn in `units` draws: (first resample, float64 [b, units], whole numbers).

    Args:
        key: seed, plan, scheme and axis.
        units: how many there are to draw from, and how many are drawn.
        resamples: B >= 1; B only says where to stop, it moves no draw.
        rows: resamples to one step at most, for bounded memory; moves no draw.
        column_of: int64 [units]: count the units of one column together.
    """
    width = units if column_of is None else int(column_of.max()) + 1
    for start, size, block in blocks(resamples):
        stream = Stream(key, block)
        for offset in range(0, size, rows):
            part = min(rows, size - offset)
            drawn = stream.below(units, part * units)
            if column_of is not None:
                drawn = column_of[drawn]
            drawn = drawn.reshape(part, units)
            drawn += np.arange(part)[:, None] * width
            table = np.bincount(drawn.ravel(), minlength=part * width).reshape(part, width)
            yield start + offset, table.astype(np.float64)


def blocks(resamples: int) -> Iterator[tuple[int, int, int]]:
    """(first resample, how many, block number) of the stream's blocks."""
    for start in range(0, resamples, BLOCK):
        yield start, min(BLOCK, resamples - start), start // BLOCK


def _room(*shape: int) -> Integers:
    """An int64 array for results; its last axis is the number of resamples."""
    if shape[-1] < 1:
        raise DecisionError("nothing would be drawn", expected="at least 1 resample", found=shape[-1])
    return np.empty(shape, dtype=np.int64)


def _rows(draws: int) -> int:
    """Resamples to a step such that one step's draws stay below 8 MiB (or are one resample's)."""
    return max(1, min(BLOCK, _STEP // draws))


def _draws(sums: Integers, denominator: int, constant: bool) -> Draws:
    ordered = np.sort(sums)
    ordered.setflags(write=False)
    return Draws(ordered, denominator, constant)


def _columns(table: Integers) -> tuple[Integers, Integers | None]:
    """Distinct columns and each column's place among them; the table itself where few repeat."""
    if len(table) > 8 or table.shape[1] < 64:
        return table, None
    distinct, _ = compress(table)
    if distinct.shape[1] > table.shape[1] // 4:
        return table, None
    order = np.lexsort(table[::-1])
    placed = table[:, order]
    new = np.concatenate([[False], (placed[:, 1:] != placed[:, :-1]).any(axis=0)])
    column_of = np.empty(table.shape[1], dtype=np.int64)
    column_of[order] = np.cumsum(new)
    return distinct, column_of

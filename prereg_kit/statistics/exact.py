"""The exact bootstrap: which outcomes a resampling scheme has, each with its number, and no random numbers.

Pure. `D` is an integer table [S seed pairs, T tasks]; the difference of cell (s, t) is D[s, t] / denominator
and every lattice is that of a mean. Each scheme is a different question and gives a different interval:

    crossed        seed pairs and tasks are both drawn; a drawn task is seen by every drawn seed pair. S draws
                   of S seed pairs are a multiset; given the multiset, the sum over T drawn tasks is a T-fold
                   convolution of one small histogram (10 multisets for 3 seeds, weights 1, 3, 6 of 27).
    unpaired       as crossed, but the two arms' seeds are drawn apart.
    seeds_only     the tasks are the population (a fixed benchmark).
    tasks_only     the seed pairs are the population, or there is only one.
    own_tasks      every seed pair has tasks of its own: seeds are drawn, then tasks within each drawn seed.
    pooled         single episodes are drawn as if independent; for comparison only, its intervals are too short
                   whenever seeds or tasks vary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.lattice import Lattice, distribution
from prereg_kit.statistics.mixture import Integers, Mixture
from prereg_kit.statistics.transform import seconds

COST_LIMIT = 60.0
MAX_SEEDS = 12  # 1,352,078 multisets, minutes of work; 13 need four times that in time and memory


def crossed(D: ArrayLike, denominator: int = 1) -> Lattice:  # noqa: N803
    """Seed pairs and tasks resampled crossed.

    Args:
        D: integers [S, T].
        denominator: positive; a cell's difference is D / denominator.

    Raises:
        DecisionError: not a non-empty integer table, or more than `MAX_SEEDS` seed pairs.
    """
    table = integers(D, 2)
    seeds, tasks = table.shape
    compositions, weights = multisets(seeds)
    return _lattice(table, compositions, weights, tasks, Fraction(1, seeds * tasks * positive(denominator)))


def unpaired(treatment: ArrayLike, reference: ArrayLike, denominator: int = 1) -> Lattice:
    """Seeds of the two arms resampled apart, tasks common to both.

    Args:
        treatment: integers [S1, T]: cell means times `denominator`.
        reference: integers [S0, T], same tasks in the same order.
        denominator: positive.

    Raises:
        DecisionError: tables that are not integer, not of the same T, or of too many seeds.
    """
    above, below = integers(treatment, 2), integers(reference, 2)
    if above.shape[1] != below.shape[1]:
        raise DecisionError(
            "arms with different numbers of tasks", found=f"{above.shape[1]}, {below.shape[1]}"
        )
    common = math.lcm(len(above), len(below))
    table = np.concatenate([above * (common // len(above)), -below * (common // len(below))])
    left, left_weights = multisets(len(above))
    right, right_weights = multisets(len(below))
    compositions = np.concatenate(
        [np.repeat(left, len(right), axis=0), np.tile(right, (len(left), 1))], axis=1
    )
    weights = np.multiply.outer(left_weights, right_weights).ravel()
    unit = Fraction(1, common * above.shape[1] * positive(denominator))
    return _lattice(table, compositions, weights, above.shape[1], unit)


def seeds_only(D: ArrayLike, denominator: int = 1) -> Lattice:  # noqa: N803
    """Seed pairs resampled, the tasks taken as they are. `D`: integers [S, T].

    Raises:
        DecisionError: not a non-empty integer table.
    """
    table = integers(D, 2)
    return pooled(table.sum(axis=1), table.shape[1] * positive(denominator))


def tasks_only(D: ArrayLike, denominator: int = 1) -> Lattice:  # noqa: N803
    """Tasks resampled, the seed pairs taken as they are. `D`: integers [S, T].

    Raises:
        DecisionError: not a non-empty integer table.
    """
    table = integers(D, 2)
    return pooled(table.sum(axis=0), table.shape[0] * positive(denominator))


def pooled(differences: ArrayLike, denominator: int = 1) -> Lattice:
    """The mean of n values, each of the n draws being any of them. `differences`: integers [n].

    Raises:
        DecisionError: not a non-empty integer vector.
    """
    row = integers(differences, 1)[None, :]
    one = np.ones((1, 1), dtype=np.int64)
    return _lattice(row, one, one[0], row.shape[1], Fraction(1, row.shape[1] * positive(denominator)))


def own_tasks(rows: Sequence[ArrayLike], denominator: int = 1) -> Lattice:
    """Seed pairs resampled, then the tasks within each drawn seed pair, every draw on its own.

    Args:
        rows: one integer vector of the same length T per seed pair.
        denominator: positive.

    Raises:
        DecisionError: not integers, or seed pairs with different numbers of tasks.
    """
    table = integers(rows, 2)
    seeds, tasks = table.shape
    each = np.eye(seeds, dtype=np.int64)
    unit = Fraction(1, seeds * tasks * positive(denominator))
    return _lattice(table, each, np.ones(seeds, dtype=np.int64), tasks, unit, outer=seeds)


def cost(seeds: int, tasks: int, span: int) -> float:
    """Seconds of `crossed`, by a fixed estimate that no machine's speed enters (so the choice is portable).

    Args:
        seeds: S >= 1.
        tasks: T >= 1.
        span: largest minus smallest D, in units of the greatest common divisor of their differences.
    """
    points = seeds * tasks * span + 1
    return seconds(math.comb(2 * seeds - 1, seeds), points, seeds * span, tasks)


def applies(D: ArrayLike, limit: float = COST_LIMIT) -> bool:  # noqa: N803
    """Whether `crossed` on this table stays under `limit` seconds by the fixed estimate.

    Sharper than `cost`: it uses the width of the window that the table's own spread needs.
    """
    table = integers(D, 2)
    seeds, tasks = table.shape
    if seeds > MAX_SEEDS:
        return False
    reduced, _, _ = _reduce(table)
    columns, multiplicity = compress(reduced)
    rows = np.eye(seeds, dtype=np.int64) * seeds
    first, last = Mixture(columns, multiplicity, rows, np.ones(seeds, dtype=np.int64), tasks).window()
    reach = seeds * int(reduced.max(initial=0))
    return seconds(math.comb(2 * seeds - 1, seeds), last - first + 1, reach, columns.shape[1]) <= limit


def multisets(size: int) -> tuple[Integers, Integers]:
    """All ways of drawing `size` of `size` things with replacement: counts [W, size], orderings of each [W].

    Raises:
        DecisionError: `size` above `MAX_SEEDS`.
    """
    if size > MAX_SEEDS:
        raise DecisionError(
            "too many seed pairs for the exact engine",
            expected=f"at most {MAX_SEEDS}",
            found=size,
            next_step="Use `engine: monte_carlo` or `engine: auto`.",
        )
    counts = np.zeros((1, 1), dtype=np.int64)
    left = np.array([size], dtype=np.int64)
    for _ in range(size - 1):
        take = left + 1
        parent = np.repeat(np.arange(len(left)), take)
        chosen = np.arange(len(parent)) - np.repeat(np.cumsum(take) - take, take)
        counts = np.concatenate([counts[parent], chosen[:, None]], axis=1)
        left = left[parent] - chosen
    counts = np.concatenate([counts[:, 1:], left[:, None]], axis=1)
    factorial = np.array([math.factorial(n) for n in range(size + 1)], dtype=np.int64)
    orderings = np.full(len(counts), factorial[size])
    for column in counts.T:
        orderings //= factorial[column]
    return counts, orderings


def compress(table: Integers) -> tuple[Integers, Integers]:
    """Distinct columns [R, U] in lexicographic order, and how often each occurs [U]."""
    low, spans = table.min(axis=1), np.ptp(table, axis=1)
    size = math.prod(int(span) + 1 for span in spans)
    if size > 1 << 62:
        columns, multiplicity = np.unique(table, axis=1, return_counts=True)
        return columns.astype(np.int64), multiplicity.astype(np.int64)
    code = np.zeros(table.shape[1], dtype=np.int64)
    for row, least, span in zip(table, low, spans, strict=True):
        code = code * (int(span) + 1) + (row - least)
    if size <= 4 * len(code):
        found = np.bincount(code, minlength=size)
        distinct = np.flatnonzero(found)
        multiplicity = found[distinct]
    else:
        distinct, multiplicity = np.unique(code, return_counts=True)
    rows = []
    for least, span in zip(low[::-1], spans[::-1], strict=True):
        distinct, digit = np.divmod(distinct, int(span) + 1)
        rows.append(digit + least)
    return np.array(rows[::-1], dtype=np.int64), multiplicity.astype(np.int64)


def integers(values: ArrayLike | Sequence[ArrayLike], dimensions: int) -> Integers:
    """`values` as a non-empty int64 array that is small enough for exact sums.

    Raises:
        DecisionError: floats, booleans, another number of axes, nothing in it, or sums beyond 2**53.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DecisionError("seed pairs with different numbers of tasks", expected="a full table") from error
    if array.dtype.kind not in "iu":
        raise DecisionError("differences must be integers over one denominator", found=str(array.dtype))
    if array.ndim != dimensions or not array.size:
        raise DecisionError(f"expected {dimensions} axes and at least one value", found=array.shape)
    largest = max(abs(int(array.min())), abs(int(array.max())))
    if largest * array.size >= 1 << 53:
        raise DecisionError(
            "differences too large for exact sums",
            expected="sums below 2**53",
            found=largest,
            next_step="Take out a common factor, or use a smaller common denominator.",
        )
    return array.astype(np.int64)


def positive(denominator: int) -> int:
    """`denominator`, if it is a positive integer.

    Raises:
        DecisionError: otherwise.
    """
    if int(denominator) != denominator or denominator < 1:
        raise DecisionError("a denominator must be a positive integer", found=denominator)
    return int(denominator)


def _reduce(table: Integers) -> tuple[Integers, int, int]:
    """The table as `low + step * reduced` with the smallest non-negative integers `reduced`."""
    low = int(table.min())
    shifted = table - low
    step = int(np.gcd.reduce(shifted, axis=None)) or 1
    return shifted // step, low, step


def _lattice(
    table: Integers, compositions: Integers, weights: Integers, power: int, unit: Fraction, *, outer: int = 1
) -> Lattice:
    reduced, low, step = _reduce(table)
    columns, multiplicity = compress(reduced)
    mixture = Mixture(columns, multiplicity, compositions, weights, power, outer)
    drawn = mixture.taken * power * outer
    return distribution(mixture, unit * low * drawn, unit * step)

"""Variances of a mean difference over seed pairs and tasks: components, their t interval, and a closed form.

Pure. `D` is an integer table [S seed pairs, T tasks]; a cell's difference is D / denominator. Sums of squares are
exact; only the standard error and the t quantile are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.exact import integers, positive
from prereg_kit.statistics.mixture import Integers

ONE_SEED = "one seed pair: tasks only, seed variance not identifiable"
ONE_TASK = "one task: seed pairs only, task variance not identifiable"
CONSTANT = (
    "nothing that is resampled varies, so every resample gives the same value and the interval is a point"
)


@dataclass(frozen=True)
class VarianceComponents:
    """Two-way random-effects interval of the mean; floats, shown beside and never decided on.

    Attributes:
        level: nominal, in (0, 1).
        mean: the mean difference, exact.
        lower: mean - t se.
        upper: mean + t se.
        se: standard error of the mean, >= 0.
        df: Satterthwaite degrees of freedom, > 0 (inf where nothing varies).
        mean_squares: seeds, tasks, residual; None where it has no degrees of freedom.
        note: what was not estimable, or which component came out negative.
    """

    level: Fraction
    mean: Fraction
    lower: float
    upper: float
    se: float
    df: float
    mean_squares: tuple[Fraction | None, Fraction | None, Fraction | None]
    note: str | None = None


def variance_component_t(D: ArrayLike, denominator: int, level: Fraction) -> VarianceComponents:  # noqa: N803
    """Mean -+ t sqrt((MSseed + MStask - MSerr) / (S T)), Satterthwaite (Biometrics 1946) degrees of freedom.

    Seeds and tasks are random and crossed, one cell mean each. Where a component is estimated as negative
    (MSseed < MSerr or MStask < MSerr) it is set to 0, which leaves the other's mean square alone in the
    variance. With one seed pair, or one task, only the other factor's mean square exists.

    Args:
        D: integers [S, T].
        denominator: positive.
        level: in (0, 1).

    Raises:
        DecisionError: a single cell, from which no variance can be estimated; not an integer table.
    """
    tail = tail_of(level)
    table = integers(D, 2)
    unit = Fraction(1, positive(denominator))
    seeds, tasks = table.shape
    if table.size == 1:
        raise DecisionError("one seed pair and one task: no variance can be estimated", found=table.shape)
    rows, columns, cells = (part * unit * unit for part in _squares(table))
    mean = Fraction(int(table.sum()), table.size) * unit
    by_seed = rows / (seeds - 1) if seeds > 1 else None
    by_task = columns / (tasks - 1) if tasks > 1 else None
    error = cells / ((seeds - 1) * (tasks - 1)) if seeds > 1 and tasks > 1 else None
    parts, note = _parts(by_seed, by_task, error, seeds, tasks)
    variance = sum((sign * square for sign, square, _ in parts), Fraction(0)) / table.size
    if variance <= 0:
        note = note or CONSTANT
        return VarianceComponents(
            level, mean, float(mean), float(mean), 0.0, math.inf, (by_seed, by_task, error), note
        )
    weight = sum((square * square / df for _, square, df in parts), Fraction(0))
    df = float((variance * table.size) ** 2 / weight)
    from scipy.special import stdtrit

    se = math.sqrt(variance)
    reach = float(stdtrit(df, float(1 - tail))) * se
    centre = float(mean)
    return VarianceComponents(
        level, mean, centre - reach, centre + reach, se, df, (by_seed, by_task, error), note
    )


def _parts(
    by_seed: Fraction | None, by_task: Fraction | None, error: Fraction | None, seeds: int, tasks: int
) -> tuple[list[tuple[int, Fraction, int]], str | None]:
    """Signed mean squares of the variance with their degrees of freedom, and what to say about it."""
    if by_seed is None:
        assert by_task is not None
        return [(1, by_task, tasks - 1)], ONE_SEED
    if by_task is None or error is None:
        return [(1, by_seed, seeds - 1)], ONE_TASK
    rest = (seeds - 1) * (tasks - 1)
    if by_seed < error and by_task < error:
        return [(1, error, rest)], "seed and task variance components estimated as negative and set to 0"
    if by_seed < error:
        return [(1, by_task, tasks - 1)], "seed variance component estimated as negative and set to 0"
    if by_task < error:
        return [(1, by_seed, seeds - 1)], "task variance component estimated as negative and set to 0"
    return [(1, by_seed, seeds - 1), (1, by_task, tasks - 1), (-1, error, rest)], None


def closed_form_variance(D: ArrayLike, denominator: int = 1) -> Fraction:  # noqa: N803
    """Exact variance of the crossed resampled mean: var(r)/S + var(c)/T + mean(e**2)/(S T).

    r seed means, c task means, e doubly centred cells, variances divided by S and T. Given the draws the mean
    is sum_st w_s n_t D_st / (S T) with independent multinomial counts w and n; expanding D in mean, row,
    column and residual leaves no cross terms.

    Raises:
        DecisionError: not a non-empty integer table.
    """
    table = integers(D, 2)
    seeds, tasks = table.shape
    rows, columns, cells = _squares(table)
    size = seeds * tasks
    total = rows / (size * seeds) + columns / (size * tasks) + cells / (size * size)
    unit = Fraction(1, positive(denominator))
    return Fraction(total * unit * unit)


def _squares(table: Integers) -> tuple[Fraction, Fraction, Fraction]:
    """Sums of squares for seeds, tasks and residual, in units of D squared; they add to the total."""
    seeds, tasks = table.shape
    everything = int(table.sum())
    correction = Fraction(everything**2, seeds * tasks)
    rows = Fraction(sum(value * value for value in table.sum(axis=1).tolist()), tasks) - correction
    columns = Fraction(_sum_of_squares(table.sum(axis=0)), seeds) - correction
    total = Fraction(_sum_of_squares(table.ravel())) - correction
    return rows, columns, total - rows - columns


def _sum_of_squares(values: Integers) -> int:
    largest = int(np.abs(values).max())
    if largest * largest * len(values) < 1 << 62:
        return int(values @ values)
    return sum(value * value for value in values.tolist())


def tail_of(level: Fraction) -> Fraction:
    """(1 - level)/2: the probability below the lower end of a two-sided interval.

    Raises:
        DecisionError: a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise DecisionError("an interval's level must lie in (0, 1)", found=str(level))
    return (1 - Fraction(level)) / 2

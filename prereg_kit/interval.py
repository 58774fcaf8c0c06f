"""Intervals of a mean difference: percentile bootstrap by either engine, and variance components.

Pure. `D` is an integer table [S seed pairs, T tasks]; a cell's difference is D / denominator. Percentile ends are
inverse-CDF quantiles at (1 - level)/2 and 1 - (1 - level)/2, as fractions.

The bias-corrected bootstrap (BCa) is refused by name. On a register where nothing varies its acceleration is 0/0;
on crossed seeds and tasks there is no single jackknife to take the acceleration from, and with three seeds the
lattice has atoms above 1/27, which a shift of the percentile by fractions of a point cannot correct. Basic and
studentised intervals are refused likewise: nobody has measured their coverage here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from prereg_kit import exact, resample
from prereg_kit.errors import DecisionError
from prereg_kit.exact import integers, positive
from prereg_kit.lattice import Lattice
from prereg_kit.mixture import Integers
from prereg_kit.random_stream import StreamKey

Engine = Literal["exact", "monte_carlo", "auto"]
Scheme = Literal["crossed", "seeds_only", "tasks_only", "own_tasks", "pooled"]

SCHEME_WORDS: dict[str, str] = {
    "crossed": "seed pairs x tasks, crossed",
    "seeds_only": "seed pairs only, tasks as they are",
    "tasks_only": "tasks only, seed pairs as they are",
    "own_tasks": "seed pairs, then each one's own tasks",
    "unpaired": "seeds of each arm apart x tasks, crossed",
    "pooled": "single episodes, as if independent",
}
ONE_SEED = "one seed pair: tasks only, seed variance not identifiable"
ONE_TASK = "one task: seed pairs only, task variance not identifiable"
CONSTANT = (
    "nothing that is resampled varies, so every resample gives the same value and the interval is a point"
)


@dataclass(frozen=True)
class Percentile:
    """A two-sided percentile interval.

    Attributes:
        level: nominal, in (0, 1).
        lower: quantile (1 - level)/2.
        upper: quantile 1 - (1 - level)/2.
        engine: which one gave it.
        scheme: what was resampled, a key of `SCHEME_WORDS`; `asked` is the scheme that was asked for.
        resamples: how many were drawn, None for the exact engine.
        mc_sd: Monte Carlo sd of the two ends, None for the exact engine.
        degenerate: whether no resample could give another value; then lower == upper.
        note: a sentence for the reader where the interval is not what it seems.
    """

    level: Fraction
    lower: Fraction
    upper: Fraction
    engine: Literal["exact", "monte_carlo"]
    scheme: str
    asked: str
    resamples: int | None = None
    mc_sd: tuple[Fraction, Fraction] | None = None
    degenerate: bool = False
    note: str | None = None

    @property
    def words(self) -> str:
        """What was resampled, in English, with the label that one seed pair or one task needs."""
        text = SCHEME_WORDS[self.scheme]
        return f"{text} ({self.note})" if self.note in (ONE_SEED, ONE_TASK) else text

    def undecided(self, end: Literal["lower", "upper"], bound: Fraction) -> bool:
        """Whether `bound` is within one Monte Carlo sd of that end; never for the exact engine."""
        if self.mc_sd is None:
            return False
        value, sd = (self.lower, self.mc_sd[0]) if end == "lower" else (self.upper, self.mc_sd[1])
        return sd > 0 and abs(value - bound) <= sd


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


def two_sided(
    D: ArrayLike,  # noqa: N803
    denominator: int,
    level: Fraction,
    engine: Engine = "auto",
    *,
    scheme: Scheme = "crossed",
    resamples: int = 10_000,
    key: StreamKey | None = None,
    method: str = "percentile",
    limit: float = exact.COST_LIMIT,
) -> Percentile:
    """The two-sided percentile interval of the mean of D / denominator.

    One seed pair turns `crossed`, `seeds_only` and `own_tasks` into tasks only, one task turns `crossed` and
    `own_tasks` into seed pairs only, and the result says so. `auto` takes the exact engine where its fixed cost
    estimate is under `limit` seconds: the same choice on every machine.

    Args:
        D: integers [S, T]; for `pooled` any shape, each entry being one episode's difference.
        denominator: positive.
        level: in (0, 1), such as Fraction(19, 20).
        engine: exact, monte_carlo or auto.
        scheme: what is resampled.
        resamples: B, for monte_carlo.
        key: needed for monte_carlo.
        method: only `percentile` is offered.
        limit: seconds.

    Raises:
        DecisionError: a method that is refused, a level outside (0, 1), no key, a table that is not integer.
    """
    check_method(method)
    tail = _tail(level)
    table = integers(np.ravel(D)[None, :] if scheme == "pooled" else D, 2)
    positive(denominator)
    actual, note = _identifiable(scheme, table)
    choice = engine
    if choice == "auto":
        choice = "exact" if _cheap(actual, table, limit) else "monte_carlo"
    if choice == "exact":
        lattice = _exact(actual, table, denominator)
        return Percentile(
            level, lattice.quantile(tail), lattice.quantile(1 - tail), "exact", actual, scheme,
            degenerate=lattice.degenerate, note=CONSTANT if lattice.degenerate and note is None else note,
        )  # fmt: skip
    if key is None:
        raise DecisionError(
            "the Monte Carlo engine needs a key",
            expected="a registered seed and the plan's digest",
            next_step="Give `resampling: {seed: ...}` in the plan, or use `engine: exact`.",
        )
    draws = _monte_carlo(actual, table, denominator, resamples, key)
    return from_draws(draws, level, actual, scheme, note)


def from_draws(
    draws: resample.Draws, level: Fraction, scheme: str, asked: str | None = None, note: str | None = None
) -> Percentile:
    """The interval of given draws, such as one of `resample.crossed_batch`.

    Raises:
        DecisionError: a level outside (0, 1).
    """
    tail = _tail(level)
    ends = draws.quantile(tail), draws.quantile(1 - tail)
    sds = draws.mc_sd(tail), draws.mc_sd(1 - tail)
    note = CONSTANT if draws.constant and note is None else note
    return Percentile(
        level, *ends, "monte_carlo", scheme, asked or scheme, draws.resamples, sds, draws.constant, note
    )


def check_method(method: str) -> None:
    """Pass `percentile`, refuse any other interval method by name.

    Raises:
        DecisionError: code `interval-method`.
    """
    reasons = {
        "bca": "its acceleration is 0/0 where nothing varies, and crossed seeds and tasks have no jackknife for it",
        "basic": "its coverage on crossed seeds and tasks has not been measured",
        "studentized": "it divides by a resampled standard error that is 0 on small registers",
    }
    if method != "percentile":
        reason = reasons.get(method.lower().replace("studentised", "studentized"), "it is not known here")
        raise DecisionError(
            f"interval method {method} is refused: {reason}",
            expected="percentile (inverse CDF)",
            next_step="Register `interval: percentile`; the variance-component t interval is shown beside it.",
            code="interval-method",
        )


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
    tail = _tail(level)
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
    total = rows / (seeds * tasks * seeds) + columns / (seeds * tasks * tasks) + cells / (seeds * tasks) ** 2
    unit = Fraction(1, positive(denominator))
    return total * unit * unit


def leave_one_out(D: ArrayLike) -> list[tuple[int, Integers]]:  # noqa: N803
    """(left-out row, the table without it) for every seed pair; empty with one seed pair.

    Raises:
        DecisionError: not a non-empty integer table.
    """
    table = integers(D, 2)
    if len(table) < 2:
        return []
    return [(index, np.delete(table, index, axis=0)) for index in range(len(table))]


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


def _tail(level: Fraction) -> Fraction:
    if not 0 < level < 1:
        raise DecisionError("an interval's level must lie in (0, 1)", found=str(level))
    return (1 - Fraction(level)) / 2


def _identifiable(scheme: str, table: Integers) -> tuple[str, str | None]:
    """The scheme that the table's shape allows, and the label where it is not the one asked for."""
    seeds, tasks = table.shape
    if seeds == 1 and scheme in ("crossed", "seeds_only", "own_tasks"):
        return "tasks_only", ONE_SEED
    if tasks == 1 and scheme in ("crossed", "own_tasks"):
        return "seeds_only", ONE_TASK
    return scheme, ONE_SEED if seeds == 1 and scheme == "tasks_only" else None


def _cheap(scheme: str, table: Integers, limit: float) -> bool:
    if scheme == "crossed":
        return exact.applies(table, limit)
    values = {"seeds_only": table.sum(axis=1), "tasks_only": table.sum(axis=0), "pooled": table.ravel()}
    if scheme in values:
        return exact.applies(values[scheme][None, :], limit)
    return exact.cost(1, table.size, int(np.ptp(table))) * len(table) <= limit


def _exact(scheme: str, table: Integers, denominator: int) -> Lattice:
    if scheme == "pooled":
        return exact.pooled(table.ravel(), denominator)
    if scheme == "own_tasks":
        return exact.own_tasks(list(table), denominator)
    engine = {"crossed": exact.crossed, "seeds_only": exact.seeds_only, "tasks_only": exact.tasks_only}
    return engine[scheme](table, denominator)


def _monte_carlo(
    scheme: str, table: Integers, denominator: int, resamples: int, key: StreamKey
) -> resample.Draws:
    keyed = key.on(key.axis, scheme)
    if scheme == "pooled":
        return resample.pooled(table.ravel(), denominator, resamples, keyed)
    if scheme == "own_tasks":
        return resample.own_tasks(list(table), denominator, resamples, keyed)
    engine = {
        "crossed": resample.crossed,
        "seeds_only": resample.seeds_only,
        "tasks_only": resample.tasks_only,
    }
    return engine[scheme](table, denominator, resamples, keyed)

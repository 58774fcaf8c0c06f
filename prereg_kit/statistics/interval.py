"""Percentile bootstrap intervals of a mean difference, by either engine.

Pure. `D` is an integer table [S seed pairs, T tasks]; a cell's difference is D / denominator. Percentile ends are
inverse-CDF quantiles at (1 - level)/2 and 1 - (1 - level)/2, as fractions.

The bias-corrected bootstrap (BCa) is refused by name. On a register where nothing varies its acceleration is 0/0;
on crossed seeds and tasks there is no single jackknife to take the acceleration from, and with three seeds the
lattice has atoms above 1/27, which a shift of the percentile by fractions of a point cannot correct. Basic and
studentised intervals are refused likewise: nobody has measured their coverage here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from prereg_kit.errors import DecisionError
from prereg_kit.statistics import exact, resample
from prereg_kit.statistics.draws import Draws
from prereg_kit.statistics.exact import integers, positive
from prereg_kit.statistics.lattice import Lattice
from prereg_kit.statistics.mixture import Integers
from prereg_kit.statistics.random_stream import StreamKey
from prereg_kit.statistics.variance import (
    CONSTANT,
    ONE_SEED,
    ONE_TASK,
    VarianceComponents,
    closed_form_variance,
    tail_of,
    variance_component_t,
)

__all__ = [
    "SCHEME_WORDS",
    "Engine",
    "Percentile",
    "Scheme",
    "VarianceComponents",
    "check_method",
    "closed_form_variance",
    "from_draws",
    "leave_one_out",
    "two_sided",
    "variance_component_t",
]

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
    tail = tail_of(level)
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
    draws: Draws, level: Fraction, scheme: str, asked: str | None = None, note: str | None = None
) -> Percentile:
    """The interval of given draws, such as one of `resample.crossed_batch`.

    Raises:
        DecisionError: a level outside (0, 1).
    """
    tail = tail_of(level)
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


def leave_one_out(D: ArrayLike) -> list[tuple[int, Integers]]:  # noqa: N803
    """(left-out row, the table without it) for every seed pair; empty with one seed pair.

    Raises:
        DecisionError: not a non-empty integer table.
    """
    table = integers(D, 2)
    if len(table) < 2:
        return []
    return [(index, np.delete(table, index, axis=0)) for index in range(len(table))]


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


def _monte_carlo(scheme: str, table: Integers, denominator: int, resamples: int, key: StreamKey) -> Draws:
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

"""The luck share: how much of a reward's variance the schedule explains (Proposition 2, Section 4.2).

With w the schedule, sigma_env^2 = Var_w(E[R | w]), sigma_pol^2 = E_w Var(R | w) and
lambda = sigma_env^2 / (sigma_env^2 + sigma_pol^2). It speaks of reward
contrasts, never of the gradient's variance. Where nothing varies lambda is 0/0: it is None, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.conditions import Array


@dataclass(frozen=True)
class RewardVariance:
    """The two variance components of one rollout's reward; both at least 0.

    Attributes:
        env: Var_w(E[R | w]), explained by the schedule.
        pol: E_w Var(R | w), left to the policy's own sampling.
    """

    env: float
    pol: float

    def __post_init__(self) -> None:
        for name, value in (("env", self.env), ("pol", self.pol)):
            if not (np.isfinite(value) and value >= 0):
                raise TheoryError(
                    "not a variance", where=Where(field=name), expected="at least 0", found=value
                )

    @property
    def share(self) -> float | None:
        """The luck share in [0, 1], or None where nothing varies."""
        total = self.env + self.pol
        return self.env / total if total > 0 else None

    def contrast(self, *, shared: bool) -> float:
        """Var(R_i - R_j) of two siblings: 2 sigma_pol^2 shared, 2 (sigma_env^2 + sigma_pol^2) not."""
        return 2.0 * self.pol if shared else 2.0 * (self.env + self.pol)


def grader_flips(success_rate: float, flip_rate: float) -> RewardVariance:
    """Variance components when the schedule flips a success with probability q (Section 4.3).

    E[R | w] is p or 0, so env = q(1-q) p^2 and pol = (1-q) p (1-p); hence lambda = q p / (1 - (1-q) p).

    Args:
        success_rate: the task's true success probability p, in [0, 1].
        flip_rate: q, in [0, 1].
    """
    p = conditions.probability(success_rate, "success rate")
    q = conditions.probability(flip_rate, "flip rate")
    return RewardVariance(env=q * (1 - q) * p * p, pol=(1 - q) * p * (1 - p))


def matching_replicates(share: float) -> float:
    """1/(1 - lambda): independent contrasts that match a paired one's variance; inf at 1."""
    value = conditions.probability(share, "luck share")
    return float("inf") if value == 1.0 else 1.0 / (1.0 - value)


def effective_size_of_mean(size: int, share: float) -> float:
    """G / (1 + (G-1) lambda): how many independent rollouts a paired group is worth for the *mean* reward.

    Between 1 and G: for the unconditional mean pairing is worse, which is the price of better contrasts.
    """
    group = conditions.group_size(size)
    return group / (1.0 + (group - 1.0) * conditions.probability(share, "luck share"))


@dataclass(frozen=True)
class LuckTable:
    """One-way random effects on a table of rewards, schedules by policy samples (Section 5.2).

    Attributes:
        schedules: K, rows.
        samples: M, policy samples per schedule.
        mean: mean reward.
        ms_between: M times the variance of the row means, K - 1 degrees of freedom.
        ms_within: mean within-row variance, K(M-1) degrees of freedom.
        unclipped_env: (ms_between - ms_within) / M, which may be negative.
    """

    schedules: int
    samples: int
    mean: float
    ms_between: float
    ms_within: float

    @property
    def unclipped_env(self) -> float:
        """(MSB - MSW)/M; negative where chance made the schedules look more alike than samples are."""
        return (self.ms_between - self.ms_within) / self.samples

    @property
    def clipped(self) -> bool:
        """True where the environment's component was negative and is reported as 0."""
        return self.unclipped_env < 0

    @property
    def variance(self) -> RewardVariance:
        """sigma_env^2 = max(0, (MSB - MSW)/M), sigma_pol^2 = MSW."""
        return RewardVariance(env=max(0.0, self.unclipped_env), pol=self.ms_within)

    @property
    def share(self) -> float | None:
        """The luck share, or None where every reward of the table is the same."""
        return self.variance.share


def luck_table(rewards: npt.ArrayLike) -> LuckTable:
    """Analysis of variance of one table.

    Args:
        rewards: shape (K, M), K >= 2 schedules, M >= 2 policy samples under each, finite.

    Raises:
        TheoryError: fewer than two rows or columns, or a reward that is not finite.
    """
    table = conditions.numbers(rewards, "rewards", 2)
    schedules, samples = table.shape
    if schedules < 2 or samples < 2:
        raise TheoryError(
            "a luck table needs two schedules and two samples under each",
            where=Where(field="rewards"),
            expected="shape (K >= 2, M >= 2)",
            found=table.shape,
        )
    between, within = _mean_squares(table)
    return LuckTable(schedules, samples, float(table.mean()), between, within)


def _mean_squares(table: Array) -> tuple[float, float]:
    schedules, samples = table.shape
    if (table == np.rint(table)).all() and np.abs(table).max() <= 1 << 16:
        # Whole rewards: integers up to one rounded division, so that MSB = MSW is a tie and not a coin toss.
        cells = table.astype(np.int64)
        total, sums, squares = int(cells.sum()), cells.sum(axis=1), int((cells * cells).sum())
        row_squares = int((sums * sums).sum())
        between = (schedules * row_squares - total * total) / (schedules * samples * (schedules - 1))
        return between, (samples * squares - row_squares) / (samples * schedules * (samples - 1))
    means = _means(table)
    within = ((table - means[:, None]) ** 2).sum() / (schedules * (samples - 1))
    between = samples * ((means - _means(means[None, :])) ** 2).sum() / (schedules - 1)
    return float(between), float(within)


def _means(rows: Array) -> Array:
    # A constant row has its value for mean, to the bit: else rounding makes a constant table look defined.
    same = (rows == rows[:, :1]).all(axis=1)
    return np.where(same, rows[:, 0], rows.mean(axis=1))


@dataclass(frozen=True)
class MeanLuck:
    """Luck share averaged over the tables where it is defined; the others are counted, not imputed."""

    share: float | None
    shares: tuple[float | None, ...]

    @property
    def defined(self) -> int:
        """Tables with some reward variance."""
        return sum(share is not None for share in self.shares)

    @property
    def undefined(self) -> int:
        """Tables without any."""
        return len(self.shares) - self.defined


def mean_luck(tables: Iterable[npt.ArrayLike]) -> MeanLuck:
    """The mean luck share of several tables (one per task), undefined ones left out and counted.

    Raises:
        TheoryError: no table at all, or one that `luck_table` refuses.
    """
    shares = tuple(luck_table(table).share for table in tables)
    if not shares:
        raise TheoryError(
            "no luck table", where=Where(field="tables"), expected="at least one table", found=0
        )
    defined = [share for share in shares if share is not None]
    return MeanLuck(float(np.mean(defined)) if defined else None, shares)

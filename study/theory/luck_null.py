"""What the luck-share estimator reports when the truth is known, its null bias above all (Section 5.2).

The estimator clips a negative environment component at zero, so that it averages above zero when schedules do
nothing. Binary rewards: a table enters only through its row sums, and lambda-hat only through their sum and
sum of squares, so a small dynamic programme gives the exact law. Normal rewards: MSB/MSW has an F law,
hence one integral. Anything else: simulation with a passed generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.conditions import Array
from study.theory.designs import binomial
from study.theory.luck import RewardVariance, luck_table

MOST_CELLS = 1024


@dataclass(frozen=True)
class Expected:
    """The estimator on average.

    Attributes:
        mean: E[lambda-hat | defined], or None where it is never defined.
        undefined: P(every reward of the table is the same).
        clipped: P(the environment's component was negative | defined).
        truth: the true lambda, None where nothing varies or it is not known.
        error: Monte Carlo standard error of `mean`; 0 where it is exact.
    """

    mean: float | None
    undefined: float
    clipped: float
    truth: float | None
    error: float = 0.0

    @property
    def bias(self) -> float | None:
        """Mean minus truth; under the null simply the mean."""
        return None if self.mean is None or self.truth is None else self.mean - self.truth


def binary(
    success_rates: npt.ArrayLike, schedules: int, samples: int, law: npt.ArrayLike | None = None
) -> Expected:
    """Exact expectation for binary rewards: schedule w succeeds at rate p_w, drawn from a finite law.

    One rate is the null: schedules do nothing and the mean is the clipping bias.

    Args:
        success_rates: the possible p_w, shape (n,).
        schedules: K >= 2 rows.
        samples: M >= 2 policy samples per schedule; K M at most 1024.
        law: their probabilities, shape (n,); equal unless given.

    Raises:
        TheoryError: a probability outside [0, 1], a law that does not sum to one, or a table too large.
    """
    rates = conditions.probabilities(np.atleast_1d(np.asarray(success_rates)), "success rates")
    weights = np.full(rates.size, 1.0 / max(1, rates.size)) if law is None else law
    chances = conditions.distribution(weights, "law", rates.size)
    rows = conditions.whole(schedules, "schedules", 2)
    columns = conditions.whole(samples, "samples", 2)
    if rows * columns > MOST_CELLS:
        raise TheoryError(
            "a table too large for the exact law",
            where=Where(field="schedules x samples"),
            expected=f"at most {MOST_CELLS} cells",
            found=rows * columns,
            next_step="Use luck_null.simulated.",
        )
    row = chances @ np.stack([binomial(columns, rate) for rate in rates])
    joint = _sums_and_squares(row, rows, columns)
    total, squares = np.nonzero(joint)
    mass = joint[total, squares]
    # Integers until the last step: SSB and SSW are these over K M and M.
    between = (rows * squares - total * total).astype(float) / (rows * columns * (rows - 1.0))
    within = (columns * total - squares).astype(float) / (columns * rows * (columns - 1.0))
    env = np.maximum(0.0, (between - within) / columns)
    defined = (between > 0) | (within > 0)
    share = np.divide(env, env + within, out=np.zeros_like(env), where=defined)
    known = float(mass[defined].sum())
    mean_rate = float(chances @ rates)
    truth = RewardVariance(
        env=float(chances @ (rates - mean_rate) ** 2) if rates.size > 1 else 0.0,
        pol=float(chances @ (rates * (1.0 - rates))),
    ).share
    return Expected(
        float(mass[defined] @ share[defined]) / known if known > 0 else None,
        float(mass[~defined].sum()),
        float(mass[defined & (between < within)].sum()) / known if known > 0 else 0.0,
        truth,
    )


def _sums_and_squares(row: Array, rows: int, columns: int) -> Array:
    """P(sum of row sums = a, sum of their squares = b), shape (K M + 1, K M^2 + 1)."""
    joint = np.zeros((rows * columns + 1, rows * columns * columns + 1))
    joint[0, 0] = 1.0
    for done in range(rows):
        top, high = done * columns + 1, done * columns * columns + 1
        after = np.zeros_like(joint)
        for value, chance in enumerate(row):
            if chance > 0:
                after[value : value + top, value * value : value * value + high] += (
                    chance * joint[:top, :high]
                )
        joint = after
    return joint


def normal(schedules: int, samples: int, nodes: int = 128) -> Expected:
    """The null expectation for normal rewards: B = SSB/(SSB + SSW) ~ Beta((K-1)/2, K(M-1)/2).

    Args:
        schedules: K >= 2.
        samples: M >= 2.
        nodes: Gauss-Legendre nodes on the part of [0, 1] where nothing is clipped.
    """
    rows = conditions.whole(schedules, "schedules", 2)
    columns = conditions.whole(samples, "samples", 2)
    first, second = (rows - 1) / 2.0, rows * (columns - 1) / 2.0
    edge = (rows - 1.0) / (rows * columns - 1.0)  # B where MSB = MSW
    # u = sqrt(1 - B) turns (1-B)^(second-1) dB into 2 u^(2 second - 1) du: a whole power, so no singularity.
    points, weights = np.polynomial.legendre.leggauss(conditions.whole(nodes, "nodes", 8))
    most = math.sqrt(1.0 - edge)
    u = most * (points + 1.0) / 2.0
    share_b = 1.0 - u * u
    log_density = (
        (first - 1.0) * np.log(share_b) + (2.0 * second - 1.0) * np.log(u) - _log_beta(first, second)
    )
    density = np.exp(log_density) * most
    between, within = share_b / (rows - 1.0), (1.0 - share_b) / (rows * (columns - 1.0))
    env = (between - within) / columns
    beyond = float(weights @ density)
    mean = float(weights @ (density * env / (env + within)))
    return Expected(mean, 0.0, 1.0 - beyond, 0.0)


def _log_beta(first: float, second: float) -> float:
    return math.lgamma(first) + math.lgamma(second) - math.lgamma(first + second)


Sampler = Callable[[np.random.Generator, int, int], npt.ArrayLike]


def simulated(
    sampler: Sampler,
    schedules: int,
    samples: int,
    *,
    tables: int,
    rng: np.random.Generator,
    truth: float | None = None,
) -> Expected:
    """The estimator's average over simulated tables, for rewards that have no closed form.

    Args:
        sampler: (rng, K, M) -> rewards of shape (K, M).
        schedules: K >= 2.
        samples: M >= 2.
        tables: how many to draw, at least 2.
        rng: the only source of chance.
        truth: the true lambda, if known.

    Returns:
        The mean with its Monte Carlo standard error.
    """
    count = conditions.whole(tables, "tables", 2)
    results = [luck_table(sampler(rng, schedules, samples)) for _ in range(count)]
    shares = np.array([table.share for table in results if table.share is not None])
    clipped = sum(table.clipped for table in results if table.share is not None)
    error = float(shares.std(ddof=1) / math.sqrt(shares.size)) if shares.size > 1 else math.inf
    return Expected(
        float(shares.mean()) if shares.size else None,
        1.0 - shares.size / count,
        clipped / shares.size if shares.size else 0.0,
        truth,
        error,
    )

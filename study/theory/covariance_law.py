"""The general law: whatever the reward noise, Tr Var(g | S) = tr(Kc Cov R) / D^2.

For mean-centred advantages g = (1/D) S'H R is linear in the rewards, so only their mean and covariance
given the scores matter: two-sided flips, graded rewards, rates that differ by rollout, partly shared noise.
Kc = H K H with K = S S' (or diag(w) K diag(w)) and H = I - 11'/G. Eq. 5 is the case Cov R = q(1-q) diag(r)
against q(1-q) r r'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.closed_forms import Moments
from study.theory.conditions import Array


@dataclass(frozen=True)
class Noise:
    """Observed rewards of one group, given its clean trajectories: their mean (G,) and covariance (G, G)."""

    mean: Array
    covariance: Array


def centred_gram(gram: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Array:
    """Kc = H diag(w) K diag(w) H, shape (G, G): inner products of the centred, weighted rows."""
    products = conditions.gram(gram)
    factors = conditions.weights(weights, products.shape[0])
    if factors is not None:
        products = products * np.outer(factors, factors)
    rows = products - products.mean(axis=0)
    centred: Array = rows - rows.mean(axis=1, keepdims=True)
    return centred


def moments(
    gram: npt.ArrayLike,
    noise: Noise,
    weights: npt.ArrayLike | None = None,
    divisor: float | None = None,
) -> Moments:
    """Moments of the mean-centred gradient given the scores; exact for any noise with these two moments.

    Args:
        gram: K = S S', shape (G, G).
        noise: mean and covariance of the rewards given the scores.
        weights: importance weights, shape (G,), or None.
        divisor: D; None for G.

    Raises:
        TheoryError: shapes that do not match, or a matrix that is no covariance.
    """
    kernel = centred_gram(gram, weights)
    size = kernel.shape[0]
    mean = conditions.numbers(noise.mean, "mean rewards", 1)
    if mean.shape != (size,):
        raise TheoryError(
            "does not match the scores",
            where=Where(field="mean rewards"),
            expected=f"{size} values",
            found=mean.shape,
        )
    spread = conditions.covariance(noise.covariance, size)
    scale = conditions.divisor(divisor, size) ** 2
    trace = max(0.0, float((kernel * spread).sum()) / scale)
    mean_square = max(0.0, float(mean @ kernel @ mean) / scale)
    return Moments(mean_square + trace, mean_square, trace)


def switched(
    base: npt.ArrayLike,
    jump: npt.ArrayLike,
    rates: npt.ArrayLike,
    sharing: npt.ArrayLike = 0.0,
    labels: npt.ArrayLike | None = None,
) -> Noise:
    """Rewards that jump: R_i = base_i + jump_i F_i, F_i ~ Bernoulli(q_i).

    Each rollout takes the shared uniform draw of its block with probability s_i and its own otherwise, and
    flips where its draw is below q_i; hence Cov(F_i, F_j) = s_i s_j (min(q_i, q_j) - q_i q_j) within a
    block, 0 across. A group that tosses one coin of probability s for "all share" has the covariance of s_i
    = sqrt(s).

    Args:
        base: rewards without a flip, shape (G,): true successes, or graded rewards.
        jump: what a flip adds, shape (G,): -r_i one-sided, 1 - 2 r_i two-sided, -base_i for "graded as zero".
        rates: q_i, shape (G,).
        sharing: s_i in [0, 1], one number or shape (G,): 0 independent, 1 paired.
        labels: block of each rollout, shape (G,), whole numbers; None for one block.

    Raises:
        TheoryError: shapes that do not match, or a probability outside [0, 1].
    """
    start = conditions.numbers(base, "base", 1)
    size = conditions.group_size(start.size)
    step = conditions.numbers(jump, "jump", 1)
    if step.shape != (size,):
        raise TheoryError(
            "does not match the rewards",
            where=Where(field="jump"),
            expected=f"{size} values",
            found=step.shape,
        )
    chance = conditions.probabilities(rates, "rates", size)
    share = conditions.probabilities(np.broadcast_to(np.asarray(sharing), (size,)), "sharing", size)
    joint = np.minimum.outer(chance, chance) - np.outer(chance, chance)
    joint = joint * np.outer(share, share) * _same_block(labels, size)
    np.fill_diagonal(joint, chance * (1.0 - chance))
    return Noise(start + step * chance, joint * np.outer(step, step))


def one_sided(successes: npt.ArrayLike, flip_rate: float, sharing: float = 0.0) -> Noise:
    """The paper's grader: a success is observed with probability 1 - q, a failure always as 0 (Section 4.3)."""
    outcome = _binary(successes)
    return switched(outcome, -outcome, np.full(outcome.size, float(flip_rate)), sharing)


def two_sided(successes: npt.ArrayLike, miss_rate: float, false_rate: float, sharing: float = 0.0) -> Noise:
    """A grader that also passes failures: q = miss_rate on successes, false_rate on failures.

    With one shared uniform the rarer flip happens only where the commoner one does.
    """
    outcome = _binary(successes)
    rates = np.where(outcome == 1.0, miss_rate, false_rate)
    return switched(outcome, 1.0 - 2.0 * outcome, rates, sharing)


def additive(base: npt.ArrayLike, deviations: npt.ArrayLike, correlation: float = 0.0) -> Noise:
    """Graded rewards with additive noise: R_i = base_i + sd_i e_i, Corr(e_i, e_j) = correlation.

    Args:
        base: shape (G,).
        deviations: sd_i at least 0, shape (G,).
        correlation: in [-1/(G-1), 1]: below that no G exchangeable errors exist.

    Raises:
        TheoryError: shapes that do not match, a negative deviation, or an impossible correlation.
    """
    start = conditions.numbers(base, "base", 1)
    size = conditions.group_size(start.size)
    spread = conditions.numbers(deviations, "deviations", 1)
    if spread.shape != (size,) or (spread < 0).any():
        raise TheoryError(
            "not standard deviations",
            where=Where(field="deviations"),
            expected=f"{size} values >= 0",
            found=deviations,
        )
    if not -1.0 / (size - 1) - 1e-12 <= correlation <= 1.0:
        raise TheoryError(
            "an impossible correlation",
            where=Where(field="correlation"),
            expected=f"a number in [{-1.0 / (size - 1)!r}, 1]",
            found=correlation,
        )
    pattern = np.full((size, size), float(correlation))
    np.fill_diagonal(pattern, 1.0)
    return Noise(start, pattern * np.outer(spread, spread))


def _binary(successes: npt.ArrayLike) -> Array:
    values = conditions.numbers(successes, "successes", 1)
    return conditions.successes(values, conditions.group_size(values.size))


def _same_block(labels: npt.ArrayLike | None, size: int) -> npt.NDArray[np.bool_]:
    if labels is None:
        return np.ones((size, size), dtype=bool)
    block = conditions.numbers(labels, "labels", 1)
    if block.shape != (size,):
        raise TheoryError(
            "does not match the rewards",
            where=Where(field="labels"),
            expected=f"{size} labels",
            found=block.shape,
        )
    same: npt.NDArray[np.bool_] = np.equal.outer(block, block)
    return same

"""The oracle: every corruption mask and every action tuple, one by one, straight from the definitions.

Nothing here uses a closed form of this package: rewards are corrupted, advantages recomputed by the rule
itself, gradients summed from the scores. Costs grow as 2^k, 2^G or (states)^G, so sizes are limited; the
closed forms have no such limit and are tested against this.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.advantages import MeanCentred, Rule
from study.theory.closed_forms import Moments
from study.theory.conditions import Array
from study.theory.designs import Design, Independent, Paired

MOST_BITS = 20
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Enumerated(Moments):
    """Moments by enumeration; `mean` is E g, shape (d,)."""

    mean: Array


def masks(successes: npt.ArrayLike, flip_rate: float, design: Design) -> Iterator[tuple[Array, Array]]:
    """Every reward vector that the flips can make, in chunks of (rewards (n, G), probabilities (n,)).

    Independent: 2^k masks over the successes with probability (1-q)^kept q^flipped. Paired: two. Any other
    exchangeable design: all 2^G flip patterns, each with P(N = n) / C(G, n).

    Raises:
        TheoryError: more than 2^20 masks.
    """
    outcome = conditions.numbers(successes, "successes", 1)
    size = conditions.group_size(outcome.size)
    outcome = conditions.successes(outcome, size)
    rate = conditions.probability(flip_rate, "flip rate")
    if isinstance(design, Paired):
        yield np.stack([outcome, np.zeros(size)]), np.array([1.0 - rate, rate])
        return
    places = np.flatnonzero(outcome) if isinstance(design, Independent) else np.arange(size)
    if places.size > MOST_BITS:
        raise TheoryError(
            "too many masks to enumerate",
            where=Where(field="successes"),
            expected=f"at most {MOST_BITS} bits",
            found=int(places.size),
            next_step="Use study.theory.closed_forms, which has no limit.",
        )
    if isinstance(design, Independent):
        by_count = np.array([rate**n * (1.0 - rate) ** (places.size - n) for n in range(places.size + 1)])
    else:
        by_count = design.flipped(size, rate) / np.array([math.comb(size, n) for n in range(size + 1)])
    for start in range(0, 1 << places.size, _CHUNK):
        codes = np.arange(start, min(start + _CHUNK, 1 << places.size))
        flips = (codes[:, None] >> np.arange(places.size)) & 1
        rewards = np.tile(outcome, (codes.size, 1))
        rewards[:, places] *= 1 - flips
        yield rewards, by_count[flips.sum(axis=1)]


def flip_moments(
    scores: npt.ArrayLike,
    successes: npt.ArrayLike,
    flip_rate: float,
    design: Design,
    rule: Rule | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    divisor: float | None = None,
) -> Enumerated:
    """Moments of g = (1/D) sum A_i w_i S_i over every mask.

    Args:
        scores: S, shape (G, d).
        successes: r, shape (G,), zeros and ones.
        flip_rate: q in [0, 1].
        design: how flips are coupled.
        rule: the advantage rule; mean-centred unless given.
        weights: importance weights, shape (G,), or None.
        divisor: D; None for G.

    Raises:
        TheoryError: shapes that do not match, values outside their range, or too many masks.
    """
    rows = conditions.scores(scores)
    size = rows.shape[0]
    outcome = conditions.successes(successes, size)
    factors = conditions.weights(weights, size)
    chosen = rule if rule is not None else MeanCentred()
    weighted = rows if factors is None else rows * factors[:, None]
    weighted = weighted / conditions.divisor(divisor, size)
    mean = np.zeros(rows.shape[1])
    for rewards, law in masks(outcome, flip_rate, design):
        mean += law @ (chosen.advantages(rewards) @ weighted)
    second = trace = 0.0
    for rewards, law in masks(outcome, flip_rate, design):
        gradients = chosen.advantages(rewards) @ weighted
        second += float(law @ (gradients**2).sum(axis=1))
        trace += float(law @ ((gradients - mean) ** 2).sum(axis=1))
    return Enumerated(second, float(mean @ mean), trace, mean)


@dataclass(frozen=True)
class World:
    """A one-step environment small enough to enumerate: schedules w, actions a, rewards, a policy pi(a | w).

    The schedule may change the observation, hence the policy's row and its scores; scores differentiate the
    policy alone, so each row of scores has mean zero under its policy (the property that Proposition 1
    rests on).

    Attributes:
        schedule_law: P(w), shape (W,).
        policy: pi(a | w), shape (W, A).
        scores: grad log pi(a | w), shape (W, A, d).
        rewards: R(w, a), shape (W, A).
    """

    schedule_law: Array
    policy: Array
    scores: Array
    rewards: Array

    def __post_init__(self) -> None:
        law = conditions.distribution(self.schedule_law, "schedule law")
        policy = conditions.numbers(self.policy, "policy", 2)
        scores = conditions.numbers(self.scores, "scores", 3)
        rewards = conditions.numbers(self.rewards, "rewards", 2)
        shape = (law.size, policy.shape[1])
        if policy.shape != shape or scores.shape[:2] != shape or rewards.shape != shape:
            raise TheoryError(
                "shapes do not match",
                where=Where(field="world"),
                expected=f"policy and rewards {shape}, scores {shape} by d",
                found=(policy.shape, rewards.shape, scores.shape),
            )
        for row in policy:
            conditions.distribution(row, "policy")
        drift = float(np.abs(np.einsum("wa,wad->wd", policy, scores)).max())
        if drift > 1e-9 * max(1.0, float(np.abs(scores).max())):
            raise TheoryError(
                "the scores are not those of the policy",
                where=Where(field="scores"),
                expected="mean zero under each schedule's policy",
                found=drift,
            )

    def gradient(self) -> Array:
        """Grad J = E[R S], shape (d,)."""
        gradient: Array = np.einsum(
            "w,wa,wa,wad->d", self.schedule_law, self.policy, self.rewards, self.scores
        )
        return gradient

    def group(self, size: int, blocks: list[list[int]], rule: Rule) -> tuple[Enumerated, float]:
        """Moments of one group's gradient and the mean of Var(R_i - R_j) over pairs, by full enumeration.

        Args:
            size: G >= 2.
            blocks: a partition of 0..G-1; members of a block share a schedule. [[0], [1], ...] is
                independent, [[0, 1, ...]] is paired.
            rule: the advantage rule.

        Raises:
            TheoryError: not a partition, or more than 2^22 combinations.
        """
        group = conditions.group_size(size)
        if sorted(member for block in blocks for member in block) != list(range(group)):
            raise TheoryError(
                "not a partition",
                where=Where(field="blocks"),
                expected=f"0..{group - 1} once each",
                found=blocks,
            )
        schedules, actions = self.policy.shape
        if len(blocks) * math.log2(schedules) + group * math.log2(actions) > 22:
            raise TheoryError(
                "too many combinations",
                where=Where(field="size"),
                expected="at most 2^22",
                found=(group, len(blocks)),
            )
        owner = np.empty(group, dtype=np.intp)
        for index, block in enumerate(blocks):
            owner[block] = index
        taken = np.array(list(itertools.product(range(actions), repeat=group)))
        places = np.arange(group)
        laws, gradients, observed = [], [], []
        for draw in itertools.product(range(schedules), repeat=len(blocks)):
            seen = np.array(draw)[owner]
            rewards = self.rewards[seen, taken]
            chance = float(np.prod(self.schedule_law[list(draw)]))
            laws.append(chance * self.policy[seen, taken].prod(axis=1))
            rows = self.scores[seen[places], taken]
            gradients.append(np.einsum("ng,ngd->nd", rule.advantages(rewards), rows) / group)
            observed.append(rewards)
        law, gradient, reward = np.concatenate(laws), np.concatenate(gradients), np.concatenate(observed)
        mean = law @ gradient
        moments = Enumerated(
            float(law @ (gradient**2).sum(axis=1)),
            float(mean @ mean),
            float(law @ ((gradient - mean) ** 2).sum(axis=1)),
            mean,
        )
        contrasts = []
        for i, j in itertools.combinations(range(group), 2):
            difference = reward[:, i] - reward[:, j]
            contrasts.append(float(law @ (difference - law @ difference) ** 2))
        return moments, float(np.mean(contrasts))

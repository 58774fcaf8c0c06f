"""How the grader's flips of one group are coupled: each exchangeable design is a law of the number flipped.

A design couples G flips, each of probability q, without looking at the outcomes. If it treats rollouts
alike, it is fully described by the law of N, how many of the G flip; which ones is then uniform.
Independent schedules make N binomial, one shared schedule makes it 0 or G, blocks a multiple of the block
size, and the balanced design keeps it within one of Gq. Of k true successes, M are kept: given N, k - M is
hypergeometric.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.conditions import Array


def binomial(trials: int, chance: float) -> Array:
    """The law of Bin(n, p), shape (n+1,); one-hot at p = 0 and p = 1, no overflow at any n."""
    law = np.zeros(trials + 1)
    if chance in (0.0, 1.0) or trials == 0:
        law[trials if chance == 1.0 else 0] = 1.0
        return law
    mode = min(trials, int((trials + 1) * chance))
    counts = np.arange(trials)
    odds = (trials - counts) / (counts + 1.0) * (chance / (1.0 - chance))
    law[mode] = 1.0
    law[mode + 1 :] = np.cumprod(odds[mode:])
    law[:mode] = np.cumprod(1.0 / odds[:mode][::-1])[::-1]
    law /= law.sum()
    return law


def hypergeometric(size: int, marked: int, drawn: int) -> Array:
    """P(j of the `marked` are among `drawn` of `size`), shape (marked+1,); exact integers inside."""
    total = math.comb(size, drawn)
    unmarked = size - marked
    law = np.zeros(marked + 1)
    for both in range(max(0, drawn - unmarked), min(marked, drawn) + 1):
        law[both] = math.comb(marked, both) * math.comb(unmarked, drawn - both) / total
    return law


class Design(ABC):
    """An exchangeable coupling of the flips of one group: a subclass gives `flipped`, and `sample` follows from it."""

    name: str

    @abstractmethod
    def flipped(self, size: int, flip_rate: float) -> Array:
        """P(N = 0), ..., P(N = G), shape (G+1,), with E N = G q."""

    def kept(self, successes: int, size: int, flip_rate: float) -> Array:
        """P(M = 0), ..., P(M = k): how many of k true successes are observed as such; shape (k+1,)."""
        law = np.zeros(successes + 1)
        for count, mass in enumerate(self.flipped(size, flip_rate)):
            if mass > 0:
                law += mass * hypergeometric(size, successes, count)[::-1]
        return law

    def pair_covariance(self, size: int, flip_rate: float) -> float:
        """Cov(F_i, F_j), i != j: E N(N-1) / (G(G-1)) - q^2; 0 independent, q(1-q) paired."""
        count = np.arange(size + 1.0)
        pairs = float(self.flipped(size, flip_rate) @ (count * (count - 1.0)))
        return pairs / (size * (size - 1)) - flip_rate * flip_rate

    def sample(
        self, size: int, flip_rate: float, groups: int, rng: np.random.Generator
    ) -> npt.NDArray[np.bool_]:
        """Flips of `groups` groups, shape (groups, G): N from its law, then a uniform choice of which."""
        law = self.flipped(conditions.group_size(size), conditions.probability(flip_rate, "flip rate"))
        counts = rng.choice(size + 1, size=groups, p=law / law.sum())
        ranks = rng.random((groups, size)).argsort(axis=1).argsort(axis=1)
        flips: npt.NDArray[np.bool_] = ranks < counts[:, None]
        return flips


@dataclass(frozen=True)
class Independent(Design):
    """One schedule per rollout: N ~ Bin(G, q)."""

    name: str = "independent"

    def flipped(self, size: int, flip_rate: float) -> Array:
        """Binomial(G, q)."""
        return binomial(size, flip_rate)

    def kept(self, successes: int, size: int, flip_rate: float) -> Array:
        """Binomial(k, 1 - q), without the detour through N."""
        return binomial(successes, flip_rate)[::-1]

    def pair_covariance(self, size: int, flip_rate: float) -> float:
        """Exactly 0."""
        return 0.0


@dataclass(frozen=True)
class Paired(Design):
    """One schedule for the group: nobody flips, or everybody does."""

    name: str = "paired"

    def flipped(self, size: int, flip_rate: float) -> Array:
        """1 - q at 0, q at G."""
        law = np.zeros(size + 1)
        law[0], law[size] = 1.0 - flip_rate, flip_rate
        return law

    def kept(self, successes: int, size: int, flip_rate: float) -> Array:
        """1 - q at k, q at 0 (all of it at 0 when k = 0)."""
        law = np.zeros(successes + 1)
        law[successes] = 1.0 - flip_rate
        law[0] += flip_rate
        return law

    def pair_covariance(self, size: int, flip_rate: float) -> float:
        """q(1-q)."""
        return flip_rate * (1.0 - flip_rate)


@dataclass(frozen=True)
class Blocks(Design):
    """Partial pairing: blocks of c rollouts share a schedule; which rollouts share is drawn afresh per group.

    c = 1 is independent, c = G paired. For a partition that is fixed instead, see `covariance_law`.
    """

    block: int
    name: str = "blocks"

    def __post_init__(self) -> None:
        conditions.whole(self.block, "block", 1)

    def flipped(self, size: int, flip_rate: float) -> Array:
        """C times Bin(G/c, q).

        Raises:
            TheoryError: c does not divide G.
        """
        if size % self.block:
            raise TheoryError(
                "blocks of unequal size",
                where=Where(field="block"),
                expected=f"a divisor of {size}",
                found=self.block,
            )
        law = np.zeros(size + 1)
        law[:: self.block] = binomial(size // self.block, flip_rate)
        return law


@dataclass(frozen=True)
class Balanced(Design):
    """Antithetic flips: N is Gq rounded down or up, so one rollout's flip makes a sibling's less likely.

    One shared uniform U and a random order give it: rollout at place j flips when frac(U + j/G) < q.
    """

    name: str = "balanced"

    def flipped(self, size: int, flip_rate: float) -> Array:
        """Two neighbouring counts with mean G q: the smallest variance of N that there is."""
        law = np.zeros(size + 1)
        below = min(size, math.floor(size * flip_rate))
        excess = size * flip_rate - below
        law[below] = 1.0 - excess
        if excess > 0:
            law[below + 1] = excess
        return law


@dataclass(frozen=True)
class PartlyShared(Design):
    """With probability `share` the whole group uses one schedule, otherwise each rollout its own."""

    share: float
    name: str = "partly shared"

    def __post_init__(self) -> None:
        conditions.probability(self.share, "share")

    def flipped(self, size: int, flip_rate: float) -> Array:
        """The mixture of the paired and the independent law."""
        paired = Paired().flipped(size, flip_rate)
        return self.share * paired + (1.0 - self.share) * Independent().flipped(size, flip_rate)


@dataclass(frozen=True)
class Exchangeable(Design):
    """Any exchangeable design, by the law of N itself: `law` has G+1 probabilities with mean G q."""

    law: tuple[float, ...]
    name: str = field(default="exchangeable")

    def flipped(self, size: int, flip_rate: float) -> Array:
        """The given law.

        Raises:
            TheoryError: it is for another G, or flips at another rate.
        """
        law = conditions.distribution(self.law, "law", size + 1)
        mean = float(law @ np.arange(size + 1.0))
        if abs(mean - size * flip_rate) > 1e-9 * size:
            raise TheoryError(
                "flips at another rate",
                where=Where(field="law"),
                expected=f"mean {size * flip_rate!r}",
                found=mean,
            )
        return law

"""Seed pairs that have not been run yet: differences drawn from a stated model, for rules judged before data.

Pure. The model is the plainest that reproduces what planners compute by hand: seed pair s has the difference

    d_s = effect + seed_sd * z_s + noise_sd * w,   z_s and w standard normal and independent

with seed_sd the between-seed standard deviation of an endpoint that has no task noise, and w, common to all seed
pairs, what the finite set of tasks adds (noise_sd 0 unless it is given). Draws come from the project's own
stream, one axis for each seed pair, so a study of 3 seed pairs is the beginning of one of 5, and the same
numbers serve every effect and every sd: differences between cells of a table are not sampling noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.exact import multisets
from prereg_kit.statistics.mixture import Floats
from prereg_kit.statistics.random_stream import Stream, StreamKey

SCHEME = "characteristics"
_ALL_MULTISETS = 7  # 1,716 multisets; beyond, a fixed sample of them
_SAMPLED = 1000


@dataclass(frozen=True)
class Known:
    """What is already known of one seed pair when the plan is frozen.

    Either its `difference`, or one arm's `value`. With a `baseline` (expected value of the reference arm) the
    other arm is drawn about its expectation, with the sd of a single arm, seed_sd / sqrt(2). Without one, a
    single arm's value says nothing about the difference (flat knowledge of the baseline) and the seed pair is
    drawn like any other.

    Raises:
        DecisionError: neither or both of difference and value; a value without its arm.
    """

    difference: float | None = None
    value: float | None = None
    arm: Literal["treatment", "reference"] | None = None
    baseline: float | None = None

    def __post_init__(self) -> None:
        if (self.difference is None) == (self.value is None):
            raise DecisionError("a known run has either a difference or one arm's value", found=self)
        if self.value is not None and self.arm is None:
            raise DecisionError("a known value needs its arm", expected="treatment or reference")

    def draw(self, effect: float, seed_sd: float, deviate: Floats) -> Floats:
        """Differences of this seed pair, [n], from standard normal deviates [n]."""
        if self.difference is not None:
            return np.full(len(deviate), self.difference)
        if self.baseline is None or self.value is None:
            return np.asarray(effect + seed_sd * deviate)
        arm_sd = seed_sd / math.sqrt(2)
        if self.arm == "treatment":
            return np.asarray(self.value - self.baseline - arm_sd * deviate)
        return np.asarray(self.baseline + effect + arm_sd * deviate - self.value)


@lru_cache(maxsize=16)
def deviates(key: StreamKey, count: int, seeds: int, name: str = "") -> Floats:
    """Standard normal numbers [count, seeds]; column s does not depend on how many there are.

    Antithetic: the second half is the first with the sign turned, so a rule that rises with the differences is
    known better than its sampling error says.
    """
    half = -(-count // 2)
    columns = [
        Stream(key.on(f"{name} seed pair {place}".strip(), SCHEME), 0).normal(half) for place in range(seeds)
    ]
    normal = np.column_stack(columns)
    both = np.concatenate([normal, -normal])[:count]
    both.flags.writeable = False  # several rules share it
    return both


@lru_cache(maxsize=128)
def standard_ends(key: StreamKey, count: int, seeds: int, level: Fraction) -> tuple[Floats, Floats]:
    """Ends of the two-sided interval over resampled pairs for `deviates`, [count] each.

    A study with another mean and sd has the same ends, moved and stretched: they are sorted out once for all cells.
    """
    tail = (1 - level) / 2
    half = -(-count // 2)
    first = seed_quantiles(deviates(key, count, seeds)[:half], (tail, 1 - tail), mirrored=True)
    lower, upper = (np.concatenate(first[place : place + 2])[:count] for place in (0, 2))
    return lower, upper


def simulate_differences(
    key: StreamKey,
    count: int,
    seeds: int,
    effect: float,
    seed_sd: float,
    *,
    noise_sd: float = 0.0,
    known: Sequence[Known] = (),
    drawn: Floats | None = None,
) -> Floats:
    """Differences of `count` studies of `seeds` seed pairs, float64 [count, seeds].

    Args:
        key: seed and plan digest; the scheme is `characteristics`.
        count: number of simulated studies, >= 1.
        seeds: seed pairs of each, >= 1.
        effect: true mean difference.
        seed_sd: between-seed sd of a difference, >= 0.
        noise_sd: sd of what all seed pairs share because the tasks are a sample, >= 0.
        known: what is known of the first seed pairs.
        drawn: `deviates(key, count, seeds)` if it is at hand.

    Raises:
        DecisionError: more known seed pairs than there are, or a negative sd.
    """
    if len(known) > seeds:
        raise DecisionError(
            "more known seed pairs than planned ones", expected=f"at most {seeds}", found=len(known)
        )
    if seed_sd < 0 or noise_sd < 0:
        raise DecisionError("a standard deviation must not be negative", found=(seed_sd, noise_sd))
    normal = deviates(key, count, seeds) if drawn is None else drawn[:, :seeds]
    result = effect + seed_sd * normal
    if noise_sd:
        result += noise_sd * Stream(key.on("tasks", SCHEME), 0).normal(count)[:, None]
    for place, run in enumerate(known):
        result[:, place] = run.draw(effect, seed_sd, normal[:, place])
    return np.asarray(result)


def seed_quantile(differences: Floats, p: Fraction) -> Floats:
    """One quantile of `seed_quantiles`: [n, S] -> [n]."""
    return seed_quantiles(differences, (p,))[0]


def seed_quantiles(
    differences: Floats, ps: Sequence[Fraction], *, mirrored: bool = False
) -> tuple[Floats, ...]:
    """Inverse-CDF quantiles of the mean under resampled seed pairs, for every study at once: [n, S] -> [n] each.

    `mirrored` gives after each quantile that of the same studies with the sign turned, from one sort.

    Exact over all multisets up to 7 seed pairs; beyond, over a fixed sample of 1,000 resamples. This is the end
    of a crossed interval when tasks add nothing: with many tasks it is close, with few it is too narrow.

    Raises:
        DecisionError: p outside (0, 1].
    """
    for p in ps:
        if not 0 < p <= 1:
            raise DecisionError("no such quantile", expected="a probability in (0, 1]", found=str(p))
    seeds = differences.shape[1]
    if seeds <= _ALL_MULTISETS:
        counts, orderings = multisets(seeds)
        total = seeds**seeds
    else:
        stream = Stream(StreamKey(0, "0" * 64, SCHEME, f"resamples of {seeds}"), 0)
        places = (
            stream.below(seeds, _SAMPLED * seeds).reshape(_SAMPLED, seeds)
            + np.arange(_SAMPLED)[:, None] * seeds
        )
        counts = np.bincount(places.ravel(), minlength=_SAMPLED * seeds).reshape(_SAMPLED, seeds)
        orderings = np.ones(_SAMPLED, dtype=np.int64)
        total = _SAMPLED
    needs = [math.ceil(p * total) for p in ps]
    results: list[list[Floats]] = [[] for _ in range(len(needs) * (2 if mirrored else 1))]
    step = max(1, (1 << 21) // len(counts))
    for start in range(0, len(differences), step):
        means = differences[start : start + step] @ counts.T / seeds
        if seeds > _ALL_MULTISETS:
            found = _equally_likely(means, needs, mirrored=mirrored)
        else:
            found = _weighted(means, orderings, needs, mirrored=mirrored)
        for result, values in zip(results, found, strict=True):
            result.append(values)
    return tuple(np.concatenate(result) for result in results)


def _equally_likely(means: Floats, needs: Sequence[int], *, mirrored: bool) -> Iterator[Floats]:
    last = means.shape[1]
    wanted = {need - 1 for need in needs} | ({last - need for need in needs} if mirrored else set())
    ordered = np.partition(means, sorted(wanted), axis=1)
    for need in needs:
        yield ordered[:, need - 1]
        if mirrored:
            yield -ordered[:, last - need]


def _weighted(
    means: Floats, weights: NDArray[np.int64], needs: Sequence[int], *, mirrored: bool
) -> Iterator[Floats]:
    order = np.argsort(means, axis=1)
    reached = np.cumsum(weights[order], axis=1)
    total = int(weights.sum())

    def at(places: NDArray[np.intp]) -> Floats:
        chosen = np.take_along_axis(order, places[:, None], axis=1)
        return np.asarray(np.take_along_axis(means, chosen, axis=1)[:, 0])

    for need in needs:
        yield at((reached >= need).argmax(axis=1))
        if mirrored:  # counted from the top: the first place with no more than total - need strictly below it
            yield -at((reached > total - need).argmax(axis=1))

from __future__ import annotations

import itertools

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import covariance_law as law
from study.theory import enumeration
from study.theory.advantages import MeanCentred
from study.theory.covariance_law import Noise
from study.theory.designs import Independent, Paired


def _monte_carlo(rewards, scores):
    """Trace of the sample covariance of g, and its standard error."""
    gradients = MeanCentred().advantages(rewards) @ scores / scores.shape[0]
    squares = ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1)
    return squares.mean(), squares.std() / np.sqrt(len(squares))


def test_one_sided_flips_are_equation_5(random_groups):
    for group in random_groups(80, seed=41):
        gram = group.scores @ group.scores.T
        for design, sharing in ((Independent(), 0.0), (Paired(), 1.0)):
            noise = law.one_sided(group.successes, group.flip_rate, sharing)
            ours = law.moments(gram, noise, group.weights)
            oracle = enumeration.flip_moments(
                group.scores, group.successes, group.flip_rate, design, weights=group.weights
            )
            for field in ("second", "mean_square", "trace"):
                assert abs(getattr(ours, field) - getattr(oracle, field)) < 1e-13 * group.scale


@pytest.mark.parametrize("sharing", [0.0, 1.0])
def test_heterogeneous_two_sided_flips_by_enumerating_every_pattern(sharing):
    """Independent: product law over 2^G patterns. Shared: the uniform's intervals between sorted rates."""
    rng = np.random.default_rng(1)
    scores, successes = rng.normal(size=(5, 3)), np.array([1, 0, 1, 1, 0.0])
    rates = np.array([0.1, 0.3, 0.25, 0.6, 0.05])
    patterns, chances = [], []
    if sharing:
        edges = np.concatenate([[0.0], np.sort(rates), [1.0]])
        for low, high in itertools.pairwise(edges):
            patterns.append((low + high) / 2 < rates)
            chances.append(high - low)
    else:
        for flips in itertools.product([False, True], repeat=5):
            patterns.append(np.array(flips))
            chances.append(np.prod(np.where(flips, rates, 1 - rates)))
    rewards = np.where(patterns, 1 - successes, successes)
    gradients = MeanCentred().advantages(rewards) @ scores / 5
    mean = np.array(chances) @ gradients
    trace = np.array(chances) @ ((gradients - mean) ** 2).sum(axis=1)
    noise = law.switched(successes, 1 - 2 * successes, rates, sharing)
    ours = law.moments(scores @ scores.T, noise)
    assert ours.trace == pytest.approx(trace, rel=1e-12)
    assert ours.mean_square == pytest.approx(mean @ mean, rel=1e-12)


def test_two_sided_is_one_sided_when_failures_never_flip():
    successes = np.array([1, 0, 1, 0.0])
    for sharing in (0.0, 0.4, 1.0):
        one, two = law.one_sided(successes, 0.2, sharing), law.two_sided(successes, 0.2, 0.0, sharing)
        np.testing.assert_allclose(one.mean, two.mean)
        np.testing.assert_allclose(one.covariance, two.covariance)


def test_monte_carlo_agrees_with_partly_shared_heterogeneous_flips_in_blocks():
    rng = np.random.default_rng(2)
    size, count = 6, 60_000
    scores, base = rng.normal(size=(size, 3)), rng.normal(size=size)
    jump, rates, share = rng.normal(size=size), rng.uniform(0.05, 0.6, size), rng.uniform(0, 1, size)
    labels = np.array([0, 0, 1, 1, 1, 2])
    common = rng.random((count, 3))[:, labels]
    draws = np.where(rng.random((count, size)) < share, common, rng.random((count, size)))
    trace, error = _monte_carlo(base + jump * (draws < rates), scores)
    noise = law.switched(base, jump, rates, share, labels)
    assert abs(law.moments(scores @ scores.T, noise).trace - trace) < 4 * error


@pytest.mark.parametrize("correlation", [-0.2, 0.0, 0.6, 1.0])
def test_monte_carlo_agrees_with_correlated_additive_noise(correlation):
    rng = np.random.default_rng(3)
    size, count = 6, 60_000
    scores, base, deviations = rng.normal(size=(size, 3)), rng.normal(size=size), rng.uniform(0.1, 2, size)
    noise = law.additive(base, deviations, correlation)
    pattern = np.full((size, size), correlation) + (1 - correlation) * np.eye(size)
    values, vectors = np.linalg.eigh(pattern)
    errors = rng.normal(size=(count, size)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    trace, error = _monte_carlo(base + deviations * errors, scores)
    assert abs(law.moments(scores @ scores.T, noise).trace - trace) < 4 * error


def test_noise_shared_by_all_with_one_size_cancels_exactly():
    """A shift common to the group is removed by the baseline: the case where pairing is free."""
    gram = np.cov(np.random.default_rng(0).normal(size=(5, 9)))
    shared = law.moments(gram, law.additive(np.zeros(5), np.full(5, 3.0), 1.0))
    assert shared.trace < 1e-14


def test_permutation_and_scale():
    rng = np.random.default_rng(5)
    scores, order = rng.normal(size=(5, 3)), rng.permutation(5)
    noise = law.switched(rng.normal(size=5), rng.normal(size=5), rng.uniform(0, 1, 5), 0.5)
    moved = Noise(noise.mean[order], noise.covariance[np.ix_(order, order)])
    base = law.moments(scores @ scores.T, noise)
    assert law.moments((scores @ scores.T)[np.ix_(order, order)], moved).trace == pytest.approx(base.trace)
    assert law.moments(9 * scores @ scores.T, noise).trace == pytest.approx(9 * base.trace)
    assert law.moments(scores @ scores.T, noise, divisor=10).trace == pytest.approx(base.trace / 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: law.one_sided([1, 0.5], 0.1),
        lambda: law.one_sided([1, 0], 1.1),
        lambda: law.one_sided([1], 0.1),
        lambda: law.one_sided([], 0.1),
        lambda: law.two_sided([1, 0], 0.1, -0.1),
        lambda: law.switched([1, 0], [1], [0.1, 0.1]),
        lambda: law.switched([1, 0], [1, 1], [0.1]),
        lambda: law.switched([1, 0], [1, 1], [0.1, 0.1], 1.5),
        lambda: law.switched([1, 0], [1, 1], [0.1, 0.1], 1.0, [0]),
        lambda: law.additive([1, 0], [1, -1]),
        lambda: law.additive([1, 0, 1], [1, 1, 1], -0.6),
        lambda: law.moments(np.eye(2), Noise(np.zeros(3), np.eye(2))),
        lambda: law.moments(np.eye(2), Noise(np.zeros(2), np.eye(3))),
        lambda: law.moments(np.eye(2), Noise(np.zeros(2), np.array([[1, 2], [2, 1.0]]))),
        lambda: law.moments(np.eye(2), Noise(np.zeros(2), np.array([[1, 0], [0.5, 1.0]]))),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(TheoryError, match="expected"):
        call()

from __future__ import annotations

import itertools

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import transition
from study.theory.advantages import MeanCentred, Standardised
from study.theory.enumeration import World
from study.theory.transition import Pool


def _pool(seed=0, schedules=4, samples=2, width=3):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(schedules * samples, width)) + 0.5
    rewards = rng.normal(size=(schedules, samples)) + rng.normal(size=(schedules, 1))
    return Pool(rewards, scores @ scores.T), scores


def test_the_closed_form_is_the_average_over_every_stratified_group():
    """One rollout under each of four schedules, 2^4 groups: E||g||^2 by the loop and by the formula."""
    pool, scores = _pool()
    squares = []
    for picks in itertools.product(range(2), repeat=4):
        rows = [2 * w + m for w, m in enumerate(picks)]
        gradient = MeanCentred().advantages(pool.rewards.ravel()[rows]) @ scores[rows] / 4
        squares.append(gradient @ gradient)
    assert transition.independent(pool, 4).second == pytest.approx(np.mean(squares), rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_both_designs_are_unbiased_for_fresh_draws(size):
    """Every pool that a small world can produce, weighted by its probability, against the world's exact moments."""
    rng = np.random.default_rng(size)
    policy = np.array([[0.3, 0.7], [0.6, 0.4]])
    features = rng.normal(size=(2, 2, 1))
    scores = features - np.einsum("wa,wad->wd", policy, features)[:, None, :]
    world = World(np.array([0.35, 0.65]), policy, scores, rng.normal(size=(2, 2)))
    states = [(w, a) for w in range(2) for a in range(2)]
    chance = {(w, a): world.schedule_law[w] * policy[w, a] for w, a in states}
    second = mean_square = 0.0
    for drawn in itertools.product(states, repeat=4):
        rewards = np.array([[world.rewards[state]] for state in drawn])
        rows = np.array([world.scores[state] for state in drawn])
        found = transition.independent(Pool(rewards, rows @ rows.T), size)
        weight = np.prod([chance[state] for state in drawn])
        second += weight * found.second
        mean_square += weight * found.mean_square
    truth = world.group(size, [[i] for i in range(size)], MeanCentred())[0]
    assert second == pytest.approx(truth.second, rel=1e-11)
    assert mean_square == pytest.approx(truth.mean_square, rel=1e-11)


def test_paired_traces_are_unbiased_and_the_plug_in_is_short_by_one_in_w():
    rng = np.random.default_rng(8)
    policy = np.array([[0.3, 0.7], [0.6, 0.4]])
    features = rng.normal(size=(2, 2, 2))
    scores = features - np.einsum("wa,wad->wd", policy, features)[:, None, :]
    world = World(np.array([0.35, 0.65]), policy, scores, rng.normal(size=(2, 2)))
    rows_of = [(w, actions) for w in range(2) for actions in itertools.product(range(2), repeat=2)]
    trace = plug_in = 0.0
    for drawn in itertools.product(rows_of, repeat=3):
        rewards = np.array([[world.rewards[w, a] for a in actions] for w, actions in drawn])
        rows = np.array([world.scores[w, a] for w, actions in drawn for a in actions])
        weight = np.prod([world.schedule_law[w] * policy[w, list(actions)].prod() for w, actions in drawn])
        found = transition.paired(Pool(rewards, rows @ rows.T))
        trace += weight * found.trace
        plug_in += weight * found.plug_in
    truth = world.group(2, [[0, 1]], MeanCentred())[0].trace
    assert trace == pytest.approx(truth, rel=1e-11)
    assert plug_in == pytest.approx(truth * 2 / 3, rel=1e-11)


def test_eight_paired_groups_carry_a_bias_of_seven_eighths():
    pool, _ = _pool(schedules=8, samples=8)
    found = transition.paired(pool, Standardised())
    assert found.plug_in == pytest.approx(found.trace * 7 / 8, rel=1e-12)


def test_regrouping_from_the_gram_equals_regrouping_from_the_scores():
    pool, scores = _pool(schedules=3, samples=4)
    for scheme, size in (("with-replacement", 4), ("stratified", 3)):
        found = transition.regrouped(
            pool, size, Standardised(), groups=500, rng=np.random.default_rng(5), scheme=scheme
        )
        rows = transition.regrouped_rows((3, 4), size, 500, np.random.default_rng(5), scheme)
        levers = Standardised().advantages(pool.rewards.ravel()[rows]) / size
        gradients = np.einsum("ni,nid->nd", levers, scores[rows])
        assert found.trace == pytest.approx(gradients.var(axis=0, ddof=1).sum(), rel=1e-10)
        assert found.plug_in == pytest.approx(gradients.var(axis=0).sum(), rel=1e-10)


def test_regrouped_rollouts_are_distinct_and_labels_follow_the_scheme():
    rng = np.random.default_rng(6)
    rows = transition.regrouped_rows((3, 4), 4, 4000, rng, "with-replacement")
    assert all(len(set(row)) == 4 for row in rows.tolist())
    labels = np.sort(rows // 4, axis=1)
    assert (labels[:, 0] == labels[:, -1]).mean() == pytest.approx(3 * (1 / 3) ** 4, abs=0.015)
    np.testing.assert_allclose(np.bincount(rows.ravel(), minlength=12) / rows.size, 1 / 12, atol=0.01)
    rows = transition.regrouped_rows((3, 4), 3, 500, rng, "stratified")
    assert (np.sort(rows // 4, axis=1) == np.arange(3)).all()


def test_stratified_groups_converge_to_the_closed_form():
    pool, _ = _pool(schedules=8, samples=8, seed=3)
    drawn = transition.regrouped(pool, 8, groups=20_000, rng=np.random.default_rng(1), scheme="stratified")
    assert drawn.second == pytest.approx(transition.independent(pool, 8).second, rel=0.02)


def test_the_task_bootstrap_brackets_the_ratio_and_repeats():
    rng = np.random.default_rng(0)
    below = rng.uniform(1, 3, size=16)
    above = below * rng.uniform(0.3, 0.7, size=16)
    first = transition.task_bootstrap(above, below, rng=np.random.default_rng(4), resamples=2000)
    assert first == transition.task_bootstrap(above, below, rng=np.random.default_rng(4), resamples=2000)
    assert first.lower < first.value < first.upper
    assert first.value == pytest.approx(above.sum() / below.sum())
    constant = transition.task_bootstrap(below / 2, below, rng=rng, resamples=200)
    assert constant.lower == pytest.approx(0.5)
    assert constant.upper == pytest.approx(0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Pool(np.zeros((1, 4)), np.eye(4)),
        lambda: Pool(np.zeros((2, 3)), np.eye(4)),
        lambda: transition.paired(Pool(np.zeros((4, 1)), np.eye(4))),
        lambda: transition.independent(Pool(np.zeros((3, 2)), np.eye(6)), 3),
        lambda: transition.independent(Pool(np.zeros((4, 2)), np.eye(8)), 1),
        lambda: transition.regrouped(
            Pool(np.zeros((4, 2)), np.eye(8)), 4, groups=9, rng=np.random.default_rng(0)
        ),
        lambda: transition.regrouped(
            Pool(np.zeros((4, 2)), np.eye(8)), 5, groups=9, rng=np.random.default_rng(0), scheme="stratified"
        ),
        lambda: transition.regrouped(
            Pool(np.zeros((4, 2)), np.eye(8)), 2, groups=9, rng=np.random.default_rng(0), scheme="other"
        ),
        lambda: transition.task_bootstrap([1, 2], [1, 2, 3], rng=np.random.default_rng(0)),
        lambda: transition.task_bootstrap([1, 2], [0, 0], rng=np.random.default_rng(0)),
        lambda: transition.task_bootstrap([1], [1], rng=np.random.default_rng(0)),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(TheoryError, match="expected"):
        call()

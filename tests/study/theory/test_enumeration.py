"""The oracle against facts that need no oracle, and Propositions 1 and 2 on worlds small enough to walk."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import enumeration, luck
from study.theory.advantages import LeaveOneOut, MeanCentred, Standardised
from study.theory.designs import Balanced, Blocks, Independent, Paired, PartlyShared
from study.theory.enumeration import World

APART = [[0], [1], [2]]
TOGETHER = [[0, 1, 2]]
PARTLY = [[0, 2], [1]]


def _world(seed, schedules=3, actions=3, width=2):
    """Rewards, policy and scores all depend on the schedule; scores are a softmax policy's, hence centred."""
    rng = np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(actions), size=schedules)
    features = rng.normal(size=(schedules, actions, width))
    scores = features - np.einsum("wa,wad->wd", policy, features)[:, None, :]
    return World(rng.dirichlet(np.ones(schedules)), policy, scores, rng.normal(size=(schedules, actions)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("blocks", [APART, TOGETHER, PARTLY], ids=["independent", "paired", "partly"])
def test_proposition_1_leave_one_out_is_unbiased_and_the_group_mean_shrinks(seed, blocks):
    world = _world(seed)
    np.testing.assert_allclose(world.group(3, blocks, LeaveOneOut())[0].mean, world.gradient(), atol=1e-14)
    np.testing.assert_allclose(
        world.group(3, blocks, MeanCentred())[0].mean, world.gradient() * 2 / 3, atol=1e-14
    )


def test_standardised_means_differ_between_designs():
    world = _world(0)
    apart = world.group(3, APART, Standardised())[0].mean
    together = world.group(3, TOGETHER, Standardised())[0].mean
    assert np.abs(apart - together).max() > 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_proposition_2_contrasts(seed):
    world = _world(seed)
    given = np.einsum("wa,wa->w", world.policy, world.rewards)
    mean = float(world.schedule_law @ given)
    second = float(world.schedule_law @ np.einsum("wa,wa->w", world.policy, world.rewards**2))
    env = float(world.schedule_law @ (given - mean) ** 2)
    parts = luck.RewardVariance(env=env, pol=second - float(world.schedule_law @ given**2))
    apart = world.group(3, APART, MeanCentred())[1]
    together = world.group(3, TOGETHER, MeanCentred())[1]
    assert apart == pytest.approx(parts.contrast(shared=False), rel=1e-12)
    assert together == pytest.approx(parts.contrast(shared=True), rel=1e-12)
    assert together / apart == pytest.approx(1 - parts.share, rel=1e-12)
    assert apart / together == pytest.approx(luck.matching_replicates(parts.share), rel=1e-12)
    # One of three pairs shares a schedule: the average contrast is linear in that share.
    partly = world.group(3, PARTLY, MeanCentred())[1]
    assert partly == pytest.approx((2 * apart + together) / 3, rel=1e-12)


@pytest.mark.parametrize(
    "design", [Independent(), Paired(), Balanced(), Blocks(2), PartlyShared(0.25)], ids=str
)
def test_masks_are_a_distribution_with_the_right_rate(design):
    successes = np.array([1, 0, 1, 1.0])
    total, mean = 0.0, np.zeros(4)
    for rewards, law in enumeration.masks(successes, 0.3, design):
        assert (law >= 0).all()
        assert (rewards <= successes).all()
        total += law.sum()
        mean += law @ rewards
    assert total == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(mean, 0.7 * successes, atol=1e-14)


def test_independent_masks_number_two_to_the_k():
    counts = [len(law) for _, law in enumeration.masks(np.ones(14), 0.2, Independent())]
    assert sum(counts) == 2**14
    assert len(counts) == 2


def test_moments_by_a_plain_loop():
    rng = np.random.default_rng(4)
    scores, successes = rng.normal(size=(4, 2)), np.array([1, 1, 0, 1.0])
    gradients, chances = [], []
    for flips in itertools.product([0, 1], repeat=3):
        rewards = successes.copy()
        rewards[[0, 1, 3]] -= flips
        spread = rewards.std(ddof=1)
        advantages = (rewards - rewards.mean()) / (spread + 1e-4) if spread > 0 else np.zeros(4)
        gradients.append(sum(advantages[i] * scores[i] for i in range(4)) / 4)
        chances.append(np.prod([0.2 if flip else 0.8 for flip in flips]))
    gradients, chances = np.array(gradients), np.array(chances)
    mean = chances @ gradients
    oracle = enumeration.flip_moments(scores, successes, 0.2, Independent(), Standardised())
    np.testing.assert_allclose(oracle.mean, mean, atol=1e-15)
    assert oracle.trace == pytest.approx(float(chances @ ((gradients - mean) ** 2).sum(axis=1)), rel=1e-13)


def test_too_many_masks_point_to_the_closed_forms():
    with pytest.raises(TheoryError, match="closed_forms"):
        next(iter(enumeration.masks(np.ones(21), 0.1, Independent())))


@pytest.mark.parametrize(
    "change",
    [
        {"policy": np.array([[0.5, 0.6], [0.5, 0.5]])},
        {"rewards": np.zeros((2, 3))},
        {"scores": np.ones((2, 2, 1))},
        {"schedule_law": np.array([0.5, 0.4])},
    ],
)
def test_a_world_that_is_none_is_refused(change):
    good = {
        "schedule_law": np.array([0.5, 0.5]),
        "policy": np.full((2, 2), 0.5),
        "scores": np.array([[[-1.0], [1.0]]] * 2),
        "rewards": np.zeros((2, 2)),
    }
    World(**good)
    with pytest.raises(TheoryError):
        World(**{**good, **change})


def test_a_partition_must_be_one_and_small_enough():
    world = _world(0)
    with pytest.raises(TheoryError, match="partition"):
        world.group(3, [[0], [1]], MeanCentred())
    with pytest.raises(TheoryError, match="combinations"):
        world.group(9, [[i] for i in range(9)], MeanCentred())

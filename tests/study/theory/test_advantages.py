from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.errors import TheoryError
from study.theory.advantages import (
    LeaveOneOut,
    MeanCentred,
    Standardised,
    leave_one_out,
    mean_centred,
    standardised,
)

RULES = [MeanCentred(), LeaveOneOut(), Standardised(), Standardised(eps=0.0, ddof=0), Standardised(eps=1e-6)]
rewards = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=2, max_size=9)


def test_the_standardised_rule_adds_eps_to_a_deviation_with_ddof_one():
    by_hand = (1 - 0.25) / (np.sqrt((0.75**2 + 3 * 0.25**2) / 3) + 1e-4)
    assert standardised([1, 0, 0, 0])[0] == pytest.approx(by_hand, rel=1e-15)
    assert by_hand == pytest.approx(1.49970006, abs=1e-8)


def test_equal_rewards_give_zeros_to_the_bit_even_where_their_mean_is_rounded():
    for value in (0.1, 1 / 3, 1e9 + 0.1):
        for size in (2, 3, 7, 8, 11):
            group = np.full(size, value)
            assert not standardised(group).any()
            assert not mean_centred(group).any()
            assert not standardised(group, eps=0.0).any()


def test_each_group_of_a_batch_is_its_own():
    batch = np.array([[[1, 0, 0, 0], [1, 1, 1, 1]], [[0, 1, 1, 0], [5, 0, 0, 0]]], dtype=float)
    for rule in RULES:
        whole = rule.advantages(batch)
        assert whole.shape == batch.shape
        for index in np.ndindex(2, 2):
            np.testing.assert_array_equal(whole[index], rule.advantages(batch[index]))


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("size", [2, 3, 8, 17])
def test_the_contrast_is_the_rule_on_binary_rewards(rule, size):
    contrast = rule.contrast(size)
    assert contrast.shape == (size + 1,)
    for m in range(size + 1):
        seen = (np.arange(size) < m).astype(float)
        np.testing.assert_allclose(rule.advantages(seen), contrast[m] * (seen - m / size), atol=1e-13)


@given(rewards)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_advantages_sum_to_zero_and_ignore_a_shift(values):
    for rule in RULES:
        advantages = rule.advantages(values)
        assert abs(advantages.sum()) < 1e-9 * max(1.0, np.abs(advantages).max())
    np.testing.assert_allclose(mean_centred(np.array(values) + 7), mean_centred(values), atol=1e-9)


@given(rewards, st.randoms(use_true_random=False))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_advantages_follow_a_permutation(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    for rule in RULES:
        np.testing.assert_allclose(
            rule.advantages(np.array(values)[order]), rule.advantages(values)[order], rtol=1e-9, atol=1e-9
        )


def test_leave_one_out_is_what_its_name_says():
    values = np.array([3.0, 1.0, 4.0, 1.5])
    by_hand = [value - np.delete(values, i).mean() for i, value in enumerate(values)]
    np.testing.assert_allclose(leave_one_out(values), by_hand, atol=1e-15)


@pytest.mark.parametrize(
    "bad", [[1.0], [], 3.0, [1.0, float("nan")], [1.0, float("inf")], ["a", "b"], [[1.0], [2.0]], [None, 1]]
)
def test_groups_of_one_empty_ones_and_no_numbers_are_refused(bad):
    for rule in (mean_centred, leave_one_out, standardised):
        with pytest.raises(TheoryError, match="expected"):
            rule(bad)


@pytest.mark.parametrize("settings_", [{"eps": -1e-9}, {"eps": float("nan")}, {"ddof": 2}, {"ddof": -1}])
def test_an_eps_or_ddof_out_of_range_is_refused(settings_):
    with pytest.raises(TheoryError):
        standardised([1, 0], **settings_)
    with pytest.raises(TheoryError):
        Standardised(**settings_)

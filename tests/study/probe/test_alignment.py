"""The measured alignment finds the alignment of the family that the map draws."""

from __future__ import annotations

import numpy as np
import pytest

from study.probe.alignment import measured
from study.theory.alignment import Policy


@pytest.mark.parametrize(("alignment", "rate"), [(0.0, 0.5), (0.05, 0.8), (0.3, 0.6), (0.3, 0.9), (0.8, 0.3)])
def test_the_alignment_of_the_family_comes_back(alignment, rate):
    rng = np.random.default_rng(11)
    policy = Policy(8, rate, alignment)
    outcomes = (rng.random((4000, 8)) < rate).astype(float)
    grams = []
    for outcome in outcomes:
        scores = policy.scores(outcome)
        grams.append(scores @ scores.T)
    found = measured(grams, outcomes)
    assert found.value == pytest.approx(alignment, abs=0.02)
    assert found.success_rate == pytest.approx(rate, abs=0.02)


def test_tasks_of_different_success_rates_need_no_common_one():
    rng = np.random.default_rng(12)
    outcomes, grams = [], []
    for rate in (0.2, 0.5, 0.95):
        for _ in range(3000):
            outcome = (rng.random(8) < rate).astype(float)
            scores = Policy(8, rate, 0.25).scores(outcome)
            outcomes.append(outcome)
            grams.append(scores @ scores.T)
    assert measured(grams, outcomes).value == pytest.approx(0.25, abs=0.02)


def test_without_a_mixed_group_there_is_no_alignment():
    grams = [np.eye(8)] * 3
    assert measured(grams, np.ones((3, 8))).value is None
    assert measured(grams, np.zeros((3, 8))).mixed == 0


def test_chance_below_zero_is_held_to_zero_and_kept_beside():
    found = measured(
        [np.eye(8) - np.outer([1, 1, 1, 1, -1, -1, -1, -1], [1, 1, 1, 1, -1, -1, -1, -1]) / 8],
        [[1] * 4 + [0] * 4],
    )
    assert found.value == 0
    assert found.unclipped < 0

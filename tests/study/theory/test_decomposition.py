from __future__ import annotations

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import enumeration, geometry
from study.theory.advantages import LeaveOneOut, MeanCentred, Standardised
from study.theory.closed_forms import flip_moments
from study.theory.conditional_means import CleanSums
from study.theory.decomposition import decompose, mean_gradient
from study.theory.designs import Balanced, Independent, Paired

SIZE, WIDTH, Q = 6, 4, 0.15


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(31)
    return [
        (rng.normal(size=(SIZE, WIDTH)), (rng.random(SIZE) < p).astype(float), rng.uniform(0, 2, size=SIZE))
        for p in np.linspace(0.05, 0.95, 24)
    ]


def _pooled(groups, design, rule):
    """Mixture of every group's masks, as one distribution over gradients: the definition."""
    gradients, law = [], []
    for scores, successes, weights in groups:
        for rewards, chances in enumeration.masks(successes, Q, design):
            gradients.append(rule.advantages(rewards) @ (scores * weights[:, None]) / SIZE)
            law.append(chances / len(groups))
    gradients, law = np.concatenate(gradients), np.concatenate(law)
    mean = law @ gradients
    return mean, float(law @ ((gradients - mean) ** 2).sum(axis=1))


@pytest.mark.parametrize("rule", [MeanCentred(), Standardised()], ids=str)
@pytest.mark.parametrize("design", [Independent(), Paired(), Balanced()], ids=str)
def test_the_two_parts_add_to_the_pooled_trace(groups, design, rule):
    moments = [flip_moments(geometry.of_scores(*group), Q, design, rule) for group in groups]
    clean = np.array([(r - r.mean()) * w @ s / SIZE for s, r, w in groups])
    mean = mean_gradient(clean, moments)
    parts = decompose(moments, float(mean @ mean))
    expected_mean, expected_trace = _pooled(groups, design, rule)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-14)
    assert parts.trace == pytest.approx(expected_trace, rel=1e-12)
    assert 0 < parts.mask_share < 1


def test_mean_centring_leaves_the_between_part_alone(groups):
    parts = []
    for design in (Independent(), Paired()):
        moments = [flip_moments(geometry.of_scores(*group), Q, design) for group in groups]
        clean = np.array([(r - r.mean()) * w @ s / SIZE for s, r, w in groups])
        mean = mean_gradient(clean, moments)
        parts.append(decompose(moments, float(mean @ mean)))
    assert parts[0].between == pytest.approx(parts[1].between, rel=1e-12)
    assert parts[0].mask != pytest.approx(parts[1].mask, rel=1e-3)


def test_stored_sums_give_the_mean_for_any_setting(groups):
    """One vector per number of successes, stored once, against enumeration at six settings."""
    store = CleanSums(SIZE, WIDTH)
    for group in groups:
        store.add_scores(*group)
    assert store.groups == len(groups)
    assert not store.sums[[0, SIZE]].any()
    for q in (0.0, 0.15, 0.6):
        for design in (Independent(), Paired(), Balanced()):
            for rule in (MeanCentred(), LeaveOneOut(), Standardised(), Standardised(eps=1e-2, ddof=0)):
                expected = np.mean(
                    [enumeration.flip_moments(s, r, q, design, rule, weights=w).mean for s, r, w in groups],
                    axis=0,
                )
                np.testing.assert_allclose(store.mean(q, design, rule), expected, atol=1e-14)


def test_bad_input(groups):
    store = CleanSums(SIZE, WIDTH)
    for call in (
        lambda: store.mean(0.1, Paired()),
        lambda: store.add(7, np.zeros(WIDTH)),
        lambda: store.add(2, np.zeros(WIDTH + 1)),
        lambda: store.add_scores(np.zeros((4, WIDTH)), [1, 0, 1, 0]),
        lambda: store.add_scores(np.zeros((4, WIDTH)), [1, 0, 1, 0, 1, 0]),
        lambda: CleanSums(1, 3),
        lambda: CleanSums(3, 0),
        lambda: decompose([], 0.0),
    ):
        with pytest.raises(TheoryError):
            call()
    moments = [flip_moments(geometry.orthogonal(4, 2), 0.1, Paired())]
    with pytest.raises(TheoryError, match="conditional means"):
        decompose(moments, 1.0)
    with pytest.raises(TheoryError, match="rows"):
        mean_gradient(np.zeros((2, 3)), moments)
    with pytest.raises(TheoryError, match="sum to one"):
        decompose(moments, 0.0, [0.5])

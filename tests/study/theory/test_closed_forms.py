from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.errors import TheoryError
from study.theory import covariance_law, enumeration, geometry
from study.theory.advantages import LeaveOneOut, MeanCentred, Standardised
from study.theory.closed_forms import flip_moments
from study.theory.designs import Balanced, Blocks, Exchangeable, Independent, Paired, PartlyShared

RULES = [MeanCentred(), LeaveOneOut(), Standardised(), Standardised(eps=1e-6, ddof=0)]
FIELDS = ("second", "mean_square", "trace")


def _designs(size):
    divisors = [c for c in range(2, size) if size % c == 0]
    return [Independent(), Paired(), Balanced(), PartlyShared(0.3), *(Blocks(c) for c in divisors)]


def test_closed_forms_equal_enumeration_on_hundreds_of_groups(random_groups):
    """Every rule, weights on half of the groups, from the scores and from the Gram matrix: 1e-13 of the scale."""
    worst = 0.0
    for group in random_groups(300):
        kept = (
            geometry.of_scores(group.scores, group.successes, group.weights),
            geometry.of_gram(group.scores @ group.scores.T, group.successes, group.weights),
        )
        for design, rule in itertools.product((Independent(), Paired()), RULES):
            oracle = enumeration.flip_moments(
                group.scores, group.successes, group.flip_rate, design, rule, weights=group.weights
            )
            scale = group.scale * rule.contrast(len(group.scores)).max() ** 2
            for one in kept:
                ours = flip_moments(one, group.flip_rate, design, rule)
                worst = max(worst, *(abs(getattr(ours, f) - getattr(oracle, f)) / scale for f in FIELDS))
    assert worst < 1e-13


def test_every_exchangeable_design_equals_enumeration_over_all_flip_patterns(random_groups):
    worst = 0.0
    for group in random_groups(80, largest=8, seed=5):
        one = geometry.of_scores(group.scores, group.successes, group.weights, divisor=3.7)
        for design, rule in itertools.product(_designs(len(group.scores)), RULES):
            oracle = enumeration.flip_moments(
                group.scores,
                group.successes,
                group.flip_rate,
                design,
                rule,
                weights=group.weights,
                divisor=3.7,
            )
            ours = flip_moments(one, group.flip_rate, design, rule)
            scale = (
                group.scale * len(group.scores) ** 2 / 3.7**2 * rule.contrast(len(group.scores)).max() ** 2
            )
            worst = max(worst, *(abs(getattr(ours, f) - getattr(oracle, f)) / scale for f in FIELDS))
    assert worst < 1e-13


def test_flips_never_turn_the_conditional_mean(random_groups):
    """E g is `length` times the clean gradient, coordinate by coordinate, standardised and weighted included."""
    for group in random_groups(60, seed=11):
        size = len(group.scores)
        rows = group.scores if group.weights is None else group.scores * group.weights[:, None]
        clean = (group.successes - group.successes.mean()) @ rows / size
        one = geometry.of_scores(group.scores, group.successes, group.weights)
        for design, rule in itertools.product((Independent(), Paired(), Balanced()), RULES):
            oracle = enumeration.flip_moments(
                group.scores, group.successes, group.flip_rate, design, rule, weights=group.weights
            )
            length = flip_moments(one, group.flip_rate, design, rule).length
            scale = np.sqrt(group.scale) * rule.contrast(size).max()
            np.testing.assert_allclose(oracle.mean / scale, length * clean / scale, atol=1e-13)


def test_the_formula_by_number_kept_is_the_one_of_the_specification(random_groups):
    """E||g||^2 = G^-2 sum Bin [b^2 T + 2 b d (m/k) rho + d^2 ((m/k) D + m(m-1)/(k(k-1)) P)], without centring."""
    from study.theory.designs import binomial

    for group in random_groups(60, seed=3):
        size, k = len(group.scores), int(group.successes.sum())
        if k < 2:
            continue
        gram = group.scores @ group.scores.T
        if group.weights is not None:
            gram = gram * np.outer(group.weights, group.weights)
        total, rho = gram.sum(), group.successes @ gram.sum(axis=1)
        diagonal = group.successes @ np.diag(gram)
        off = group.successes @ gram @ group.successes - diagonal
        m = np.arange(k + 1)
        d = Standardised().contrast(size)[: k + 1]
        b = -d * m / size
        terms = b**2 * total + 2 * b * d * m / k * rho
        terms += d**2 * (m / k * diagonal + m * (m - 1) / (k * (k - 1)) * off)
        expected = binomial(k, 1 - group.flip_rate) @ terms / size**2
        one = geometry.of_scores(group.scores, group.successes, group.weights)
        ours = flip_moments(one, group.flip_rate, Independent(), Standardised()).second
        scale = group.scale * d.max() ** 2
        assert abs(ours - expected) < 1e-13 * scale


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("design", [Independent(), Paired(), Balanced(), Blocks(4)], ids=str)
def test_the_ends_are_exact(rule, design):
    scores = np.random.default_rng(1).normal(size=(8, 3)) + 100.0
    for k in range(9):
        one = geometry.of_scores(scores, np.arange(8) < k)
        for q in (0.0, 1.0):
            moments = flip_moments(one, q, design, rule)
            assert moments.trace == 0.0
            assert q == 0.0 or moments.second == 0.0
        moments = flip_moments(one, 0.37, design, rule)
        if k == 0:
            assert (moments.second, moments.trace) == (0.0, 0.0)
        if k == 8:
            assert moments.mean_square == 0.0
            assert moments.number_part == 0.0
        if k == 1:
            assert moments.identity_part == 0.0


def test_one_success_ties_the_designs_and_an_all_correct_group_never_loses():
    scores = np.random.default_rng(2).normal(size=(6, 4))
    for rule in RULES:
        one = geometry.of_scores(scores, [0, 0, 1, 0, 0, 0])
        tie = [flip_moments(one, 0.1, design, rule).trace for design in (Independent(), Paired())]
        assert tie[0] == pytest.approx(tie[1], rel=1e-14)
        everyone = geometry.of_scores(scores, np.ones(6))
        assert flip_moments(everyone, 0.1, Paired(), rule).trace == 0.0
        assert flip_moments(everyone, 0.1, Independent(), rule).trace > 0.0


def test_mean_centred_traces_are_q_one_minus_q_times_r_and_l(random_groups):
    for group in random_groups(100, seed=8):
        one = geometry.of_scores(group.scores, group.successes, group.weights)
        q = group.flip_rate
        apart = flip_moments(one, q, Independent()).trace
        shared = flip_moments(one, q, Paired()).trace
        assert apart == pytest.approx(q * (1 - q) * one.right, rel=1e-12, abs=1e-15 * group.scale)
        assert shared == pytest.approx(q * (1 - q) * one.left, rel=1e-12, abs=1e-15 * group.scale)


finite = st.floats(-10, 10).map(lambda x: round(x, 4))


@st.composite
def small_groups(draw):
    size = draw(st.integers(2, 6))
    scores = draw(st.lists(st.lists(finite, min_size=3, max_size=3), min_size=size, max_size=size))
    successes = draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=size, max_size=size))
    return np.array(scores), np.array(successes), draw(st.floats(0, 1))


@given(small_groups(), st.randoms(use_true_random=False), st.floats(0.01, 100))
@settings(max_examples=80, derandomize=True, deadline=None)
def test_permutation_scale_rotation_and_drift(group, random, factor):
    """Reorder: same. Scale by s: moments times s^2. Rotate, or add one vector to every score: same."""
    scores, successes, q = group
    size = len(scores)
    order = list(range(size))
    random.shuffle(order)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    scale = (scores**2).sum() / size**2
    for design, rule in itertools.product((Independent(), Paired()), (MeanCentred(), Standardised())):
        size_of_rule = rule.contrast(size).max() ** 2
        close = {"rel": 1e-9, "abs": 1e-11 * size_of_rule * (scale + 1.0)}

        def trace(s, r, design=design, rule=rule):
            return flip_moments(geometry.of_scores(s, r), q, design, rule).trace

        base = trace(scores, successes)
        assert trace(scores[order], successes[order]) == pytest.approx(base, **close)
        assert trace(scores @ rotation, successes) == pytest.approx(base, **close)
        assert trace(scores + 5.0, successes) == pytest.approx(base, **close)
        assert trace(factor * scores, successes) / factor**2 == pytest.approx(base, **close)


def test_a_large_group_agrees_with_the_general_law():
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(512, 16))
    successes = (rng.random(512) < 0.4).astype(float)
    gram = scores @ scores.T
    one = geometry.of_gram(gram, successes)
    for design, sharing in ((Independent(), 0.0), (Paired(), 1.0)):
        law = covariance_law.moments(gram, covariance_law.one_sided(successes, 0.1, sharing))
        assert flip_moments(one, 0.1, design).trace == pytest.approx(law.trace, rel=1e-11)
    assert np.isfinite(flip_moments(one, 0.1, Independent(), Standardised()).trace)


def test_monte_carlo_agrees_within_its_error():
    """Flips drawn by the designs' own samplers, standardised advantages, 4 standard errors."""
    rng = np.random.default_rng(99)
    scores, successes = rng.normal(size=(6, 3)), np.array([1, 1, 0, 1, 1, 0.0])
    one = geometry.of_scores(scores, successes)
    for design in (Independent(), Paired(), Balanced(), Blocks(2), PartlyShared(0.5)):
        flips = design.sample(6, 0.3, 40_000, rng)
        gradients = Standardised().advantages(successes * ~flips) @ scores / 6
        squares = (gradients**2).sum(axis=1)
        error = squares.std() / np.sqrt(len(squares))
        assert abs(squares.mean() - flip_moments(one, 0.3, design, Standardised()).second) < 4 * error + 1e-12
        assert abs(flips.mean() - 0.3) < 4 * np.sqrt(0.21 / 40_000)


def test_a_law_of_ones_own_is_accepted_and_a_law_at_another_rate_refused():
    one = geometry.orthogonal(4, 2)
    mine = Exchangeable((0.6, 0.0, 0.4, 0.0, 0.0))
    assert flip_moments(one, 0.2, mine).trace > 0
    with pytest.raises(TheoryError, match="another rate"):
        flip_moments(one, 0.3, mine)
    with pytest.raises(TheoryError, match="wrong length"):
        flip_moments(geometry.orthogonal(5, 2), 0.2, mine)
    with pytest.raises(TheoryError, match="divisor of 4"):
        flip_moments(one, 0.2, Blocks(3))

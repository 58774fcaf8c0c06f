"""The outcome probe: the paper's bandit through the probe's own path, and its figures against plain enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from study.errors import ConfigError, StudyError
from study.probe import outcome
from study.probe.estimators import mean_tokens
from tests.study.probe.made import probe

RNG = np.random.default_rng(3)


def plain(scores, successes, q, rule, weights=None, divisor=None):
    """Pooled traces by the definition: every mask of every group, gradients written out. (independent, paired)."""
    units, size = successes.shape
    weights = np.ones_like(successes, dtype=float) if weights is None else weights
    divisor = size if divisor is None else divisor
    found = []
    for shared in (False, True):
        second, mean = 0.0, 0.0
        for s, r, w in zip(scores, successes, weights, strict=True):
            flips = [(0,) * size, (1,) * size] if shared else list(itertools.product((0, 1), repeat=size))
            for flip in map(np.array, flips):
                p = (q if flip[0] else 1 - q) if shared else np.prod(np.where(flip, q, 1 - q))
                reward = r * (1 - flip)
                g = (rule(reward) * w) @ s / divisor
                second, mean = second + p * g @ g / units, mean + p * g / units
        found.append(second - mean @ mean)
    return found


def centred(reward):
    return reward - reward.mean()


def standard(reward):
    return np.zeros(len(reward)) if np.ptp(reward) == 0 else centred(reward) / (reward.std(ddof=1) + 1e-4)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    scores = RNG.normal(size=(6, 5, 7)) + 0.3
    successes = np.array(
        [[1, 1, 0, 0, 1], [0] * 5, [1] * 5, [0, 0, 0, 1, 0], [1, 0, 1, 0, 0], [1, 1, 1, 1, 0]]
    )
    ratios = RNG.normal(size=(6, 5)) * 0.6
    tokens = RNG.integers(2, 9, size=(6, 5))
    made = probe(
        tmp_path_factory.mktemp("outcome"), scores, successes, samples=5, ratios=ratios, own_tokens=tokens
    )
    return scores, successes, ratios, tokens, made


def test_the_bandit_returns_the_appendix(tmp_path):
    actions = np.array(list(itertools.product((0, 1), repeat=8)))
    made = probe(
        tmp_path, (actions - 0.5)[:, :, None], actions, importance="off", own_tokens=np.ones((256, 8))
    )
    found = outcome.figures(made, resamples=100)
    mc, sw = found.estimators["MC"], found.estimators["SW"]
    assert mc.independent.trace == pytest.approx(0.00261475, abs=6e-9)
    assert mc.paired.trace == pytest.approx(0.00584473, abs=6e-9)
    assert (mc.left, mc.right) == (pytest.approx(0.04956055, abs=6e-9), pytest.approx(0.01367188, abs=6e-9))
    assert found.gap == pytest.approx(0.00322998, abs=6e-9)
    assert sw.independent.trace == pytest.approx(0.00705339, abs=6e-9)
    assert sw.paired.trace == pytest.approx(0.01972384, abs=6e-9)
    assert np.sqrt(mc.independent.mean_square) == pytest.approx(0.196875, abs=1e-9)
    assert np.sqrt([sw.independent.mean_square, sw.paired.mean_square]) == pytest.approx(
        [0.39184, 0.39048], abs=5e-6
    )
    assert (sw.paired.mask, sw.independent.mask) == (
        pytest.approx(0.01722, abs=5e-6),
        pytest.approx(0.00403, abs=5e-6),
    )
    assert found.holds is False
    assert found.residual < 1e-12
    assert found.alignment.value == 1.0
    assert found.best < mc.independent.mask < mc.paired.mask  # where pairing hurts, balanced flips help


@pytest.mark.parametrize("q", [0.1, 0.35])
def test_traces_are_those_of_enumerated_masks_and_no_new_gradient_is_needed_for_another_rate(case, q):
    scores, successes, ratios, tokens, made = case
    found = outcome.figures(made, flip_rate=q, resamples=200)
    for name, rule, weights, divisor in (
        ("MC", centred, None, None),
        ("SW", standard, np.where(np.exp(ratios) > 3, 0, np.exp(ratios)), mean_tokens(tokens, 5)),
    ):
        apart, shared = plain(scores, successes, q, rule, weights, divisor)
        one = found.estimators[name]
        assert (one.independent.trace, one.paired.trace) == (
            pytest.approx(apart, rel=1e-12),
            pytest.approx(shared, rel=1e-12),
        )
        assert one.ratio == pytest.approx(shared / apart, rel=1e-12)
    assert mean_tokens(tokens, 5) == pytest.approx(tokens.sum() / 6)
    assert found.residual < 1e-12


def test_the_two_sides_are_the_definitions(case):
    scores, successes, _, _, made = case
    clean = np.einsum("ng,ngd->nd", successes - successes.mean(axis=1, keepdims=True), scores) / 5
    away = scores - scores.mean(axis=1, keepdims=True)
    found = outcome.figures(made, resamples=200).estimators["MC"]
    assert found.left == pytest.approx((clean**2).sum(axis=1).mean(), rel=1e-12)
    assert found.right == pytest.approx(
        (successes[:, :, None] * away**2).sum(axis=(1, 2)).mean() / 25, rel=1e-12
    )
    assert found.sides_interval.lower <= found.ratio_of_sides <= found.sides_interval.upper


def test_running_vectors_give_the_same_registered_figures_and_refuse_others(case, tmp_path):
    scores, successes, ratios, tokens, made = case
    lean = probe(tmp_path, scores, successes, samples=5, ratios=ratios, own_tokens=tokens, keep="running")
    assert lean.arrays["cross"].shape == (3, 3)
    ours, theirs = outcome.figures(lean, resamples=200), outcome.figures(made, resamples=200)
    for name in ("MC", "SW"):
        one, two = ours.estimators[name], theirs.estimators[name]
        assert one.paired.trace == pytest.approx(two.paired.trace, rel=1e-12)
        assert one.independent.trace == pytest.approx(two.independent.trace, rel=1e-12)
        assert one.mean_cosine == pytest.approx(two.mean_cosine, rel=1e-12)
        assert one.ratio_interval is None
    assert any("no interval" in note for note in ours.notes)
    with pytest.raises(ConfigError, match="registered setting alone"):
        outcome.figures(lean, flip_rate=0.2)


def test_order_and_scale_of_scores_change_nothing_that_has_no_unit(case, tmp_path):
    scores, successes, ratios, tokens, made = case
    order = np.array([3, 0, 4, 2, 1])
    turned = np.linalg.qr(RNG.normal(size=(7, 7)))[0]
    moved = probe(
        tmp_path, 7.5 * scores[:, order] @ turned, successes[:, order], samples=5, ratios=ratios[:, order],
        own_tokens=tokens[:, order],
    )  # fmt: skip
    ours, theirs = outcome.figures(moved, resamples=200), outcome.figures(made, resamples=200)
    for name in ("MC", "SW"):
        one, two = ours.estimators[name], theirs.estimators[name]
        assert one.left == pytest.approx(7.5**2 * two.left, rel=1e-11)
        for what in ("ratio", "ratio_of_sides", "mask_ratio", "mean_cosine"):
            assert getattr(one, what) == pytest.approx(getattr(two, what), rel=1e-11)
    assert ours.alignment.value == pytest.approx(theirs.alignment.value, rel=1e-11)


@pytest.mark.parametrize(("k", "left", "right"), [(0, 0, 0), (1, 1, 1), (8, 0, None)])
def test_groups_without_a_contrast_and_with_one_success(tmp_path, k, left, right):
    scores = RNG.normal(size=(1, 8, 5))
    successes = (np.arange(8) < k).astype(int)[None]
    found = outcome.figures(probe(tmp_path, scores, successes), resamples=100)
    away = scores[0] - scores[0].mean(axis=0)
    expected = ((successes[0][:, None] * away) ** 2).sum() / 64
    one = found.estimators["MC"]
    assert one.right == pytest.approx(expected)
    assert one.left == pytest.approx(left * expected)
    assert (right is None) == (k == 8)
    if k <= 1:  # the designs tie
        assert one.paired.mask == pytest.approx(one.independent.mask)
    if k == 0:
        assert one.ratio is None
        assert found.residual == 0


@pytest.mark.parametrize("q", [0, 1, -0.1, 1.1])
def test_a_rate_at_which_nothing_is_random_is_refused(case, q):
    with pytest.raises((ConfigError, StudyError), match="flip rate"):
        outcome.figures(case[-1], flip_rate=q)


@pytest.mark.parametrize("q", [1e-9, 1 - 1e-9])
def test_towards_no_flips_and_only_flips_the_mask_part_vanishes(case, q):
    found = outcome.figures(case[-1], flip_rate=q, resamples=100).estimators["MC"]
    assert found.independent.mask == pytest.approx(0, abs=1e-7)
    assert found.paired.mask == pytest.approx(0, abs=1e-7)


def test_all_correct_groups_carry_what_their_flips_make_of_them(case):
    found = outcome.figures(case[-1], resamples=100).spurious
    assert (found.groups, found.all_correct, found.mixed) == (6, 1, 4)
    assert found.chance_independent == pytest.approx(1 - 0.9**5 - 0.1**5)
    assert found.share_paired == 0

    def expected(k):  # E sum A^2 over independent masks, written out
        total = 0.0
        for flip in itertools.product((0, 1), repeat=k):
            reward = np.array([1.0 - f for f in flip] + [0.0] * (5 - k))
            total += np.prod([0.1 if f else 0.9 for f in flip]) * (standard(reward) ** 2).sum()
        return total

    share = expected(5) / sum(expected(k) for k in (3, 5, 1, 2, 4))
    assert found.share_independent == pytest.approx(share)
    assert found.lost_independent == pytest.approx(np.mean([0.1**3, 0.1, 0.1**2, 0.1**4]))


def test_partial_pairing_lies_on_the_line_between_the_designs(tmp_path):
    made = probe(tmp_path, RNG.normal(size=(2, 8, 4)), np.array([[1, 1, 1, 0, 0, 0, 0, 1], [1] * 7 + [0]]))
    found = outcome.figures(made, resamples=100)
    one = found.estimators["MC"]
    assert [dose.block for dose in found.doses] == [1, 2, 4, 8]
    assert [dose.dose for dose in found.doses] == pytest.approx([0, 1 / 7, 3 / 7, 1])
    for dose in found.doses:
        line = one.independent.mask + dose.dose * (one.paired.mask - one.independent.mask)
        assert dose.mask == pytest.approx(line)


def test_a_grader_that_also_passes_failures_is_the_general_law(case):
    scores, successes, *_, made = case
    found = outcome.figures(made, false_rate=0.05, resamples=100).two_sided
    traces = {"paired": 0.0, "independent": 0.0}
    for s, r in zip(scores, successes, strict=True):
        levers = np.eye(5) - 0.2
        q = np.where(r == 1, 0.1, 0.05)
        step = 1 - 2 * r
        joint = np.minimum.outer(q, q) - np.outer(q, q)  # one uniform for the group
        for name, cov in (("paired", joint), ("independent", np.diag(q * (1 - q)))):
            rewards = cov * np.outer(step, step)
            traces[name] += np.trace(levers @ s @ s.T @ levers @ rewards) / 25 / 6
    assert found.paired == pytest.approx(traces["paired"])
    assert found.independent == pytest.approx(traces["independent"])
    assert outcome.figures(made, resamples=100).two_sided is None
    same = outcome.figures(made, false_rate=0.0, resamples=100)
    assert same.two_sided.paired == pytest.approx(same.estimators["MC"].paired.mask)


def test_groups_below_the_threshold_are_those_in_which_pairing_lowers_the_mask_part(case):
    from study.theory import geometry
    from study.theory.closed_forms import flip_moments
    from study.theory.designs import Independent, Paired

    scores, successes, *_, made = case
    found = outcome.figures(made, resamples=100).estimators["MC"]
    groups = [geometry.of_scores(s, r) for s, r in zip(scores, successes, strict=True) if r.sum() >= 2]
    lower = [flip_moments(g, 0.1, Paired()).trace < flip_moments(g, 0.1, Independent()).trace for g in groups]
    assert (found.favourable, found.decided) == (sum(lower), len(groups))


def test_a_large_group_is_held_to_the_covariance_law(tmp_path):
    made = probe(tmp_path, RNG.normal(size=(2, 16, 4)), RNG.integers(0, 2, size=(2, 16)), samples=16)
    found = outcome.figures(made, resamples=100)
    assert found.gap_by == "covariance law"
    assert found.residual < 1e-12


def test_transition_evidence_is_not_outcome_evidence(tmp_path):
    made = probe(tmp_path, RNG.normal(size=(3, 16, 4)), RNG.integers(0, 2, size=(3, 16)), kind="transition")
    with pytest.raises(ConfigError, match="not evidence of an outcome probe"):
        outcome.figures(made)

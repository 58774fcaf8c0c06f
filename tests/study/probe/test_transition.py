"""The transition probe's figures against gradients that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from study.errors import ConfigError
from study.probe import transition
from study.probe.estimators import mean_tokens
from study.probe.passes import comparators
from study.theory import transition as pools
from tests.study.probe.made import probe, spec
from tests.study.probe.test_outcome import centred, standard

RNG = np.random.default_rng(5)
TASKS, W, G = 5, 4, 4


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    scores = RNG.normal(size=(TASKS, W * G, 6)) + 0.2
    successes = RNG.integers(0, 2, size=(TASKS, W * G))
    ratios = RNG.normal(size=(TASKS, W * G)) * 0.3
    tokens = RNG.integers(2, 9, size=(TASKS, W * G))
    made = probe(
        tmp_path_factory.mktemp("t"), scores, successes, kind="transition", ratios=ratios, own_tokens=tokens
    )
    return scores, successes, ratios, tokens, made


def written_out(case, groups, rule, weights, divisor):
    """(within, between) with 1/n, from the gradients of the groups themselves."""
    scores, successes = case[:2]
    each = []
    for task in range(TASKS):
        each.append([
            (rule(successes[task][rows]) * weights[task][rows]) @ scores[task][rows] / divisor for rows in groups[task]
        ])  # fmt: skip
    g = np.array(each)  # (tasks, groups, d)
    within = (g**2).sum(axis=2).mean(axis=1) - (g.mean(axis=1) ** 2).sum(axis=1)
    means = g.mean(axis=1)
    return within.mean(), (means**2).sum(axis=1).mean() - (means.mean(axis=0) ** 2).sum()


def test_pooled_traces_are_those_of_the_groups_in_the_evidence(case):
    _, _, ratios, tokens, made = case
    found = transition.figures(made, groups=50, resamples=200)
    fixed = {"paired": [np.arange(W * G).reshape(W, G)] * TASKS} | {
        name: made.arrays[name].astype(int) for name in ("with_replacement", "stratified")
    }
    for name, rule, weights, divisor in (
        ("MC", centred, np.ones_like(ratios), G), ("SW", standard, np.exp(ratios), mean_tokens(tokens, G)),
    ):  # fmt: skip
        one = found.estimators[name]
        for design, groups in fixed.items():
            within, between = written_out(case, groups, rule, weights, divisor)
            assert one.pooled[design].within == pytest.approx(within, rel=1e-11)
            assert one.pooled[design].between == pytest.approx(between, rel=1e-10)
        for design in ("with_replacement", "stratified"):
            ratio = one.pooled["paired"].trace / one.pooled[design].trace
            assert one.against[design].ratio == pytest.approx(ratio)
            assert one.against[design].interval.lower <= ratio <= one.against[design].interval.upper


def test_running_vectors_give_the_same_pooled_traces(case, tmp_path):
    scores, successes, ratios, tokens, made = case
    lean = probe(
        tmp_path, scores, successes, kind="transition", ratios=ratios, own_tokens=tokens, keep="running"
    )
    assert lean.arrays["cross"].shape == (6, 6)
    ours, theirs = (transition.figures(one, groups=50, resamples=200) for one in (lean, made))
    for name in ("MC", "SW"):
        one, two = ours.estimators[name], theirs.estimators[name]
        for design, pooled in one.pooled.items():
            assert pooled.trace == pytest.approx(two.pooled[design].trace, rel=1e-11)
        assert one.mean_cosine == pytest.approx(two.mean_cosine, rel=1e-10)
        assert one.against["stratified"].interval is None
    assert any("no interval" in note for note in ours.notes)


def test_comparator_groups_are_what_their_names_say():
    drawn = comparators(spec("transition", tasks=40, comparators=64))
    labels = drawn["stratified"] // G
    assert (np.sort(labels, axis=2) == np.arange(W)).all()  # every schedule once
    rows = np.sort(drawn["with_replacement"], axis=2)
    assert (np.diff(rows, axis=2) > 0).all()  # rollouts within a group differ
    again = np.sort(drawn["with_replacement"] // G, axis=2)
    repeated = (np.diff(again, axis=2) == 0).any(axis=2).mean()
    assert repeated == pytest.approx(1 - 4 * 3 * 2 * 1 / 4**4, abs=0.03)  # labels may repeat
    same = comparators(spec("transition", tasks=40, comparators=64))
    assert all((drawn[name] == same[name]).all() for name in drawn)
    other = comparators(spec("transition", tasks=40, comparators=64, checkpoint=60))
    assert any((drawn[name] != other[name]).any() for name in drawn)


def test_within_task_traces_without_the_bias_of_one_over_n(case):
    scores, successes, _, _, made = case
    found = transition.figures(made, groups=20_000, resamples=200).estimators["MC"]
    tasks = [
        pools.Pool(r.reshape(W, G).astype(float), s @ s.T) for s, r in zip(scores, successes, strict=True)
    ]
    assert found.fresh_paired == pytest.approx(np.mean([pools.paired(one).trace for one in tasks]))
    assert found.pooled["paired"].within == pytest.approx(found.fresh_paired * (W - 1) / W)
    fresh = np.mean([pools.independent(one, G).trace for one in tasks])
    assert found.fresh_independent == pytest.approx(fresh)
    assert found.fresh == pytest.approx(found.fresh_paired / fresh)
    # a stratified group of a pool holds every schedule once, so its expected square is that of fresh schedules
    rng = np.random.default_rng(0)
    stratified = np.mean([
        pools.regrouped(one, G, groups=20_000, rng=rng, scheme="stratified").trace for one in tasks
    ])  # fmt: skip
    assert found.against["stratified"].many == pytest.approx(found.fresh_paired / stratified, rel=0.03)


def test_the_luck_share_is_that_of_the_same_rollouts(case):
    successes, made = case[1], case[-1]
    found = transition.figures(made, groups=50, resamples=200).luck
    shares = []
    for table in successes.reshape(TASKS, W, G):
        within = table.var(axis=1, ddof=1).mean()
        between = max(0.0, table.mean(axis=1).var(ddof=1) - within / G)
        shares.append(between / (between + within) if between + within else np.nan)
    assert found.share == pytest.approx(np.nanmean(shares))
    assert found.contrast_paired == pytest.approx(
        2 * successes.reshape(TASKS, W, G).var(axis=2, ddof=1).mean()
    )
    assert found.undefined == int(np.isnan(shares).sum())


def test_the_null_bias_of_a_table_too_large_for_the_exact_law_is_simulated(tmp_path):
    rng = np.random.default_rng(0)
    successes = rng.integers(0, 2, size=(1, 24 * 16))
    made = probe(
        tmp_path, rng.normal(size=(1, 24 * 16, 2)), successes, kind="transition", schedules=24, samples=16
    )
    exact = transition._null(made, 0.5).bias
    small = transition.luck_null.MOST_CELLS
    try:
        transition.luck_null.MOST_CELLS = 10
        drawn = transition._null(made, 0.5)
    finally:
        transition.luck_null.MOST_CELLS = small
    assert drawn.bias == pytest.approx(exact, abs=5 * drawn.error)
    assert drawn.error > 0


def test_outcome_evidence_is_not_transition_evidence(tmp_path):
    made = probe(tmp_path, RNG.normal(size=(2, 8, 4)), RNG.integers(0, 2, size=(2, 8)))
    with pytest.raises(ConfigError, match="not evidence of a transition probe"):
        transition.figures(made)

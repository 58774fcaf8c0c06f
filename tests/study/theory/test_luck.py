from __future__ import annotations

import itertools

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import luck, luck_null


@pytest.mark.parametrize(
    ("table", "share", "between", "within", "clipped"),
    [
        ([[1, 1, 1, 0], [0, 0, 0, 1]], 1 / 5, 1 / 2, 1 / 4, False),
        ([[1, 1, 1, 1], [1, 1, 1, 1]], None, 0.0, 0.0, False),
        ([[1, 1, 1, 1], [0, 0, 0, 0]], 1.0, 2.0, 0.0, False),
        ([[1, 0, 1, 0], [0, 1, 0, 1]], 0.0, 0.0, 1 / 3, True),
    ],
)
def test_small_tables_by_hand(table, share, between, within, clipped):
    found = luck.luck_table(table)
    assert found.share == share
    assert found.ms_between == between
    assert found.ms_within == pytest.approx(within, rel=1e-15)
    assert found.clipped is clipped


def test_a_constant_table_is_undefined_even_where_its_mean_is_rounded():
    for value in (0.1, 1 / 3, 0.7):
        assert luck.luck_table(np.full((3, 7), value)).share is None


def test_share_ignores_order_shift_and_scale():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 4)) + rng.normal(size=(5, 1))
    share = luck.luck_table(table).share
    shuffled = np.array([rng.permutation(row) for row in rng.permutation(table)])
    assert luck.luck_table(shuffled).share == pytest.approx(share, rel=1e-12)
    assert luck.luck_table(7 * table - 3).share == pytest.approx(share, rel=1e-12)


def test_undefined_tables_are_counted_and_left_out():
    found = luck.mean_luck([[[1, 1], [1, 1]], [[1, 1], [0, 0]], [[1, 0], [0, 1]]])
    assert (found.share, found.defined, found.undefined) == (0.5, 2, 1)
    assert luck.mean_luck([[[1, 1], [1, 1]]]).share is None


@pytest.mark.parametrize(("p", "printed"), [(0.5, "0.0909"), (0.8, "0.286"), (0.95, "0.655")])
def test_luck_share_of_grader_flips(p, printed):
    q = 0.1
    share = luck.grader_flips(p, q).share
    assert f"{share:.{len(printed) - 2}f}" == printed
    assert share == pytest.approx(q * p / (1 - (1 - q) * p), rel=1e-14)


def test_the_ends_of_grader_flips():
    assert luck.grader_flips(1.0, 0.3).share == 1.0
    assert luck.grader_flips(0.5, 0.0).share == 0.0
    for p, q in ((0.0, 0.3), (0.4, 1.0), (1.0, 0.0)):
        assert luck.grader_flips(p, q).share is None


def test_equivalents():
    assert luck.matching_replicates(0.25) == pytest.approx(4 / 3)
    assert luck.matching_replicates(1.0) == float("inf")
    assert luck.effective_size_of_mean(8, 0.0) == 8.0
    assert luck.effective_size_of_mean(8, 1.0) == 1.0
    assert luck.effective_size_of_mean(8, 0.5) == pytest.approx(8 / 4.5)


def test_the_effective_size_is_that_of_a_paired_group():
    """Var(mean R) of a paired group, enumerated over flip and actions, against Var(R)/n_eff."""
    p, q, size = 0.6, 0.3, 4
    means, law = [], []
    for kept in (0, 1):
        for actions in itertools.product((0, 1), repeat=size):
            means.append(kept * np.mean(actions))
            law.append((1 - q if kept else q) * np.prod([p if a else 1 - p for a in actions]))
    mean = np.dot(law, means)
    variance = np.dot(law, (np.array(means) - mean) ** 2)
    parts = luck.grader_flips(p, q)
    effective = luck.effective_size_of_mean(size, parts.share)
    assert variance == pytest.approx((parts.env + parts.pol) / effective, rel=1e-12)


def test_the_null_bias_at_eight_by_eight():
    """The reference's .024 to .027: normal rewards .0273, binary ones .0245 at p = .9 up to .0276 at p = .5."""
    assert luck_null.normal(8, 8).mean == pytest.approx(0.02727, abs=5e-6)
    assert luck_null.binary(0.9, 8, 8).bias == pytest.approx(0.02454, abs=5e-6)
    assert luck_null.binary(0.8, 8, 8).bias == pytest.approx(0.02654, abs=5e-6)
    assert luck_null.binary(0.5, 8, 8).bias == pytest.approx(0.02759, abs=5e-6)
    assert luck_null.binary(0.3, 8, 8).mean == pytest.approx(luck_null.binary(0.7, 8, 8).mean, rel=1e-12)


@pytest.mark.parametrize("rates", [[0.4], [0.2, 0.9]])
def test_the_exact_law_equals_every_table_enumerated(rates):
    rows, columns = 3, 3
    law = np.full(len(rates), 1 / len(rates))
    total = known = clipped = 0.0
    for cells in itertools.product((0, 1), repeat=rows * columns):
        table = np.array(cells).reshape(rows, columns)
        chance = 1.0
        for row in table:
            chance *= sum(w * np.prod(np.where(row, p, 1 - p)) for w, p in zip(law, rates, strict=True))
        found = luck.luck_table(table)
        if found.share is not None:
            total, known = total + chance * found.share, known + chance
            clipped += chance * found.clipped
    exact = luck_null.binary(rates, rows, columns)
    assert exact.mean == pytest.approx(total / known, rel=1e-12)
    assert exact.undefined == pytest.approx(1 - known, abs=1e-13)
    assert exact.clipped == pytest.approx(clipped / known, rel=1e-12)
    mean = np.mean(rates)
    assert exact.truth == pytest.approx(np.var(rates) / (mean * (1 - mean)), abs=1e-15)


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (2, 2), (3, 5), (16, 4)])
def test_simulation_agrees_with_the_integral_and_the_exact_law(rows, columns):
    rng = np.random.default_rng(rows * 100 + columns)
    drawn = luck_null.simulated(
        lambda rng, k, m: rng.normal(size=(k, m)), rows, columns, tables=1500, rng=rng, truth=0.0
    )
    exact = luck_null.normal(rows, columns)
    assert abs(drawn.mean - exact.mean) < 4 * drawn.error
    assert abs(drawn.clipped - exact.clipped) < 4 * np.sqrt(exact.clipped * (1 - exact.clipped) / 1500)
    drawn = luck_null.simulated(
        lambda rng, k, m: rng.random((k, m)) < 0.8, rows, columns, tables=1500, rng=rng, truth=0.0
    )
    exact = luck_null.binary(0.8, rows, columns)
    assert abs(drawn.mean - exact.mean) < 4 * drawn.error
    assert drawn.bias == drawn.mean


def test_the_bias_shrinks_with_the_design():
    biases = [luck_null.normal(size, 8).mean for size in (4, 8, 16, 64)]
    assert biases == sorted(biases, reverse=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: luck.luck_table([[1, 0]]),
        lambda: luck.luck_table([[1], [0]]),
        lambda: luck.luck_table([1, 0]),
        lambda: luck.luck_table([[1, float("nan")], [0, 1]]),
        lambda: luck.mean_luck([]),
        lambda: luck.grader_flips(1.2, 0.1),
        lambda: luck.grader_flips(0.5, -0.1),
        lambda: luck.RewardVariance(-1.0, 0.0),
        lambda: luck.matching_replicates(1.1),
        lambda: luck.effective_size_of_mean(1, 0.5),
        lambda: luck_null.binary(1.2, 8, 8),
        lambda: luck_null.binary([], 8, 8),
        lambda: luck_null.binary(0.5, 1, 8),
        lambda: luck_null.binary(0.5, 64, 64),
        lambda: luck_null.normal(8, 1),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(TheoryError, match="expected"):
        call()

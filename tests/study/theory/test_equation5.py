from __future__ import annotations

import math

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import enumeration, equation5, geometry
from study.theory.advantages import MeanCentred, Standardised
from study.theory.closed_forms import flip_moments
from study.theory.designs import Independent, Paired
from study.theory.equation5 import Sides, Traces
from study.theory.geometry import Geometry


def test_the_residual_of_equation_5_is_below_1e_12(random_groups):
    """The gap by enumerated masks against q(1-q)(L - R) from the geometry, group by group and pooled."""
    gaps, kept = [], []
    for group in random_groups(200, seed=77):
        q = group.flip_rate
        traces = [
            enumeration.flip_moments(
                group.scores, group.successes, q, design, MeanCentred(), weights=group.weights
            ).trace
            for design in (Paired(), Independent())
        ]
        one = geometry.of_scores(group.scores, group.successes, group.weights)
        gap = traces[0] - traces[1]
        if 0 < q < 1:
            assert equation5.residual(gap, Sides(one.left, one.right), q) < 1e-12
        else:
            assert abs(gap) < 1e-12 * group.scale
        if q == 0.1:
            gaps.append(gap)
            kept.append(one)
    assert len(kept) > 20
    assert equation5.residual(float(np.mean(gaps)), equation5.sides(kept), 0.1) < 1e-12


def test_the_condition_is_the_sign_of_the_average_product_of_two_successes(random_groups):
    for group in random_groups(60, seed=13):
        rows = group.scores - group.scores.mean(axis=0)
        kept = rows[group.successes == 1]
        products = kept @ kept.T
        off = (products.sum() - np.trace(products)) / len(rows) ** 2
        one = geometry.of_scores(group.scores, group.successes)
        assert one.left - one.right == pytest.approx(off, rel=1e-9, abs=1e-12 * group.scale)


def test_both_traces_and_the_papers_arithmetic_of_reductions():
    """A mask share of .29 with L/R = .27 is a reduction of 21 %, .37 with .19 is 30 % (Section 6.4 and 6.5)."""
    for share, ratio, printed in ((0.29, 0.27, 0.21), (0.37, 0.19, 0.30)):
        right, between = 1.0, 1 / share - 1
        traces = Traces(independent=right + between, paired=ratio * right + between, between=between)
        assert traces.mask_share == pytest.approx(share, rel=1e-12)
        assert 1 - traces.ratio == pytest.approx(traces.mask_share * (1 - ratio), rel=1e-12)
        assert round(share * (1 - ratio), 2) == printed


def test_traces_add_the_same_between_part():
    sides = Sides(left=0.5, right=0.8)
    traces = sides.traces(0.1, clean_variance=0.4)
    assert traces.between == pytest.approx(0.81 * 0.4)
    assert traces.independent == pytest.approx(0.09 * 0.8 + 0.81 * 0.4)
    assert traces.paired - traces.independent == pytest.approx(sides.gap(0.1), rel=1e-12)
    assert 1 - traces.ratio == pytest.approx(traces.mask_share * (1 - sides.ratio), rel=1e-12)
    with pytest.raises(TheoryError, match="clean gradient"):
        sides.traces(0.1, clean_variance=0.6)


def test_ends_tie_whatever_the_geometry():
    sides = Sides(left=3.0, right=1.0)
    assert sides.gap(0.0) == sides.gap(1.0) == 0.0
    assert not sides.holds
    assert Sides(0.0, 0.0).ratio is None
    assert equation5.residual(0.0, Sides(0.0, 0.0), 0.5) == 0.0
    assert equation5.residual(1.0, sides, 0.0) == math.inf
    for q in (-0.1, 1.1, float("nan"), "much"):
        with pytest.raises(TheoryError):
            sides.gap(q)


@pytest.mark.parametrize("size", [2, 5, 8, 16])
def test_the_mean_centred_threshold_is_one(size):
    for k in range(2, size + 1):
        for q in (0.01, 0.1, 0.9):
            assert equation5.threshold(k, size, q) == pytest.approx(1.0, rel=1e-9)
    assert equation5.threshold(1, size, 0.1) is None
    assert equation5.threshold(size, size, 0.0) is None


@pytest.mark.parametrize("rule", [MeanCentred(), Standardised(), Standardised(eps=0.01, ddof=0)], ids=str)
def test_the_threshold_is_where_the_designs_tie(rule):
    """On either side of tau, by the closed forms, which are themselves held to enumeration."""
    for size, q in ((4, 0.1), (8, 0.1), (8, 0.4), (8, 0.8)):
        for k in range(2, size):
            tau = equation5.threshold(k, size, q, rule)
            # Beyond L = k R there is no geometry (Cauchy-Schwarz): pairing then helps all that there are.
            points = [(0.99 * tau, -1), (1.01 * tau, 1)] if 1.01 * tau <= k else [(float(k), -1)]
            for ratio, sign in points:
                one = Geometry(size, k, ratio, 1.0)
                paired = flip_moments(one, q, Paired(), rule).trace
                apart = flip_moments(one, q, Independent(), rule).trace
                assert math.copysign(1, paired - apart) == sign


def test_an_all_correct_group_always_favours_pairing_under_standardisation():
    assert equation5.threshold(8, 8, 0.1, Standardised()) == math.inf

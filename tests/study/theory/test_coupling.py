from __future__ import annotations

import itertools

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import coupling, covariance_law, geometry
from study.theory.advantages import MeanCentred, Standardised
from study.theory.closed_forms import flip_moments
from study.theory.designs import Balanced, Blocks, Exchangeable, Independent, Paired, PartlyShared
from study.theory.geometry import Geometry


def _equal_partitions(members, block):
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for mates in itertools.combinations(rest, block - 1):
        left = [m for m in rest if m not in mates]
        for more in _equal_partitions(left, block):
            yield [[first, *mates], *more]


@pytest.mark.parametrize(("size", "block"), [(4, 2), (6, 2), (6, 3), (8, 4)])
def test_partial_pairing_interpolates_linearly_averaged_over_every_partition(size, block):
    """The law on each fixed partition, averaged over all of them, is (1 - dose) R + dose L, times q(1-q)."""
    rng = np.random.default_rng(size * block)
    scores, successes, q = rng.normal(size=(size, 3)), (np.arange(size) % 3 > 0).astype(float), 0.2
    one = geometry.of_scores(scores, successes)
    traces = []
    for partition in _equal_partitions(list(range(size)), block):
        labels = np.empty(size)
        for index, members in enumerate(partition):
            labels[members] = index
        noise = covariance_law.switched(successes, -successes, np.full(size, q), 1.0, labels)
        traces.append(covariance_law.moments(scores @ scores.T, noise).trace)
    dose = (block - 1) / (size - 1)
    expected = q * (1 - q) * ((1 - dose) * one.right + dose * one.left)
    assert np.mean(traces) == pytest.approx(expected, rel=1e-12)
    assert flip_moments(one, q, Blocks(block)).trace == pytest.approx(expected, rel=1e-12)
    assert coupling.pair_rate([block] * (size // block)) == pytest.approx(dose, rel=1e-15)
    assert np.std(traces) > 1e-6


def test_unequal_blocks_count_their_pairs():
    assert coupling.pair_rate([3, 2, 1]) == pytest.approx((6 + 2) / 30)
    assert coupling.pair_rate([1, 1, 1]) == 0.0
    assert coupling.pair_rate([5]) == 1.0


def test_the_dose_response_runs_from_independent_to_paired():
    one = geometry.orthogonal(8, 5)
    doses = coupling.dose_response(one, 0.1, Standardised())
    assert list(doses) == [1, 2, 4, 8]
    assert doses[1].trace == pytest.approx(flip_moments(one, 0.1, Independent(), Standardised()).trace)
    assert doses[8].trace == pytest.approx(flip_moments(one, 0.1, Paired(), Standardised()).trace)


def _random_law(rng, size, mean):
    """A law of N with this mean: a random one, tilted by mixing with a point on the other side."""
    law = rng.dirichlet(np.full(size + 1, 0.3))
    here = law @ np.arange(size + 1)
    end = size if here < mean else 0
    share = (mean - here) / (end - here)
    law *= 1 - share
    law[end] += share
    return law


@pytest.mark.parametrize("rule", [MeanCentred(), Standardised()], ids=str)
@pytest.mark.parametrize("objective", ["trace", "relative"])
def test_no_exchangeable_law_beats_the_best_one(rule, objective):
    rng = np.random.default_rng(17)
    for size, k, ratio, q in ((6, 3, 0.2, 0.2), (6, 4, 2.5, 0.37), (8, 7, 5.0, 0.1), (5, 2, 1.4, 0.4)):
        one = Geometry(size, k, ratio, 1.0)

        def value(moments, objective=objective):
            return moments.trace / (moments.mean_square if objective == "relative" else 1.0)

        best = coupling.best_exchangeable(one, q, rule, objective)
        assert value(best.best) <= min(value(best.paired), value(best.independent)) * (1 + 1e-12)
        for _ in range(150):
            law = Exchangeable(tuple(_random_law(rng, size, size * q)))
            assert value(best.best) <= value(flip_moments(one, q, law, rule)) * (1 + 1e-9)


@pytest.mark.parametrize("q", [0.1, 0.125, 0.3, 0.5])
def test_mean_centred_pairing_is_best_below_one_and_balancing_above(q):
    for k in range(2, 8):
        below = coupling.best_exchangeable(Geometry(8, k, 0.5, 1.0), q)
        assert below.counts == (0, 8)
        above = coupling.best_exchangeable(Geometry(8, k, 1.5, 1.0), q)
        balanced = flip_moments(Geometry(8, k, 1.5, 1.0), q, Balanced())
        assert above.best.trace == pytest.approx(balanced.trace, rel=1e-12)
        assert above.best.trace < above.independent.trace < above.paired.trace
        assert max(above.counts) - min(above.counts) <= 1


def test_the_trace_is_linear_in_the_pair_covariance():
    one = Geometry(8, 5, 2.0, 1.0)
    for design in (Independent(), Paired(), Balanced(), Blocks(2), Blocks(4)):
        c = design.pair_covariance(8, 0.3)
        expected = 0.21 * one.right + c * (one.left - one.right)
        assert flip_moments(one, 0.3, design).trace == pytest.approx(expected, rel=1e-12)


def test_balanced_flips_are_antithetic_and_have_the_smallest_variance():
    design = Balanced()
    for size, q in ((8, 0.1), (8, 0.25), (5, 0.6)):
        law = design.flipped(size, q)
        count = np.arange(size + 1)
        assert law @ count == pytest.approx(size * q)
        fraction = size * q % 1
        assert law @ count**2 - (size * q) ** 2 == pytest.approx(fraction * (1 - fraction), abs=1e-12)
        assert design.pair_covariance(size, q) < 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: coupling.best_exchangeable(geometry.orthogonal(4, 2), 0.1, objective="speed"),
        lambda: coupling.best_exchangeable(geometry.orthogonal(4, 4), 0.1, objective="relative"),
        lambda: coupling.best_exchangeable(geometry.orthogonal(4, 2), 1.5),
        lambda: coupling.pair_rate([]),
        lambda: coupling.pair_rate([1]),
        lambda: coupling.pair_rate([2, 0]),
        lambda: Blocks(0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(TheoryError):
        call()


def test_ends_and_empty_groups_have_a_best_design_too():
    for k in (0, 1, 4):
        for q in (0.0, 1.0):
            assert coupling.best_exchangeable(geometry.orthogonal(4, k), q).best.trace == 0.0
    assert coupling.best_exchangeable(geometry.orthogonal(4, 0), 0.3).best.trace == 0.0


def test_a_partly_shared_group_is_paired_with_the_given_probability():
    """Cov(F_i, F_j) = share q(1-q), and nobody flips with probability share (1-q) + (1-share)(1-q)^G."""
    design = PartlyShared(0.3)
    assert design.pair_covariance(8, 0.2) == pytest.approx(0.3 * 0.16, rel=1e-12)
    assert design.flipped(8, 0.2)[0] == pytest.approx(0.3 * 0.8 + 0.7 * 0.8**8, rel=1e-12)
    with pytest.raises(TheoryError):
        PartlyShared(1.2)

from __future__ import annotations

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import diversity, enumeration, rates
from study.theory.advantages import MeanCentred, Standardised
from study.theory.designs import Balanced, Blocks, Independent, Paired


@pytest.mark.parametrize(
    ("size", "q", "printed"), [(8, 0.1, 0.569533), (8, 0.05, 0.3366), (8, 0.2, 0.8322), (16, 0.1, 0.815)]
)
def test_spurious_rates_of_section_4_4(size, q, printed):
    places = len(str(printed)) - 2
    assert round(rates.spurious(size, q, Independent()), places) == printed
    assert rates.spurious(size, q, Independent()) == pytest.approx(1 - (1 - q) ** size - q**size, rel=1e-12)
    assert rates.spurious(size, q, Paired()) == 0.0


def test_lost_contrasts():
    for k in range(1, 8):
        assert rates.lost_contrast(k, 8, 0.1, Independent()) == pytest.approx(0.1**k, rel=1e-12)
        assert rates.lost_contrast(k, 8, 0.1, Paired()) == pytest.approx(0.1, rel=1e-15)


@pytest.mark.parametrize("design", [Independent(), Paired(), Balanced(), Blocks(2)], ids=str)
def test_both_rates_by_counting_masks(design):
    for k in (1, 2, 4):
        successes = (np.arange(4) < k).astype(float)
        constant = varied = 0.0
        for rewards, law in enumeration.masks(successes, 0.3, design):
            same = (rewards == rewards[:, :1]).all(axis=1)
            constant += law[same].sum()
            varied += law[~same].sum()
        if k == 4:
            assert rates.spurious(4, 0.3, design) == pytest.approx(varied, abs=1e-14)
        else:
            assert rates.lost_contrast(k, 4, 0.3, design) == pytest.approx(constant, abs=1e-14)


def test_the_papers_count_of_spurious_groups_agrees_with_the_exact_rate():
    """2,080 of 3,726 independent all-correct groups (Section 6.1) lie 1.4 standard deviations below 57.0 %."""
    score = rates.standard_score(2080, 3726, 8, 0.1, Independent())
    assert score == pytest.approx((2080 - 3726 * 0.569533) / np.sqrt(3726 * 0.569533 * 0.430467), abs=1e-3)
    assert abs(score) < 2
    assert rates.standard_score(0, 3989, 8, 0.1, Paired()) is None
    with pytest.raises(TheoryError, match="impossible"):
        rates.standard_score(1, 3989, 8, 0.1, Paired())


def test_a_spurious_group_weighs_as_much_as_a_real_one_under_standardisation():
    for m in range(1, 8):
        assert rates.advantage_mass(m, 8) == pytest.approx(7.0, rel=1e-3)
        assert rates.advantage_mass(m, 8, MeanCentred()) == pytest.approx(m * (8 - m) / 8, rel=1e-15)
        seen = (np.arange(8) < m).astype(float)
        assert rates.advantage_mass(m, 8) == pytest.approx((Standardised().advantages(seen) ** 2).sum())
    assert rates.advantage_mass(0, 8) == rates.advantage_mass(8, 8) == 0.0


def test_a_budget_accounts_for_every_group_and_every_advantage():
    for p in (0.0, 0.3, 0.9, 1.0):
        for design in (Independent(), Paired(), Blocks(4)):
            one = rates.budget(p, 8, 0.1, design)
            assert one.real + one.lost + one.spurious + one.silent == pytest.approx(1.0, rel=1e-12)
            assert min(one.real, one.lost, one.spurious, one.silent) > -1e-15
    assert rates.budget(0.9, 8, 0.1, Paired()).spurious_mass == 0.0
    assert rates.budget(1.0, 8, 0.1, Independent()).spurious_mass == 1.0
    assert rates.budget(0.0, 8, 0.1, Paired()).spurious_mass is None
    assert rates.budget(0.95, 8, 0.1, Independent()).spurious == pytest.approx(0.95**8 * 0.569533, abs=1e-6)


def test_diversity():
    paired, apart = diversity.of_batch(24, 8), diversity.of_batch(24, 8, block=1)
    assert (paired.schedules, apart.schedules) == (24, 192)
    assert paired.per_rollout == 1 / 8
    assert paired.chance_seen(0.01) == pytest.approx(1 - 0.99**24, rel=1e-12)
    assert apart.batches_to_see(0.01) == pytest.approx(1 / (1 - 0.99**192), rel=1e-12)
    assert paired.chance_seen(0.0) == 0.0
    assert paired.chance_seen(1.0) == 1.0
    assert paired.batches_to_see(0.0) == float("inf")
    assert paired.expected_distinct(1) == 1.0
    assert paired.expected_distinct(10) == pytest.approx(10 * (1 - 0.9**24), rel=1e-12)
    assert paired.design_effect(0.3) == pytest.approx(1 + 7 * 0.3)
    assert apart.design_effect(0.3) == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: rates.spurious(1, 0.1, Independent()),
        lambda: rates.spurious(8, 1.5, Independent()),
        lambda: rates.lost_contrast(0, 8, 0.1, Paired()),
        lambda: rates.lost_contrast(8, 8, 0.1, Paired()),
        lambda: rates.advantage_mass(9, 8),
        lambda: rates.budget(-0.1, 8, 0.1, Paired()),
        lambda: diversity.of_batch(0, 8),
        lambda: diversity.of_batch(3, 8, block=3),
        lambda: diversity.of_batch(True, 8),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(TheoryError, match="expected"):
        call()

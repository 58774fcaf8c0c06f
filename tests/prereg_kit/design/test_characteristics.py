"""Operating characteristics against published figures, against integrals, and against enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from prereg_kit.design.characteristics import (
    FAIL,
    INCONCLUSIVE,
    PASS,
    Setting,
    effect_of_power,
    family,
    grid,
    interval_level,
    judge,
)
from prereg_kit.design.simulation import (
    Known,
    deviates,
    seed_quantile,
    simulate_differences,
    standard_ends,
)
from prereg_kit.errors import DecisionError
from prereg_kit.statistics.random_stream import StreamKey

KEY = StreamKey(20260911, "0" * 64)
SETTING = Setting(KEY)
SDS = (0.02, 0.03, 0.04, 0.05)
CLAUSES = {"mean": lambda d: d.mean(axis=1) >= 0.03, "every seed": lambda d: (d > 0).all(axis=1)}


def rule(differences: np.ndarray) -> np.ndarray:
    """Mean at least .03 and every seed above 0."""
    return (CLAUSES["mean"](differences) & CLAUSES["every seed"](differences)).astype(np.int64)


def by_integral(effect: float, sd: float) -> float:
    """The same probability for 3 seed pairs: two differences on a fine grid, the third in closed form."""
    width = (max(effect, 0) + 8 * sd) / 1500
    places = (np.arange(1500) + 0.5) * width
    density = stats.norm.pdf(places, effect, sd) * width
    needed = np.maximum(0.09 - places[:, None] - places[None, :], 0)
    return float(density @ ndtr((effect - needed) / sd) @ density)


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (0.0, (0.004, 0.033, 0.064, 0.086)),
        (0.03, (0.482, 0.427, 0.375, 0.332)),
        (0.06, (0.992, 0.913, 0.787, 0.670)),
    ],
)
def test_reference_values_of_the_rule(effect: float, expected: tuple[float, ...]) -> None:
    cells = grid(rule, SETTING, effects=[effect], seed_sds=SDS)
    assert [cell.seed_sd for cell in cells] == list(SDS)
    for cell, value in zip(cells, expected, strict=True):
        assert abs(cell.passing - value) < 0.005
        assert abs(cell.passing - by_integral(effect, cell.seed_sd)) < 4 * cell.error
        assert math.isclose(sum(cell.shares.values()), 1)


@pytest.mark.parametrize(("sd", "expected"), [(0.03, 0.135), (0.035, 0.159), (0.04, 0.177), (0.047, 0.194)])
def test_reference_values_given_a_known_first_difference(sd: float, expected: float) -> None:
    setting = Setting(KEY, known=(Known(difference=0.048),))
    cell = grid(rule, setting, effects=[0.0], seed_sds=[sd])[0]
    assert abs(cell.passing - expected) < 0.01
    exact = integrate.quad(
        lambda x: stats.norm.pdf(x, 0, sd) * stats.norm.sf(max(0.042 - x, 0), 0, sd), 0, 9 * sd
    )[0]
    assert abs(cell.passing - exact) < 4 * cell.error


def test_more_seeds_are_the_same_studies_continued() -> None:
    few, many = deviates(KEY, 1000, 3), deviates(KEY, 1000, 5)
    assert (many[:, :3] == few).all()
    assert not (many[:, 3] == many[:, 4]).any()
    assert np.allclose(few.mean(axis=0), 0, atol=1e-12)  # antithetic


def test_every_seed_positive_gets_worse_with_more_seeds() -> None:
    cells = grid(rule, SETTING, effects=[0.06], seed_sds=[0.04], seeds=[3, 5, 8])
    assert [cell.seeds for cell in cells] == [3, 5, 8]
    assert cells[0].passing > cells[1].passing > cells[2].passing
    only = grid(lambda d: (d > 0).all(axis=1).astype(int), SETTING, effects=[0.0], seed_sds=[1.0])[0]
    assert abs(only.passing - 1 / 8) < 4 * only.error


def test_the_effect_of_eighty_percent_power() -> None:
    for sd in (0.02, 0.05):
        effect = effect_of_power(rule, SETTING, seed_sd=sd)
        assert abs(by_integral(effect, sd) - 0.8) < 0.006
    down = effect_of_power(lambda d: rule(-d), SETTING, seed_sd=0.02, sign=-1)
    assert abs(down + effect_of_power(rule, SETTING, seed_sd=0.02)) < 1e-3
    assert effect_of_power(lambda d: np.zeros(len(d), dtype=int), Setting(KEY, 100), seed_sd=0.02) is None
    assert effect_of_power(lambda d: np.ones(len(d), dtype=int), Setting(KEY, 100), seed_sd=0.02) == 0.0
    with pytest.raises(DecisionError):
        effect_of_power(rule, SETTING, seed_sd=0.02, power=1.0)


def test_the_clause_that_binds() -> None:
    narrow, wide = grid(rule, SETTING, effects=[0.03], seed_sds=[0.01, 0.08], clauses=CLAUSES)
    assert narrow.binding == "mean"
    assert wide.binding == "every seed"
    fails, alone = narrow.clauses["mean"]
    assert abs(fails - 0.5) < 0.01
    drawn = simulate_differences(KEY, 100_000, 3, 0.03, 0.01)
    assert fails == (drawn.mean(axis=1) < 0.03).mean()
    assert alone == ((drawn.mean(axis=1) < 0.03) & (drawn > 0).all(axis=1)).mean() < fails
    assert judge(rule, np.full((4, 3), 0.05), 0.05, 0.0, CLAUSES).binding is None


def test_a_pass_exaggerates() -> None:
    cell = grid(rule, SETTING, effects=[0.02], seed_sds=[0.03])[0]
    drawn = simulate_differences(KEY, 100_000, 3, 0.02, 0.03)
    passed = drawn[(drawn.mean(axis=1) >= 0.03) & (drawn.min(axis=1) > 0)]
    assert math.isclose(cell.estimate_if_pass, passed.mean())
    assert math.isclose(cell.exaggeration, passed.mean() / 0.02)
    assert cell.exaggeration > 1.5
    null = grid(rule, SETTING, effects=[0.0], seed_sds=[0.03])[0]
    assert null.exaggeration is None
    assert null.estimate_if_pass > 0.03


def test_a_family_of_rules() -> None:
    rules = {f"H{number}": rule for number in range(4)}
    alone = grid(rule, SETTING, effects=[0.0], seed_sds=[0.04])[0].passing
    apart, half, one = (family(rules, SETTING, seed_sd=0.04, correlation=c) for c in (0.0, 0.5, 1.0))
    assert abs(apart.any_pass - (1 - (1 - alone) ** 4)) < 5 * apart.error
    assert one.any_pass == alone
    assert apart.any_pass > half.any_pass > one.any_pass
    assert abs(half.expected - 4 * alone) < 0.01
    grown = family({**rules, "H9": rule}, SETTING, seed_sd=0.04)
    assert {name: grown.each[name] for name in rules} == apart.each
    for bad in ({}, {"H1": rule}):
        with pytest.raises(DecisionError):
            family(bad, SETTING, seed_sd=0.04, correlation=1.5 if bad else 0)


def test_outcomes_other_than_pass_and_fail_are_counted() -> None:
    def three(d: np.ndarray) -> np.ndarray:
        mean = d.mean(axis=1)
        return np.select([mean > 0.03, mean < -0.03], [PASS, FAIL], INCONCLUSIVE)

    cell = grid(three, SETTING, effects=[0.0], seed_sds=[0.03])[0]
    tail = stats.norm.sf(0.03 * math.sqrt(3) / 0.03)
    assert abs(cell.shares["pass"] - tail) < 4 * cell.error
    assert abs(cell.shares["inconclusive"] - (1 - 2 * tail)) < 0.01
    assert cell.shares["void"] == 0


@pytest.mark.parametrize("code", [-1, 4])
def test_a_code_that_is_no_outcome_is_refused(code: int) -> None:
    with pytest.raises(DecisionError):
        grid(lambda d: np.full(len(d), code), Setting(KEY, 10), effects=[0.0], seed_sds=[0.1])
    with pytest.raises(DecisionError):
        grid(rule, Setting(KEY, 10), effects=[], seed_sds=[0.1])


def test_task_noise_is_shared_by_all_seed_pairs() -> None:
    drawn = simulate_differences(KEY, 50_000, 3, 0.1, 0.03, noise_sd=0.04)
    covariance = np.cov(drawn.T)
    assert np.allclose(np.diag(covariance), 0.03**2 + 0.04**2, rtol=0.03)
    assert np.allclose(covariance[np.triu_indices(3, 1)], 0.04**2, rtol=0.05)
    assert abs(drawn.mean() - 0.1) < 0.001


def test_a_known_arm_halves_the_variance_and_moves_the_mean() -> None:
    treatment = Known(value=0.6, arm="treatment", baseline=0.55)
    reference = Known(value=0.6, arm="reference", baseline=0.55)
    drawn = simulate_differences(KEY, 50_000, 3, 0.02, 0.04, known=[treatment, reference])
    assert np.allclose(drawn.mean(axis=0), [0.05, -0.03, 0.02], atol=1e-3)
    assert np.allclose(drawn.std(axis=0), [0.04 / 2**0.5, 0.04 / 2**0.5, 0.04], rtol=0.02)
    blind = simulate_differences(KEY, 1000, 3, 0.02, 0.04, known=[Known(value=0.6, arm="treatment")])
    assert (blind == simulate_differences(KEY, 1000, 3, 0.02, 0.04)).all()


@pytest.mark.parametrize("bad", [{}, {"difference": 0.1, "value": 0.2, "arm": "treatment"}, {"value": 0.2}])
def test_a_disclosure_that_says_nothing_or_two_things_is_refused(bad: dict) -> None:
    with pytest.raises(DecisionError):
        Known(**bad)


def test_impossible_studies_are_refused() -> None:
    with pytest.raises(DecisionError):
        simulate_differences(KEY, 10, 1, 0.0, 0.1, known=[Known(difference=0.1)] * 2)
    with pytest.raises(DecisionError):
        simulate_differences(KEY, 10, 1, 0.0, -0.1)


@pytest.mark.parametrize("p", [F(1, 40), F(1, 20), F(1, 2), F(39, 40), F(1)])
def test_resampled_quantiles_by_enumeration(p: F) -> None:
    drawn = np.random.default_rng(3).normal(size=(5, 4))
    found = seed_quantile(drawn, p)
    for row, value in zip(drawn, found, strict=True):
        means = sorted(sum(chosen) / 4 for chosen in itertools.product(row, repeat=4))
        assert math.isclose(means[math.ceil(p * 256) - 1], value, abs_tol=1e-12)


def test_resampled_quantiles_of_many_seed_pairs_are_close() -> None:
    drawn = np.random.default_rng(4).normal(size=(200, 9))
    sampled = seed_quantile(drawn, F(1, 20))
    expected = drawn.mean(axis=1) - 1.645 * drawn.std(axis=1) / 3
    assert np.abs(sampled - expected).mean() < 0.05
    with pytest.raises(DecisionError):
        seed_quantile(drawn, F(0))


def test_the_actual_level_when_only_seeds_vary() -> None:
    """With 3 seed pairs the 95 % interval runs from the least to the largest: it misses with 2/8."""
    share, error = interval_level(SETTING, F(19, 20))
    assert abs(share - 0.75) < 4 * error
    assert interval_level(SETTING, F(19, 20), seeds=2)[0] == pytest.approx(0.5, abs=4 * error)
    assert interval_level(Setting(KEY, 5000), F(19, 20), seeds=6)[0] > share
    with pytest.raises(DecisionError):
        interval_level(SETTING, F(1))


@pytest.mark.parametrize("seeds", [3, 5, 9])
def test_the_ends_of_moved_and_mirrored_studies_are_those_sorted_out_anew(seeds: int) -> None:
    lower, upper = standard_ends(KEY, 201, seeds, F(19, 20))
    anew = deviates(KEY, 201, seeds)
    assert (lower == seed_quantile(anew, F(1, 40))).all()
    assert (upper == seed_quantile(anew, F(39, 40))).all()
    assert np.allclose(0.3 + 2 * lower, seed_quantile(0.3 + 2 * anew, F(1, 40)), rtol=0, atol=1e-12)

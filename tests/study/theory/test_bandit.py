"""Appendix A.1: the printed digits, the longer digits of the specification, and three roads to each number."""

from __future__ import annotations

import pytest

from study.errors import TheoryError
from study.theory import alignment, bandit
from study.theory.advantages import LeaveOneOut, MeanCentred, Standardised
from study.theory.bandit import Bandit
from study.theory.designs import Independent, Paired

LONGER = {
    "reward-contrast variance, independent": ".4950",
    "reward-contrast variance, paired": ".4500",
    "mean-centred Tr Var(g), independent": ".00261475",
    "mean-centred Tr Var(g), paired": ".00584473",
    "mean-centred between-group part, independent": ".001384",
    "mean-centred between-group part, paired": ".001384",
    "mean-centred expected update norm, independent": ".196875",
    "mean-centred expected update norm, paired": ".196875",
    "standardised Tr Var(g), independent": ".00705339",
    "standardised Tr Var(g), paired": ".01972384",
    "standardised mask part, independent": ".00403",
    "standardised mask part, paired": ".01722",
    "standardised between-group part, independent": ".00302",
    "standardised between-group part, paired": ".00250",
    "standardised expected update norm, independent": ".39184",
    "standardised expected update norm, paired": ".39048",
    "L = E||g_c||^2": ".04956055",
    "R = E sum r_i ||S_i - Sbar||^2 / G^2": ".01367188",
    "mean-centred gap, q(1-q)(L - R)": ".00322998",
}


@pytest.fixture(scope="module")
def report():
    return {row.name: row for row in bandit.report()}


@pytest.mark.parametrize("name", LONGER)
def test_each_number_to_its_digits(report, name):
    printed = LONGER[name]
    assert f"{report[name].value:.{len(printed) - 1}f}" == "0" + printed


def test_every_printed_number_of_the_paper_comes_back(report):
    printed = [row for row in report.values() if row.printed is not None]
    assert len(printed) == 13
    assert all(row.agrees for row in printed)


def test_closed_forms_equal_brute_force(report):
    assert all(row.enumerated is not None for row in report.values())
    for row in report.values():
        assert row.value == pytest.approx(row.enumerated, rel=1e-11)


def test_the_mean_is_point_nine_times_seven_eighths_times_a_quarter(report):
    assert report["mean-centred expected update norm, paired"].value == pytest.approx(
        0.9 * 7 / 8 / 4, rel=1e-14
    )


def test_section_4_3_says_nine_percent_and_two_point_two_fold(report):
    contrast = [report[f"reward-contrast variance, {arm}"].value for arm in ("independent", "paired")]
    assert round(100 * (1 - contrast[1] / contrast[0])) == 9
    trace = [report[f"mean-centred Tr Var(g), {arm}"].value for arm in ("independent", "paired")]
    assert round(trace[1] / trace[0], 1) == 2.2


def test_other_conventions_do_not_reproduce_the_digits():
    model = Bandit()
    for rule, printed in (
        (Standardised(ddof=0), ("0.00806", "0.022541")),
        (Standardised(eps=0.0, ddof=0), ("0.00806", "0.02255")),
        (Standardised(eps=1e-6), ("0.007056", "0.019731")),
    ):
        for design, digits in zip((Independent(), Paired()), printed, strict=True):
            assert f"{model.moments(design, rule)[0].trace:.{len(digits) - 2}f}" == digits


def test_a_world_of_two_schedules_gives_the_same_moments():
    model = Bandit(size=5, flip_rate=0.3, success_rate=0.7)
    for design, blocks in ((Independent(), [[i] for i in range(5)]), (Paired(), [list(range(5))])):
        for rule in (MeanCentred(), Standardised()):
            moments, contrast = model.world().group(5, blocks, rule)
            ours, norm = model.moments(design, rule)
            assert ours.trace == pytest.approx(moments.trace, rel=1e-11)
            assert norm**2 == pytest.approx(moments.mean_square, rel=1e-11)
            assert model.contrast_variance(design) == pytest.approx(contrast, rel=1e-12)


def test_leave_one_out_is_unbiased_for_the_flipped_objective():
    """J = (1-q) p, dJ/dtheta = (1-q) p (1-p)."""
    model = Bandit(size=6, flip_rate=0.2, success_rate=0.3)
    for design in (Independent(), Paired()):
        assert model.moments(design, LeaveOneOut())[1] == pytest.approx(0.8 * 0.21, rel=1e-12)


def test_another_bandit_is_compared_with_nothing_and_large_ones_cost_nothing():
    rows = bandit.report(Bandit(size=256))
    assert all(row.printed is None and row.enumerated is None and row.agrees is None for row in rows)


def test_agreement_is_to_the_printed_digits_and_no_further():
    assert bandit.Named("x", 0.19685, "0.1969").agrees
    assert not bandit.Named("x", 0.1970, "0.1969").agrees
    assert bandit.Named("x", 0.19694, "0.1969").agrees
    assert not bandit.Named("x", 0.19684, "0.1969").agrees


@pytest.mark.parametrize("fields", [{"size": 1}, {"flip_rate": 1.1}, {"success_rate": -0.1}, {"size": 2.5}])
def test_bad_bandits_are_refused(fields):
    with pytest.raises(TheoryError):
        Bandit(**fields)


def test_the_map_has_the_two_regimes_at_its_ends():
    for k, group in enumerate(alignment.Policy(8, 0.5, 1.0).geometries()):
        exact = Bandit().geometries()[k]
        assert group.left == pytest.approx(exact.left * 4, rel=1e-12)
        assert group.right == pytest.approx(exact.right * 4, rel=1e-12)
    aligned = alignment.ratios(alignment.Policy(8, 0.5, 1.0), 0.1)
    assert aligned.mask == pytest.approx(0.0495605469 / 0.0136718750, rel=1e-8)
    assert aligned.total == pytest.approx(0.00584472656 / 0.00261474609, rel=1e-8)
    standard = alignment.ratios(alignment.Policy(8, 0.5, 1.0), 0.1, Standardised())
    assert standard.total == pytest.approx(0.0197238387 / 0.0070533926, rel=1e-8)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
def test_pairing_helps_below_the_boundary_and_hurts_above(p):
    edge = alignment.boundary(8, p)
    assert alignment.ratios(alignment.Policy(8, p, edge), 0.1).mask == pytest.approx(1.0, rel=1e-9)
    assert alignment.ratios(alignment.Policy(8, p, edge), 0.1).total == pytest.approx(1.0, rel=1e-9)
    assert alignment.ratios(alignment.Policy(8, p, 0.9 * edge), 0.1).mask < 1
    assert alignment.ratios(alignment.Policy(8, p, min(1.0, 1.1 * edge)), 0.1).mask > 1


def test_the_maps_geometry_is_that_of_actual_scores():
    from study.theory import geometry

    policy = alignment.Policy(6, 0.7, 0.4)
    for k, group in enumerate(policy.geometries()):
        outcome = [1.0] * k + [0.0] * (6 - k)
        built = geometry.of_scores(policy.scores(outcome), outcome)
        assert group.left == pytest.approx(built.left, abs=1e-15)
        assert group.right == pytest.approx(built.right, abs=1e-15)


def test_the_map_refuses_points_without_contrast():
    for bad in ((8, 0.0, 0.5), (8, 1.0, 0.5), (8, 0.5, 1.5), (1, 0.5, 0.5)):
        with pytest.raises(TheoryError):
            alignment.Policy(*bad)
    with pytest.raises(TheoryError, match="tie"):
        alignment.ratios(alignment.Policy(8, 0.5, 0.5), 0.0)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.77])
def test_orthogonal_scores_have_a_ratio_of_one_minus_the_success_rate(p):
    """L/R = E k(G-k) / E k(G-1) = 1 - p, for any group size."""
    for size in (2, 8, 32):
        assert alignment.ratios(alignment.Policy(size, p, 0.0), 0.1).mask == pytest.approx(1 - p, rel=1e-12)


@pytest.mark.parametrize("rule", [MeanCentred(), Standardised()], ids=str)
def test_a_point_of_the_map_by_pooling_actual_groups(rule):
    """Masks and between-group part from scores: the e_i are fresh in every group, so only u survives the mean."""
    import numpy as np

    from study.theory import geometry
    from study.theory.closed_forms import flip_moments
    from study.theory.designs import binomial

    policy = alignment.Policy(5, 0.6, 0.3)
    law, values = binomial(5, 0.6), {}
    for design in (Paired(), Independent()):
        mask = within = along = 0.0
        for k in range(6):
            outcome = np.array([1.0] * k + [0.0] * (5 - k))
            scores = policy.scores(outcome)
            moments = flip_moments(geometry.of_scores(scores, outcome), 0.2, design, rule)
            clean = (outcome - outcome.mean()) @ scores / 5
            mask += law[k] * moments.trace
            within += law[k] * moments.mean_square
            along += law[k] * moments.length * clean[0]
        values[design.name] = (mask, mask + within - along**2)
    found = alignment.ratios(policy, 0.2, rule)
    assert found.mask == pytest.approx(values["paired"][0] / values["independent"][0], rel=1e-12)
    assert found.total == pytest.approx(values["paired"][1] / values["independent"][1], rel=1e-12)

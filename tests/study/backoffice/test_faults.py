"""Mixtures and thresholds: exact shares, nesting, and what a change of weights moves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import pytest
from scipy import stats

from study.backoffice.faults import (
    DEFAULT_MIXTURE,
    FAULT_TYPES,
    HELDOUT_TYPES,
    KINDS_OF,
    NO_OUTAGE_MIXTURE,
    NoiseLaw,
    compile_law,
    share,
)
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import Lanes, Schedule
from study.errors import ConfigError

KINDS = ("list", "record", "write")
DRAWS = 30_000
ALPHA = 1e-3 / 20


def law(p, weights=DEFAULT_MIXTURE, **more):
    return NoiseLaw("x", rate=F(p), weights=weights, **more)


@pytest.fixture(scope="module")
def lanes():
    schedule = Schedule("cd" * 16)
    return [schedule.draw("get_order", "O-1", k) for k in range(DRAWS)]


def test_shares_of_the_default_mixture_at_a_quarter():
    """The design's table: renormalised weights times p."""
    p = law("1/4")
    table = {
        "write": {"transient": 0.1607, "rate_limit": 0.0536, "outage": 0.0357},
        "record": {"transient": 0.1324, "rate_limit": 0.0441, "outage": 0.0294, "stale_read": 0.0441},
        "list": {
            "transient": 0.1125,
            "rate_limit": 0.0375,
            "outage": 0.025,
            "stale_read": 0.0375,
            "truncation": 0.0375,
        },
    }
    for kind, row in table.items():
        for fault in FAULT_TYPES:
            assert round(float(share(p, kind, fault)), 4) == row.get(fault, 0.0)


@pytest.mark.parametrize("weights", [DEFAULT_MIXTURE, NO_OUTAGE_MIXTURE, HELDOUT_TYPES])
@pytest.mark.parametrize("kind", KINDS)
def test_total_rate_is_exactly_p(weights, kind):
    assert sum(share(law("1/4", weights), kind, fault) for fault in FAULT_TYPES) == F(1, 4)


def test_heldout_types_are_one_per_kind():
    held = law("1/4", HELDOUT_TYPES)
    assert share(held, "write", "timeout_after_commit") == F(1, 4)
    assert share(held, "list", "field_dropout") == share(held, "record", "field_dropout") == F(1, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_match_the_law(lanes, kind):
    """G-test of drawn types against the exact probabilities."""
    p = law("1/4")
    compiled = compile_law(p)
    types = [fault for fault in FAULT_TYPES if kind in KINDS_OF[fault] and share(p, kind, fault)]
    drawn = [compiled.fault(kind, draw) for draw in lanes]
    observed = [drawn.count(fault) for fault in types] + [drawn.count(None)]
    expected = [DRAWS * float(share(p, kind, fault)) for fault in types] + [DRAWS * 0.75]
    assert stats.power_divergence(observed, expected, lambda_="log-likelihood").pvalue > ALPHA


@pytest.mark.parametrize("kind", KINDS)
def test_rates_zero_and_one_are_exact(lanes, kind):
    never, always = compile_law(law(0)), compile_law(law(1))
    assert {never.fault(kind, draw) for draw in lanes} == {None}
    assert None not in {always.fault(kind, draw) for draw in lanes}


@pytest.mark.parametrize("kind", KINDS)
def test_faults_nest_in_the_rate(lanes, kind):
    small, large = compile_law(law("1/10")), compile_law(law("1/4"))
    pairs = [(small.fault(kind, draw), large.fault(kind, draw)) for draw in lanes]
    assert all(fault == wider for fault, wider in pairs if fault is not None)
    assert sum(fault is None and wider is not None for fault, wider in pairs) > DRAWS // 20


def test_a_change_of_weights_moves_types_only(lanes):
    default, without = compile_law(law("1/4")), compile_law(law("1/4", NO_OUTAGE_MIXTURE))
    pairs = [(default.fault("write", draw), without.fault("write", draw)) for draw in lanes]
    assert all((a is None) == (b is None) for a, b in pairs)
    assert any(a != b for a, b in pairs)


def test_heldout_faults_fall_on_the_same_draws(lanes):
    training, held = compile_law(REGIMES["faults_p25"]), compile_law(REGIMES["heldout_p25"])
    assert all((training.fault("list", d) is None) == (held.fault("list", d) is None) for d in lanes)


def test_thresholds_are_floors_of_the_exact_products():
    assert compile_law(law("1/4")).fault_below == 1 << 62
    assert compile_law(law("1/10")).fault_below == (1 << 64) // 10
    assert compile_law(law(1)).fault_below == 1 << 64
    assert compile_law(NoiseLaw("q", flip_rate=F(1, 10))).flip_below == (1 << 64) // 10
    assert [bound for bound, _ in compile_law(law("1/4")).cuts["write"]][-1] == 1 << 64


def test_a_law_that_would_leave_a_tool_without_faults_is_refused():
    with pytest.raises(ConfigError):
        compile_law(law("1/4", (("truncation", F(1)),)))
    with pytest.raises(ConfigError):
        law("5/4")
    with pytest.raises(ConfigError):
        law("1/4", (("lightning", F(1)),))


def test_the_weights_digest_moves_with_the_weights():
    one = law("1/4")
    assert one.weights_digest() == replace(one, rate=F(1, 10)).weights_digest()
    assert one.weights_digest() != replace(one, weights=NO_OUTAGE_MIXTURE).weights_digest()
    assert one.weights_digest() != replace(one, challenge=True).weights_digest()


def test_bounds_belong_to_the_next_type_and_the_rate_is_strict():
    compiled = compile_law(law("1/4"))
    bound = compiled.cuts["write"][0][0]
    assert compiled.fault("write", Lanes(0, bound - 1, 0, 0)) == "transient"
    assert compiled.fault("write", Lanes(0, bound, 0, 0)) == "rate_limit"
    assert compiled.fault("write", Lanes(0, (1 << 64) - 1, 0, 0)) == "outage"
    assert compiled.fault("write", Lanes((1 << 62) - 1, 0, 0, 0)) == "transient"
    assert compiled.fault("write", Lanes(1 << 62, 0, 0, 0)) is None

"""The partition check: broken rules of public pre-registrations are found with a witness that really breaks them."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.design.partition import Region, examine, regions
from prereg_kit.plan import Plan
from prereg_kit.plan.criteria.possible import Point
from prereg_kit.plan.file import read_plan
from tests.plans import small

WIN = "{all: [{difference: {endpoint: success, above: 0.002}}, {every_seed: {endpoint: success, above: 0}}]}"
TIE = "{difference: {endpoint: success, at_least: -0.0015, at_most: 0.0015}}"
LOSS = "{difference: {endpoint: success, below: -0.0015}}"
AMBIGUOUS = (
    "{any: [{difference: {endpoint: success, above: 0.0015, at_most: 0.002}},"
    " {difference: {endpoint: success, at_least: -0.002, below: -0.0015}}]}"
)


def plan(
    outcomes: dict[str, str] | None = None, passes: str = "", more: str = "", endpoints: str = ""
) -> Plan:
    if outcomes is None:
        return read_plan(small(passes, more, endpoints).encode(), "plan.yaml")
    rule = "{" + ", ".join(f"{name}: {text}" for name, text in outcomes.items()) + "}"
    return read_plan(
        small("X", more, endpoints).replace("passes_if: X", f"outcomes: {rule}").encode(), "plan.yaml"
    )


def problems(found: Plan, seeds: int = 3) -> dict[str, list[tuple[str, ...]]]:
    result: dict[str, list[tuple[str, ...]]] = {}
    for problem in examine(found.hypotheses["H1"], found.endpoints, seeds).problems:
        result.setdefault(problem.code, []).append(problem.outcomes)
    return result


def test_a_rule_found_broken_in_public_overlaps_and_leaves_a_gap() -> None:
    """Win if d > 0.002 and every seed positive; tie within 0.0015; loss below; ambiguous between 0.0015 and 0.002."""
    found = plan({"win": WIN, "tie": TIE, "loss": LOSS, "ambiguous": AMBIGUOUS})
    partition = examine(found.hypotheses["H1"], found.endpoints, 3)
    by_code = {problem.code: problem for problem in partition.problems}
    assert set(by_code) == {"overlap", "gap"}
    overlap, gap = (by_code[code].register.points["success"] for code in ("overlap", "gap"))
    assert (
        isinstance(overlap, Point) and overlap.mean is not None and -F("0.002") <= overlap.mean < -F("0.0015")
    )
    assert by_code["overlap"].outcomes == ("loss", "ambiguous")
    assert isinstance(gap, Point) and gap.mean is not None and gap.mean > F("0.002") and min(gap.values) <= 0
    assert float(overlap.mean) == -0.0018


def test_every_witness_breaks_the_rule_and_its_seeds_have_its_mean() -> None:
    found = plan({"win": WIN, "tie": TIE, "loss": LOSS, "ambiguous": AMBIGUOUS})
    rules = found.hypotheses["H1"].outcomes or {}
    for problem in examine(found.hypotheses["H1"], found.endpoints, 3).problems:
        assert problem.register is not None
        held = tuple(name for name, rule in rules.items() if rule.true_in(problem.register))
        assert held == problem.outcomes
        point = problem.register.points["success"]
        assert isinstance(point, Point)
        assert sum(point.values) / len(point.values) == point.mean


def test_a_true_partition_is_proved() -> None:
    up = "{difference: {endpoint: success, above: 0.01}}"
    flat = "{difference: {endpoint: success, at_least: -0.01, at_most: 0.01}}"
    down = "{difference: {endpoint: success, below: -0.01}}"
    assert problems(plan({"up": up, "flat": flat, "down": down})) == {}


def test_a_tie_at_both_strict_bounds_is_a_gap_of_one_point() -> None:
    up, down = "{difference: {endpoint: success, above: 0}}", "{difference: {endpoint: success, below: 0}}"
    found = plan({"up": up, "down": down})
    (gap,) = examine(found.hypotheses["H1"], found.endpoints, 3).problems
    assert gap.code == "gap" and gap.register is not None and gap.register.points["success"].mean == 0


def test_interval_rules_partition_because_lower_ends_lie_below_upper_ends() -> None:
    win = "{interval: {endpoint: success, lower_above: 0}}"
    loss = "{interval: {endpoint: success, upper_below: 0}}"
    neither = "{not: {any: [%s, %s]}}" % (win, loss)
    assert problems(plan({"win": win, "loss": loss, "open": neither})) == {}
    assert problems(plan(passes=win, more=f"    fails_if: {loss}\n")) == {}


def test_a_narrow_interval_above_zero_does_not_make_a_wide_one_so() -> None:
    wide = "{interval: {endpoint: success, two_sided_level: 0.95, lower_above: 0}}"
    narrow = "{interval: {endpoint: success, two_sided_level: 0.80, lower_above: 0}}"
    impossible = "{all: [%s, {not: %s}]}" % (wide, narrow)
    assert problems(plan(passes=impossible)) == {"unreachable": [("pass",)]}
    assert problems(plan(passes="{all: [%s, {not: %s}]}" % (narrow, wide))) == {}


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("{difference: {endpoint: success, at_least: 1.5}}", "pass"),
        ("{difference: {endpoint: success, at_least: -1}}", "fail"),
        (
            "{all: [{every_seed: {endpoint: success, above: 0.1}}, {difference: {endpoint: success, below: 0.05}}]}",
            "pass",
        ),
        (
            "{all: [{difference: {endpoint: success, above: 0}}, {not: {difference: {endpoint: success, above: 0}}}]}",
            "pass",
        ),
    ],
)
def test_an_outcome_that_can_never_occur_is_named(rule: str, outcome: str) -> None:
    assert problems(plan(passes=rule)) == {"unreachable": [(outcome,)]}


def test_pass_and_fail_rules_that_overlap_are_found() -> None:
    passes = "{difference: {endpoint: success, above: 0}}"
    fails = "    fails_if: {not: {every_seed: {endpoint: success, above: 0}}}\n"
    assert "overlap" in problems(plan(passes=passes, more=fails))


def test_rates_lie_between_zero_and_one() -> None:
    endpoints = "  r: {kind: rate, register: groups, count: spurious}\n"
    assert problems(plan(passes="{rate: {endpoint: r, above: 1}}", endpoints=endpoints)) == {
        "unreachable": [("pass",)]
    }
    assert problems(plan(passes="{rate: {endpoint: r, at_least: 1}}", endpoints=endpoints)) == {}


@given(st.lists(st.fractions(-1, 1, max_denominator=50), max_size=5))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_regions_cover_the_line_without_overlap(bounds: list[F]) -> None:
    parts = regions(bounds, F(-1), F(1))
    assert parts[0].low == -1 and parts[-1].high == 1
    for left, right in zip(parts, parts[1:], strict=False):
        assert left.high == right.low
        assert left.is_point != right.is_point
    for part in parts:
        sample = part.sample()
        assert sample == part.low if part.is_point else part.low < sample < part.high


def test_a_region_gives_a_short_decimal() -> None:
    assert Region(F("-0.002"), F("-0.0015")).sample() == F("-0.0018")
    assert Region(F(0), F(1)).sample() in (F(1, 2), F(1, 10))

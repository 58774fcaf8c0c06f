"""Plans: typed, immutable, complete; every misfit is named with its line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import PlanError
from prereg_kit.plan import Plan
from prereg_kit.plan.criteria.rule import IntervalEnd
from prereg_kit.plan.fields import decimal_text, exact
from prereg_kit.plan.file import declared_format, read_plan
from tests.plans import SMALL, small


def test_the_small_plan_is_read() -> None:
    plan = read_plan(SMALL.encode(), "plan.yaml")
    assert plan.arms.treatment == "t"
    assert plan.resampling.level == Fraction(19, 20)
    assert plan.resampling.engine == "auto"


def test_a_plan_cannot_be_changed() -> None:
    plan = read_plan(SMALL.encode(), "plan.yaml")
    with pytest.raises(Exception, match="frozen"):
        plan.id = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "at_least: 0.03",
            "at_leest: 0.03",
            r"plan.yaml:9, field hypotheses.H1.passes_if.difference.at_leest: unknown",
        ),
        ("endpoint: success", "endpoint: sucess", r"plan.yaml:9.*'sucess'.*near it: success"),
        ("at_least: 0.03", "at_least: .inf", r"finite decimal.*found '.inf'"),
        ("at_least: 0.03", "at_least: nan", r"finite decimal"),
        ("at_least: 0.03", "at_least: 0.03, above: 0", r"above or at_least, not both"),
        ("at_least: 0.03", "at_least: 0.03, at_most: 0.01", r"lower bound is not above"),
        ("at_least: 0.03", "", r"one of above, at_least"),
        ("prereg.plan/1", "prereg.plan/2", r"plan.yaml:1.*expected prereg.plan/1; found 'prereg.plan/2'"),
        ("treatment: t", "treatment: r", r"two different arms"),
        ("difference:", "rate:", r"needs an endpoint of kind rate; 'success' is a contrast"),
        ("difference:", "differense:", r"unknown criterion 'differense'"),
        ("register: episodes", "register: reported", r"only under kind: retrospective"),
        ("id: small", "id: ../evil", r"field id"),
        ("id: small", "", r"field id: field required"),
    ],
)
def test_a_misfit_is_named_with_its_place(old: str, new: str, says: str) -> None:
    assert old in SMALL
    with pytest.raises(PlanError, match=says):
        read_plan(SMALL.replace(old, new, 1).encode(), "plan.yaml")


def test_format_must_be_the_first_key() -> None:
    text = SMALL.replace("format: prereg.plan/1\n", "", 1) + "format: prereg.plan/1\n"
    with pytest.raises(PlanError, match="first key"):
        read_plan(text.encode(), "plan.yaml")


def test_hypotheses_must_not_refer_to_each_other_in_a_circle() -> None:
    rules = "  A: {passes_if: {holds: B}}\n  B: {passes_if: {not: A}}\n"
    with pytest.raises(PlanError, match="A -> B -> A goes in a circle"):
        read_plan((SMALL + rules).encode(), "plan.yaml")


def test_endpoints_must_not_be_combined_in_a_circle() -> None:
    text = SMALL.replace(
        "endpoints:\n",
        "endpoints:\n  a: {kind: gap, of: b, minus: success}\n  b: {kind: gap, of: a, minus: success}\n",
    )
    with pytest.raises(PlanError, match="circle"):
        read_plan(text.encode(), "plan.yaml")


@pytest.mark.parametrize("method", ["bca", "basic", "BCa"])
def test_an_interval_method_that_is_not_offered_is_refused_by_name(method: str) -> None:
    text = small("{interval: {endpoint: success, method: %s, lower_above: 0}}" % method)
    with pytest.raises(PlanError, match=method):
        read_plan(text.encode(), "plan.yaml")


def test_not_below_is_at_least() -> None:
    plan = read_plan(small("{difference: {endpoint: success, not_below: 0}}").encode(), "plan.yaml")
    rule = plan.hypotheses["H1"].passes_if
    assert rule is not None
    assert rule.model_dump() == {"difference": {"endpoint": "success", "at_least": "0"}}


def test_the_names_of_hypotheses_are_shorthand_for_holds() -> None:
    plan = read_plan((SMALL + "gates:\n  g: {if: {not: {any: [H1]}}, then: stop}\n").encode(), "plan.yaml")
    assert plan.gates["g"].if_.model_dump() == {"not": {"any": [{"holds": "H1"}]}}


def test_a_plan_survives_its_own_json() -> None:
    plan = read_plan(SMALL.encode(), "plan.yaml")
    again = Plan.model_validate(plan.model_dump(mode="json", by_alias=True))
    assert again == plan


def test_interval_levels_are_exact() -> None:
    rule = IntervalEnd(endpoint="e", two_sided_level="0.90", lower_above="-0.03")  # type: ignore[arg-type]
    assert rule.two_sided_level == Fraction(9, 10)
    assert rule.ends == (("lower", "above", Fraction(-3, 100)),)


@pytest.mark.parametrize(
    ("value", "number"),
    [("0.03", Fraction(3, 100)), ("-1/3", Fraction(-1, 3)), (3, Fraction(3)), (0.1, Fraction(1, 10)),
     (Decimal("1e-3"), Fraction(1, 1000)), ("1e3", Fraction(1000)), (".5", Fraction(1, 2))],
)  # fmt: skip
def test_numbers_are_exact(value: object, number: Fraction) -> None:
    assert exact(value) == number


@pytest.mark.parametrize(
    "value", ["", "1/0", "inf", "nan", "0x10", "1_000", "1e9999", True, None, float("nan"), [1]]
)
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="number|decimal"):
        exact(value)


@given(st.fractions(max_denominator=10**6))
@settings(max_examples=200, derandomize=True)
def test_the_writing_of_a_number_reads_back_as_the_number(number: Fraction) -> None:
    assert exact(decimal_text(number)) == number


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("format: prereg.plan/1\n", "prereg.plan/1"),
        ("\ufeff# c\n\nformat: prereg.plan/1 # x\n", "prereg.plan/1"),
        ('{"format": "prereg.plan/1", "id": 1}', "prereg.plan/1"),
        ("title: x\nformat: prereg.plan/1\n", None),
        ("", None),
        ("# Protocol\n\nWe will", None),
    ],
)
def test_the_declared_format_is_read_without_parsing(text: str, found: str | None) -> None:
    assert (declared_format(text.encode()) or "").split('"')[0] == (found or "")

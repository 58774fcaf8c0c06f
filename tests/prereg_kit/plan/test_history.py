"""Amendments: chained by digest, applied change by change, or refused."""

from __future__ import annotations

import pytest

from prereg_kit.errors import PlanError
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.plan.history import Source, replay
from tests.plans import SMALL

PLAN = Source(SMALL.encode(), sha256_bytes(SMALL.encode()), "plan.yaml")


def amendment(parent: Source, changes: str, name: str = "A1", plan: str = "small") -> Source:
    text = (
        f"format: prereg.amendment/1\nid: {name}\nplan: {plan}\namends: {parent.digest}\nreason: because\n"
        f"known: nothing_run\nchanges:\n{changes}"
    )
    return Source(text.encode(), sha256_bytes(text.encode()), f"{name}.yaml")


RAISE = "  - {op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.05}\n"


def test_an_amendment_changes_the_plan_in_force_and_not_the_original() -> None:
    effective = replay(PLAN, [amendment(PLAN, RAISE)])
    assert effective.plan.hypotheses["H1"].passes_if.bounds[0][1] * 100 == 5  # type: ignore[union-attr]
    assert effective.original.hypotheses["H1"].passes_if.bounds[0][1] * 100 == 3  # type: ignore[union-attr]
    assert effective.rule_from("hypotheses", "H1") == "A1"
    assert effective.digest == PLAN.digest


def test_a_rule_whose_endpoint_was_amended_comes_from_the_amendment() -> None:
    change = "  - {op: replace, field: endpoints/success/value, value: reward}\n"
    assert replay(PLAN, [amendment(PLAN, change)]).rule_from("hypotheses", "H1") == "A1"


def test_a_rule_that_nothing_touched_comes_from_the_plan() -> None:
    change = "  - {op: add, field: title, value: A title}\n"
    assert replay(PLAN, [amendment(PLAN, change)]).rule_from("hypotheses", "H1") == "plan"


def test_amendments_apply_in_the_order_of_their_parents_whatever_order_they_come_in() -> None:
    first = amendment(PLAN, RAISE)
    second = amendment(first, RAISE.replace("0.05", "0.07"), "A2")
    effective = replay(PLAN, [second, first])
    assert [applied.amendment.id for applied in effective.amendments] == ["A1", "A2"]
    assert effective.plan.hypotheses["H1"].passes_if.bounds[0][1] * 100 == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ("  - {op: replace, field: hypotheses/H9/statement, value: x}\n", "H9 does not exist"),
        ("  - {op: replace, field: hypotheses/H1/statment, value: x}\n", "statment does not exist"),
        ("  - {op: remove, field: gates/g}\n", "gates does not exist"),
        ("  - {op: add, field: hypotheses/H1/passes_if, value: x}\n", "exists already"),
        ("  - {op: replace, field: id, value: other}\n", "format, id and kind stay"),
        ("  - {op: remove, field: endpoints/success}\n", "not valid after amendment A1"),
        (
            "  - {op: replace, field: hypotheses/H1/passes_if, value: {difference: {endpoint: x, above: 0}}}\n",
            "'x'",
        ),
        ("  - {op: remove, field: hypotheses/H1, value: x}\n", "no value with remove"),
        ("  - {op: rename, field: title, value: x}\n", "op"),
    ],
)
def test_a_change_that_does_not_apply_is_refused(changes: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        replay(PLAN, [amendment(PLAN, changes)])


def test_an_amendment_whose_parent_is_not_here_is_refused() -> None:
    other = Source(b"x", sha256_bytes(b"x"), "x")
    with pytest.raises(PlanError, match="amends something that is not here"):
        replay(PLAN, [amendment(other, RAISE)])


def test_two_amendments_of_one_parent_are_refused() -> None:
    with pytest.raises(PlanError, match=r"two amendments \(A1 and A2\)"):
        replay(PLAN, [amendment(PLAN, RAISE), amendment(PLAN, RAISE.replace("0.05", "0.01"), "A2")])


def test_an_amendment_to_another_plan_is_refused() -> None:
    with pytest.raises(PlanError, match="another plan"):
        replay(PLAN, [amendment(PLAN, RAISE, plan="large")])


def test_a_list_can_be_extended_and_shortened() -> None:
    changes = (
        "  - {op: add, field: disclosures, value: [{id: D1, kind: note, text: one}]}\n"
        "  - {op: add, field: disclosures/-, value: {id: D2, kind: note, text: two}}\n"
        "  - {op: remove, field: disclosures/0}\n"
    )
    assert [item.id for item in replay(PLAN, [amendment(PLAN, changes)]).plan.disclosures] == ["D2"]

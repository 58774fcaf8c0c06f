"""Each field of the plan in force names the document that set it last."""

from __future__ import annotations

from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.plan.blame import blame
from prereg_kit.plan.history import Source, replay
from tests.plans import SMALL

PLAN = Source(SMALL.encode(), sha256_bytes(SMALL.encode()), "plan.yaml")


def amendment(id: str, parent: Source, change: str) -> Source:
    text = (
        f"format: prereg.amendment/1\nid: {id}\nplan: small\namends: {parent.digest}\nreason: better\nknown: nothing_run\n"
        f"changes:\n  - {change}\n"
    )
    return Source(text.encode(), sha256_bytes(text.encode()), f"{id}.yaml")


def test_a_plan_without_amendments_is_its_own_origin() -> None:
    found = blame(replay(PLAN))
    assert {each.origin for each in found} == {"plan"}
    assert next(e.value for e in found if e.field == "hypotheses/H1/passes_if/difference/at_least") == "0.03"


def test_the_last_amendment_that_covers_a_field_is_named() -> None:
    first = amendment(
        "A1", PLAN, "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.1}"
    )
    whole = amendment("A2", first, "{op: replace, field: hypotheses/H1, value: {passes_if: {difference: "
                                   "{endpoint: success, at_least: 0.2}}}}")  # fmt: skip
    one = {each.field: each.origin for each in blame(replay(PLAN, [first]))}
    both = {each.field: (each.origin, each.value) for each in blame(replay(PLAN, [first, whole]))}
    assert one["hypotheses/H1/passes_if/difference/at_least"] == "A1"
    assert one["hypotheses/H1/passes_if/difference/endpoint"] == "plan"
    assert both["hypotheses/H1/passes_if/difference/at_least"] == ("A2", "0.2")
    assert both["hypotheses/H1/passes_if/difference/endpoint"][0] == "A2"
    assert both["arms/treatment"][0] == "plan"

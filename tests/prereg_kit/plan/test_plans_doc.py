"""docs/plans.md: its field reference is made from the models, and its worked examples stand up to `prereg check`."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from prereg_kit import check

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "plans.md").read_text(encoding="utf-8")
SPEC = importlib.util.spec_from_file_location("remake_reference", DOCS / "remake_reference.py")
assert SPEC is not None and SPEC.loader is not None
remake = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(remake)

WORKED = TEXT[TEXT.index("## Worked examples") : TEXT.index("## Every field")]
PLANS = re.findall(
    r"^```yaml\n(format: prereg\.plan/1\nid: ([a-z-]+)\n.*?)^```$", WORKED, re.MULTILINE | re.DOTALL
)


def test_the_field_reference_is_that_of_the_models() -> None:
    assert remake.remade(TEXT) == TEXT, "run `python docs/remake_reference.py` to write it anew"


def test_every_model_of_a_plan_is_in_the_reference() -> None:
    from prereg_kit.plan import amendment, endpoint, fields, hypothesis, matrix, parts, plan
    from prereg_kit.plan.criteria import bounded, rule

    modules = (amendment, endpoint, hypothesis, matrix, parts, plan)
    defined = {
        model
        for module in modules
        for name, model in vars(module).items()
        if isinstance(model, type) and issubclass(model, fields.Value) and model.__module__ == module.__name__
        if not name.startswith("_") and not name.endswith("_")
    }
    defined |= {bounded.Bounded, *rule.KINDS.values()}
    assert defined == {model for models in remake.SECTIONS.values() for model in models}


@pytest.mark.parametrize(("text", "name"), PLANS, ids=[name for _, name in PLANS])
def test_a_worked_example_is_checked_without_a_finding(
    text: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # findings do not depend on how many studies are simulated for what a rule is worth
    monkeypatch.setattr("prereg_kit.design.operating.STUDIES_WITH_INTERVALS", 100)
    monkeypatch.setattr("prereg_kit.design.plan_check.FAMILY_STUDIES", 100)
    report = check(text.encode())
    assert report.findings == ()
    if name == "after-a-pilot":
        (found,) = report.characteristics
        before = next(c for c in found.cells if c.effect == 0 and c.seed_sd == found.unit)
        after = next(c for c in found.conditional if c.effect == 0 and c.seed_sd == found.unit)
        assert after.passing > before.passing


def test_the_examples_are_all_there() -> None:
    assert [name for _, name in PLANS] == [
        "with-a-control", "two-readings", "two-chances", "two-sizes", "win-tie-loss", "how-soon", "whole-curve",
        "after-a-pilot",
    ]  # fmt: skip

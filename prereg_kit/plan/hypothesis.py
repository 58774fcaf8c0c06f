"""Hypotheses with their rules, predictions with their confidence, gates with their consequence."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from prereg_kit.plan.criteria.rule import Criterion
from prereg_kit.plan.fields import Column, Exact, Listed, Name, Text, Value


class ForEach(Value):
    """The same rule once per value of a column: verdicts are called `H1b[A]`, `H1b[B]`."""

    column: Column
    values: Listed


class Reading(Value):
    """A second computation: `replace` maps an endpoint of the rule to the endpoint used instead."""

    statement: Text = ""
    replace: Annotated[dict[Name, Name], Field(min_length=1)]


class Hypothesis(Value):
    """A statement and the rule that decides it.

    Either `passes_if` (optionally with `fails_if`: with both, neither met is inconclusive), or `outcomes`: named
    results of which exactly one must hold, each mapped to an outcome word by `counts_as` (default: inconclusive).
    `requires` names controls whose failure voids the verdict. `family` names a multiplicity family of the plan.
    """

    statement: Text = ""
    passes_if: Criterion | None = None
    fails_if: Criterion | None = None
    outcomes: dict[Name, Criterion] | None = None
    counts_as: dict[Name, Text] = Field(default_factory=dict)
    requires: dict[Name, Criterion] = Field(default_factory=dict)
    for_each: ForEach | None = None
    readings: dict[Name, Reading] = Field(default_factory=dict)
    family: Name | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Hypothesis:
        if (self.passes_if is None) == (self.outcomes is None):
            raise ValueError("either passes_if or outcomes")
        if self.outcomes is not None:
            if self.fails_if is not None:
                raise ValueError("fails_if goes with passes_if, not with outcomes")
            if len(self.outcomes) < 2:
                raise ValueError("at least two named outcomes")
            unknown = set(self.counts_as) - set(self.outcomes)
            if unknown:
                raise ValueError(f"counts_as for a named outcome, not for {sorted(unknown)}")
            bad = set(self.counts_as.values()) - {"pass", "fail", "inconclusive"}
            if bad:
                raise ValueError(f"counts_as pass, fail or inconclusive, not {sorted(bad)}")
        elif self.counts_as:
            raise ValueError("counts_as goes with outcomes")
        return self

    def rules(self) -> dict[str, Criterion]:
        """The criteria that decide, by the outcome that each leads to: `pass` and `fail`, or the named results."""
        rules = dict(self.outcomes or {})
        if self.passes_if is not None:
            rules["pass"] = self.passes_if
        if self.fails_if is not None:
            rules["fail"] = self.fails_if
        return rules


class Prediction(Value):
    """A prediction with the author's confidence that it will be met: one criterion, or several named parts.

    A prediction of several parts is met when every part is; each part is also shown by itself.
    """

    statement: Text = ""
    hypothesis: Name | None = None
    confidence: Exact | None = None
    expects: Criterion | None = None
    parts: dict[Name, Criterion] | None = None
    readings: dict[Name, Reading] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_form(self) -> Prediction:
        if (self.expects is None) == (not self.parts):
            raise ValueError("either expects or parts")
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise ValueError("confidence between 0 and 1")
        return self

    @property
    def criteria(self) -> dict[str, Criterion]:
        """The parts by name; a prediction of one criterion calls it `expects`."""
        return dict(self.parts) if self.parts else {"expects": self.expects}  # type: ignore[dict-item]


class Gate(Value):
    """What follows if a criterion over hypotheses holds: shown, never executed."""

    if_: Annotated[Criterion, Field(alias="if")]
    then: Text


class Family(Value):
    """A multiplicity family: interval levels of its members are widened (Bonferroni), unrun members counted."""

    correction: Annotated[str, Field(pattern="^bonferroni$")] = "bonferroni"
    members: Annotated[tuple[Name, ...], Field(min_length=1)]

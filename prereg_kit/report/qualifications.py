"""What qualifies an outcome, as every format prints it beside the outcome. Pure; nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass

from prereg_kit.decision.verdict import PlanRef, Stability, Verdict
from prereg_kit.plan.amendment import KNOWN_IN_WORDS
from prereg_kit.report.words import WORDS, sentence


@dataclass(frozen=True)
class Qualified:
    """One qualification: a few words for a table, a sentence for the reasons."""

    words: str
    sentence: str


def of(verdict: Verdict, plan: PlanRef) -> tuple[Qualified, ...]:
    """Everything that a reader must know before believing the outcome, in a fixed order."""
    found = [*_amended(verdict, plan), *_missing(verdict.stability)]
    return tuple(dict.fromkeys(found))


def _amended(verdict: Verdict, plan: PlanRef) -> list[Qualified]:
    """The rule is an amendment's: which one, what it changed, what its authors knew."""
    if verdict.rule_from == "plan":
        return []
    for amendment in plan.amendments:
        if amendment.id == verdict.rule_from:
            known = KNOWN_IN_WORDS.get(amendment.known, amendment.known)
            text = f"The rule is the one of amendment {amendment.id}, written when {known}."
            return [Qualified(f"amended by {amendment.id}", text)]
    return [Qualified(f"amended by {verdict.rule_from}", f"The rule is the one of {verdict.rule_from}.")]


def _missing(stability: Stability | None) -> list[Qualified]:
    """Planned runs are missing: the outcome with them at their worst and at their best."""
    if stability is None:
        return []
    ends = (("worst", stability.missing_worst), ("best", stability.missing_best))
    known = [f"{words} {WORDS[outcome]}" for words, outcome in ends if outcome is not None]
    if not known:
        return []
    return [
        Qualified("missing runs: " + ", ".join(known), f"With the missing runs counted: {', '.join(known)}.")
    ]


def stability_lines(stability: Stability | None) -> tuple[str, ...]:
    """How far the outcome is from another one, in sentences."""
    if stability is None:
        return ()
    left = [f"without {seed}: {WORDS[outcome]}" for seed, outcome in stability.leave_one_out.items()]
    lines = ["Leaving one seed out: " + ", ".join(left) + "."] if left else []
    return (*lines, *([sentence(stability.note)] if stability.note else []))

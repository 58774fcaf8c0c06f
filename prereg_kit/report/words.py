"""Outcomes, reasons and standing sentences as every format prints them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from prereg_kit.decision.verdict import Evidence, Outcome, Reason

WORDS: dict[Outcome, str] = {
    "pass": "pass",
    "fail": "fail",
    "inconclusive": "inconclusive",
    "void": "void",
    "not_run": "not run",
    "not_evaluable": "not evaluable",
}
MARKS: dict[Outcome, str] = {
    "pass": "✓", "fail": "✗", "inconclusive": "≈", "void": "∅", "not_run": "○", "not_evaluable": "?",
}  # fmt: skip
HOLDS: dict[Outcome, str] = WORDS | {"pass": "holds", "fail": "does not hold"}
"""What is said of one clause: a clause that begins with "fails if" does not fail, it holds or not."""
ESTABLISHED = (
    "Effect established: the registered interval excludes zero. "
    "It stands beside the rule and is no part of it."
)
STARRED = "* A qualification is listed for this outcome."
REPORTED_NOTE = "(reported): published elsewhere and not recomputed."


def shown(outcome: Outcome, evidence: Evidence) -> str:
    """The outcome in words; one that rests on reported figures says so."""
    return WORDS[outcome] + (" (reported)" if evidence == "reported" else "")


def holds(outcome: Outcome, evidence: Evidence) -> str:
    """One clause's outcome in words."""
    return HOLDS[outcome] + (" (reported)" if evidence == "reported" else "")


def sentence(text: str) -> str:
    """`text` with a capital first letter and a full stop, unless it begins with a name or has its own stop."""
    text = text.strip()
    if text[:1].islower() and text[:2].isalpha() and text.split(" ", 1)[0].islower():
        text = text[0].upper() + text[1:]
    return text if text[-1:] in {"", ".", "!", "?"} else text + "."


def sentences(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Each reason as a sentence."""
    return tuple(sentence(reason.message) for reason in reasons)

"""Verdicts laid out for a reader: every word and rounded number that any format prints, as plain values.

Pure: `Verdicts` in, `Page` out. Nothing is decided, averaged or reconciled here; numbers come from
`rounding`, escaping happens later, in the format's template.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from prereg_kit.decision.guards import sentences as sentences_of_guards
from prereg_kit.decision.verdict import UNFROZEN, Outcome, PredictionVerdict, Verdicts
from prereg_kit.foundation.visible import hidden
from prereg_kit.report import rounding
from prereg_kit.report.clause_lines import ClauseLine, clause_line
from prereg_kit.report.outcome_rows import Row, rows
from prereg_kit.report.words import ESTABLISHED, MARKS, REPORTED_NOTE, STARRED, WORDS, sentences, shown


@dataclass(frozen=True)
class PredictionRow:
    """One prediction, or one reading of it."""

    prediction: str
    reading: str
    hypothesis: str
    statement: str
    confidence: str
    outcome: Outcome
    verdict: str
    mark: str
    brier: str
    parts: tuple[tuple[str, ClauseLine], ...]
    reasons: tuple[str, ...]
    source: PredictionVerdict

    @property
    def name(self) -> str:
        """The prediction with its reading."""
        return f"{self.prediction} (reading: {self.reading})" if self.reading else self.prediction


@dataclass(frozen=True)
class GateRow:
    """One gate: does its condition hold, and what the plan says follows."""

    gate: str
    holds: str
    mark: str
    condition: str
    then: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """Everything that a format prints, in reading order."""

    title: str
    banners: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    tiles: tuple[tuple[str, int, str], ...]
    rows: tuple[Row, ...]
    predictions: tuple[PredictionRow, ...]
    prediction_summary: str
    gates: tuple[GateRow, ...]
    ledger_summary: str
    guards: tuple[str, ...]
    source: Verdicts

    @property
    def legend(self) -> tuple[str, ...]:
        """What the columns and marks of the outcomes table mean."""
        starred = (STARRED,) if any(row.qualified for row in self.rows) else ()
        return (ESTABLISHED, REPORTED_NOTE, *starred, rounding.RULE)


def _prediction(name: str, verdict: PredictionVerdict, reading: str) -> PredictionRow:
    confidence = verdict.confidence
    return PredictionRow(
        prediction=name,
        reading=reading,
        hypothesis=verdict.hypothesis or "",
        statement=verdict.statement,
        confidence=rounding.NOTHING if confidence is None else rounding.digits(confidence, "confidence"),
        outcome=verdict.outcome,
        verdict={"pass": "met", "fail": "not met"}.get(verdict.outcome, WORDS[verdict.outcome])
        + (" (reported)" if verdict.evidence == "reported" else ""),
        mark=MARKS[verdict.outcome],
        brier=rounding.figure(verdict.brier),
        parts=tuple((part, clause_line(clause, None, None)) for part, clause in verdict.parts.items()),
        reasons=sentences(verdict.reasons),
        source=verdict,
    )


def _predictions(verdicts: Verdicts) -> Iterator[PredictionRow]:
    for name, verdict in verdicts.predictions.items():
        yield _prediction(name, verdict, "")
        for reading, other in verdict.readings.items():
            yield _prediction(name, other, reading)


def _banners(verdicts: Verdicts, title: str) -> tuple[str, ...]:
    """The labels as given; an unfrozen or retrospective plan is announced even if no label does."""
    plan = verdicts.plan
    labels = [*verdicts.labels]
    if plan.label and plan.label not in labels:
        labels.append(plan.label)
    said = " ".join(labels).lower()
    if not plan.frozen and "unfrozen" not in said and "not frozen" not in said:
        labels.append(UNFROZEN)
    if plan.kind == "retrospective" and "retrospective" not in said:
        labels.append("Retrospective: a re-expression of rules whose results were already known")
    marks = hidden(json.dumps([title, verdicts.to_json()], ensure_ascii=False))
    if marks:
        labels.append(f"Some names hold invisible or direction-changing characters: {', '.join(marks[:8])}")
    return tuple(labels)


def _facts(verdicts: Verdicts) -> tuple[tuple[str, str], ...]:
    plan = verdicts.plan
    facts = [
        ("Plan", plan.id + (f" - {plan.title}" if plan.title else "")),
        ("Plan digest (SHA-256)", plan.digest),
        ("Frozen", ("yes" if plan.frozen else "no") + (f", {plan.path}" if plan.path else "")),
        ("Time", plan.time),
        ("Kind", plan.kind),
        ("Amendments", ", ".join(a.id for a in plan.amendments) or "none"),
        ("Evaluator", verdicts.evaluator),
    ]
    return tuple(facts + ([("Note", plan.note)] if plan.note else []))


def _tiles(verdicts: Verdicts) -> tuple[tuple[str, int, str], ...]:
    """(words, count, outcome) over the hypotheses' own verdicts; reported passes are counted apart."""
    counts = Counter((v.outcome, v.evidence) for v in verdicts.hypotheses.values())
    order = [(outcome, evidence) for outcome in WORDS for evidence in ("recomputed", "reported")]
    return tuple((shown(*key), counts[key], key[0]) for key in order if counts[key])  # type: ignore[index,arg-type]


def _prediction_summary(verdicts: Verdicts) -> str:
    summary = verdicts.prediction_summary
    if not verdicts.predictions:
        return ""
    text = f"{summary.scored} scored, {summary.met} met"
    text += f", of which {summary.met_reported} on reported figures" if summary.met_reported else ""
    text += f"; {summary.not_run} not run" if summary.not_run else ""
    if summary.mean_brier is not None:
        text += f"; mean Brier score {rounding.figure(summary.mean_brier)} (0 is best, 0.25 is a coin toss)"
    return text + "."


def _ledger_summary(verdicts: Verdicts) -> str:
    counts = Counter(row.status for row in verdicts.ledger)
    return ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in counts.items())


def build(verdicts: Verdicts, title: str | None = None) -> Page:
    """Lay out verdicts.

    Args:
        verdicts: what `decide` wrote.
        title: the page's title; default: the plan's title, or its id.
    """
    title = title or f"Outcomes: {verdicts.plan.title or verdicts.plan.id}"
    return Page(
        title=title,
        banners=_banners(verdicts, title),
        facts=_facts(verdicts),
        tiles=_tiles(verdicts),
        rows=tuple(rows(verdicts)),
        predictions=tuple(_predictions(verdicts)),
        prediction_summary=_prediction_summary(verdicts),
        gates=tuple(
            GateRow(
                gate=name,
                holds={True: "yes", False: "no", None: "unknown"}[gate.holds],
                mark={True: "✓", False: "✗", None: "?"}[gate.holds],
                condition=gate.condition,
                then=gate.then,
                reasons=sentences(gate.reasons),
            )
            for name, gate in verdicts.gates.items()
        ),
        ledger_summary=_ledger_summary(verdicts),
        guards=sentences_of_guards(verdicts.guards),
        source=verdicts,
    )

"""Verdicts laid out for a reader: every word and rounded number that any format prints, as plain values.

Pure: `Verdicts` in, `Page` out. Nothing is decided, averaged or reconciled here; numbers come from
`rounding`, escaping happens later, in the format's template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prereg_kit.report import rounding
from prereg_kit.verdict import (
    Clause,
    Evidence,
    Interval,
    Outcome,
    PredictionVerdict,
    Reason,
    Stability,
    Verdict,
    Verdicts,
)

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
_SIGNED = frozenset({"difference", "every_seed", "interval"})


@dataclass(frozen=True)
class ClauseLine:
    """One criterion as printed; `children` are the clauses it is made of."""

    words: str
    outcome: Outcome
    shown: str
    mark: str
    estimate: str
    distance: str
    interval: str
    per_unit: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    children: tuple[ClauseLine, ...]

    @property
    def met(self) -> str:
        """The outcome as a prediction's part says it: met, not met, or why there is neither."""
        return self.shown.replace("pass", "met").replace("fail", "not met")


@dataclass(frozen=True)
class Row:
    """One line of the outcomes table: a hypothesis, or one reading of it.

    `reading` is empty for a hypothesis without other readings, `primary` for its own verdict when it has some.
    """

    hypothesis: str
    reading: str
    primary: bool
    statement: str
    rule: str
    rule_from: str
    outcome: Outcome
    verdict: str
    mark: str
    result: str
    evidence: Evidence
    established: str
    endpoint: str
    unit: str
    signed: bool
    estimate: str
    exact: str
    interval: str
    interval_made: str
    t_interval: str
    per_seed: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    clauses: tuple[ClauseLine, ...]
    stability: tuple[str, ...]
    source: Verdict

    @property
    def name(self) -> str:
        """The hypothesis with its reading: `H2b (reading: literal)`."""
        if self.primary or not self.reading:
            return self.hypothesis
        return f"{self.hypothesis} (reading: {self.reading})"

    @property
    def lines(self) -> tuple[tuple[int, ClauseLine], ...]:
        """Every clause with its depth (0 for the outermost), in the order of the rule."""
        return tuple(_flat(self.clauses, 0))

    @property
    def seeds(self) -> str:
        """Per-seed values in one line, `-` for none."""
        return "; ".join(f"{seed}: {value}" for seed, value in self.per_seed) or rounding.NOTHING


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
    source: Verdicts
    rounding_rule: str = field(default=rounding.RULE)


def shown(outcome: Outcome, evidence: Evidence) -> str:
    """The outcome in words; one that rests on reported figures says so."""
    return WORDS[outcome] + (" (reported)" if evidence == "reported" else "")


def sentences(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Each reason as a sentence: a capital first letter and a full stop, unless the text has its own."""
    return tuple(_sentence(reason.message) for reason in reasons)


def _sentence(text: str) -> str:
    text = text.strip()
    if text[:1].islower() and text[:2].isalpha() and text.split(" ", 1)[0].islower():
        text = text[0].upper() + text[1:]
    return text if text[-1:] in {"", ".", "!", "?"} else text + "."


def leaves(clauses: Iterable[Clause]) -> Iterator[Clause]:
    """The clauses that have no parts, in the order of the rule."""
    for clause in clauses:
        if clause.clauses:
            yield from leaves(clause.clauses)
        else:
            yield clause


def _flat(lines: Iterable[ClauseLine], depth: int) -> Iterator[tuple[int, ClauseLine]]:
    for line in lines:
        yield depth, line
        yield from _flat(line.children, depth + 1)


def is_signed(verdict: Verdict) -> bool:
    """Does the estimate measure a difference, or lie near zero, so that a plus sign says something?"""
    below = [verdict.interval.lower] if verdict.interval else []
    below += [number.value for number in verdict.per_seed.values()]
    return min(below, default=0) < 0 or any(
        clause.criterion in _SIGNED and clause.endpoint in {None, verdict.endpoint}
        for clause in leaves(verdict.clauses)
    )


def _units(per: dict[str, rounding.Figure], unit: str | None, signed: bool) -> tuple[tuple[str, str], ...]:
    return tuple((name, rounding.figure(number, unit, signed=signed)) for name, number in per.items())


def _clause(clause: Clause, unit: str | None) -> ClauseLine:
    signed = clause.criterion in _SIGNED
    return ClauseLine(
        words=clause.words,
        outcome=clause.outcome,
        shown=shown(clause.outcome, clause.evidence),
        mark=MARKS[clause.outcome],
        estimate=rounding.figure(clause.estimate, unit, signed=signed),
        distance=rounding.figure(clause.distance, unit, signed=True),
        interval=rounding.interval(clause.interval, unit, signed=signed),
        per_unit=_units(clause.per_unit, unit, signed),
        reasons=sentences(clause.reasons),
        children=tuple(_clause(part, unit) for part in clause.clauses),
    )


def _made(interval: Interval | None) -> str:
    """How an interval was made, in words."""
    if interval is None:
        return ""
    ways = {
        "exact": "exact bootstrap",
        "monte_carlo": "bootstrap",
        "t": "t interval",
        "reported": "as published",
    }
    parts = [ways[interval.engine]]
    if interval.engine != "reported":
        parts.append(interval.scheme)
    if interval.resamples is not None:
        parts.append(f"{interval.resamples} resamples")
    if interval.mc_sd is not None:
        parts.append(
            "Monte Carlo sd of the ends " + " and ".join(rounding.digits(sd) for sd in interval.mc_sd)
        )
    if interval.degenerate:
        parts.append("degenerate: nothing varies, so the interval is a point")
    if interval.note:
        parts.append(interval.note)
    return "; ".join(parts)


def _stability(stability: Stability | None) -> tuple[str, ...]:
    if stability is None:
        return ()
    lines = [f"without seed {seed}: {WORDS[outcome]}" for seed, outcome in stability.leave_one_out.items()]
    for words, outcome in (("worst", stability.missing_worst), ("best", stability.missing_best)):
        if outcome is not None:
            lines.append(f"missing runs at their {words} for the treatment: {WORDS[outcome]}")
    return (*lines, *([stability.note] if stability.note else []))


def _row(name: str, verdict: Verdict, reading: str, primary: bool) -> Row:
    signed = is_signed(verdict)
    unit = verdict.unit
    exact = verdict.estimate.exact if verdict.estimate and verdict.estimate.exact else ""
    excludes = verdict.interval_excludes_zero
    return Row(
        hypothesis=name,
        reading=reading,
        primary=primary,
        statement=verdict.statement,
        rule=verdict.rule,
        rule_from=verdict.rule_from,
        outcome=verdict.outcome,
        verdict=shown(verdict.outcome, verdict.evidence),
        mark=MARKS[verdict.outcome],
        result=verdict.result or "",
        evidence=verdict.evidence,
        established=rounding.NOTHING if excludes is None else ("yes" if excludes else "no"),
        endpoint=verdict.endpoint or "",
        unit=unit or "",
        signed=signed,
        estimate=rounding.figure(verdict.estimate, unit, signed=signed),
        exact=exact,
        interval=rounding.interval(verdict.interval, unit, signed=signed),
        interval_made=_made(verdict.interval),
        t_interval=rounding.interval(verdict.t_interval, unit, signed=signed),
        per_seed=_units(verdict.per_seed, unit, signed),
        reasons=sentences(verdict.reasons),
        clauses=tuple(_clause(clause, unit) for clause in verdict.clauses),
        stability=_stability(verdict.stability),
        source=verdict,
    )


def _rows(verdicts: Verdicts) -> Iterator[Row]:
    for name, verdict in verdicts.hypotheses.items():
        yield _row(name, verdict, "primary" if verdict.readings else "", True)
        for reading, other in verdict.readings.items():
            yield _row(name, other, reading, False)


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
        parts=tuple((part, _clause(clause, None)) for part, clause in verdict.parts.items()),
        reasons=sentences(verdict.reasons),
        source=verdict,
    )


def _predictions(verdicts: Verdicts) -> Iterator[PredictionRow]:
    for name, verdict in verdicts.predictions.items():
        yield _prediction(name, verdict, "")
        for reading, other in verdict.readings.items():
            yield _prediction(name, other, reading)


def _banners(verdicts: Verdicts) -> tuple[str, ...]:
    """The labels as given; an unfrozen or retrospective plan is announced even if no label does."""
    plan = verdicts.plan
    labels = [*verdicts.labels]
    if plan.label and plan.label not in labels:
        labels.append(plan.label)
    said = " ".join(labels).lower()
    if not plan.frozen and "unfrozen" not in said and "not frozen" not in said:
        labels.append("UNFROZEN PLAN: its rules could have been written after the data")
    if plan.kind == "retrospective" and "retrospective" not in said:
        labels.append("Retrospective: a re-expression of rules whose results were already known")
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
        text += f"; mean Brier score {rounding.figure(summary.mean_brier)} (0 is best, 0.25 is a coin)"
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
    return Page(
        title=title or f"Outcomes: {verdicts.plan.title or verdicts.plan.id}",
        banners=_banners(verdicts),
        facts=_facts(verdicts),
        tiles=_tiles(verdicts),
        rows=tuple(_rows(verdicts)),
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
        source=verdicts,
    )

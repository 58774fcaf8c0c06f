"""One hypothesis, or one reading of it, as the words and rounded numbers that a table prints. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prereg_kit.decision.verdict import (
    Clause,
    Evidence,
    Figure,
    Interval,
    Outcome,
    Reason,
    Stability,
    Verdict,
    Verdicts,
)
from prereg_kit.report import rounding

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
_EACH = frozenset({"every_seed", "at_every", "at_majority", "invariant"})


@dataclass(frozen=True)
class ClauseLine:
    """One criterion as printed; `children` are the clauses it is made of.

    `found` is what was compared, where that is one number or one interval; otherwise `per_unit` holds it.
    """

    words: str
    criterion: str
    outcome: Outcome
    shown: str
    mark: str
    found: str
    margin: str
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
    number: str
    exact: str
    interval: str
    interval_level: str
    interval_ends: str
    interval_kind: str
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
    def further_reasons(self) -> tuple[str, ...]:
        """The reasons that no clause gives already."""
        given = {reason for _, line in self.lines for reason in line.reasons}
        return tuple(reason for reason in self.reasons if reason not in given)

    @property
    def lines(self) -> tuple[tuple[int, ClauseLine], ...]:
        """Every clause with its depth (0 for the outermost), in the order of the rule."""
        return tuple(_flat(self.clauses, 0))

    @property
    def seeds(self) -> str:
        """Per-seed values in one line, `-` for none."""
        return "; ".join(f"{seed}: {value}" for seed, value in self.per_seed) or rounding.NOTHING


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


def _units(per: dict[str, Figure], unit: str | None, signed: bool) -> tuple[tuple[str, str], ...]:
    return tuple((name, rounding.figure(number, unit, signed=signed)) for name, number in per.items())


def _bare(text: str, clause: Clause) -> str:
    """`text` without `(reported)` where the clause's own outcome says so already."""
    return text.removesuffix(rounding.REPORTED) if clause.evidence == "reported" else text


def _found(clause: Clause, unit: str | None, signed: bool) -> str:
    """What a criterion compared: an interval, an estimate, or nothing where it compared many values."""
    if clause.criterion in _EACH:
        return rounding.NOTHING
    if clause.interval is not None:
        return _bare(rounding.interval(clause.interval, unit, signed=signed), clause)
    return _bare(rounding.figure(clause.estimate, unit, signed=signed), clause)


def _margin(clause: Clause, unit: str | None) -> str:
    """How far inside (+) or outside (-) its bound a clause lies; a majority's margin is a count and says little."""
    if clause.criterion == "at_majority":
        return rounding.NOTHING
    return _bare(rounding.figure(clause.distance, unit, signed=True), clause)


def clause_line(clause: Clause, endpoint: str | None, unit: str | None) -> ClauseLine:
    """A criterion as printed, with the criteria it is made of; `unit` holds for `endpoint` and no other one."""
    if clause.endpoint not in {None, endpoint}:
        unit = None
    signed = clause.criterion in _SIGNED
    return ClauseLine(
        words=clause.words,
        criterion=clause.criterion,
        outcome=clause.outcome,
        shown=shown(clause.outcome, clause.evidence),
        mark=MARKS[clause.outcome],
        found=_found(clause, unit, signed),
        margin=_margin(clause, unit),
        per_unit=tuple((name, _bare(text, clause)) for name, text in _units(clause.per_unit, unit, signed)),
        reasons=sentences(clause.reasons),
        children=tuple(clause_line(part, endpoint, unit) for part in clause.clauses),
    )


_ENGINES = {
    "exact": "exact bootstrap",
    "monte_carlo": "Monte Carlo bootstrap",
    "t": "t interval",
    "reported": "reported, not recomputed",
}


def _kind(interval: Interval | None) -> str:
    """How an interval was made, in two or three words."""
    if interval is None:
        return ""
    return "degenerate: a point" if interval.degenerate else _ENGINES[interval.engine]


def _made(interval: Interval | None) -> str:
    """How an interval was made, in full."""
    if interval is None:
        return ""
    if interval.engine == "reported":
        return interval.note or _ENGINES["reported"]
    parts = [_ENGINES[interval.engine], interval.scheme]
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
    left = [f"without {seed}: {WORDS[outcome]}" for seed, outcome in stability.leave_one_out.items()]
    lines = ["Leaving one seed out: " + ", ".join(left) + "."] if left else []
    for words, outcome in (("worst", stability.missing_worst), ("best", stability.missing_best)):
        if outcome is not None:
            lines.append(f"With missing runs at their {words} for the treatment: {WORDS[outcome]}.")
    return (*lines, *([_sentence(stability.note)] if stability.note else []))


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
        number=rounding.figure(verdict.estimate, unit, signed=signed).removesuffix(rounding.REPORTED),
        exact=exact,
        interval=rounding.interval(verdict.interval, unit, signed=signed),
        interval_level=rounding.level(verdict.interval.level) if verdict.interval else "",
        interval_ends=rounding.ends(verdict.interval, unit, signed=signed) if verdict.interval else "",
        interval_kind=_kind(verdict.interval),
        interval_made=_made(verdict.interval),
        t_interval=rounding.interval(verdict.t_interval, unit, signed=signed),
        per_seed=_units(verdict.per_seed, unit, signed),
        reasons=sentences(verdict.reasons),
        clauses=tuple(clause_line(clause, verdict.endpoint, unit) for clause in verdict.clauses),
        stability=_stability(verdict.stability),
        source=verdict,
    )


def rows(verdicts: Verdicts) -> Iterator[Row]:
    """The hypotheses in their order, each followed by its other readings."""
    for name, verdict in verdicts.hypotheses.items():
        yield _row(name, verdict, "primary" if verdict.readings else "", True)
        for reading, other in verdict.readings.items():
            yield _row(name, other, reading, False)

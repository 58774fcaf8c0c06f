"""One hypothesis, or one reading of it, as the words and rounded numbers that every format prints. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prereg_kit.decision.verdict import Evidence, Outcome, PlanRef, Verdict, Verdicts
from prereg_kit.report import interval_words, qualifications, rounding, spread
from prereg_kit.report.clause_lines import SIGNED, ClauseLine, clause_line, flat, leaves
from prereg_kit.report.qualifications import Qualified
from prereg_kit.report.words import MARKS, sentences, shown


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
    qualified: tuple[Qualified, ...]
    endpoint: str
    unit: str
    signed: bool
    estimate: str
    number: str
    exact: str
    interval: str
    interval_kind: str
    interval_made: str
    t_interval: str
    t_made: str
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
    def star(self) -> str:
        """What a table puts behind an outcome that is qualified."""
        return " *" if self.qualified else ""

    @property
    def qualified_by(self) -> str:
        """The qualifications in a few words each, `-` for none."""
        return "; ".join(each.words for each in self.qualified) or rounding.NOTHING

    @property
    def further_reasons(self) -> tuple[str, ...]:
        """The reasons that no clause gives already."""
        return tuple(reason for reason in self.reasons if reason not in self.clause_reasons)

    @property
    def clause_reasons(self) -> tuple[str, ...]:
        """The reasons of the clauses, each once."""
        return tuple(dict.fromkeys(reason for _, line in self.lines for reason in line.reasons))

    @property
    def all_reasons(self) -> tuple[str, ...]:
        """The verdict's reasons, then those that only a clause gives."""
        return tuple(dict.fromkeys((*self.reasons, *self.clause_reasons)))

    @property
    def clause_texts(self) -> tuple[str, ...]:
        """Each clause in one line: its words, whether it holds, what was found, its bound, its values."""
        parts = (
            (f"{line.words}: {line.shown}", line.numbers, f"[{line.units}]" if line.units else "")
            for _, line in self.lines
        )
        return tuple(", ".join(text for text in each if text) for each in parts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What stands beside the outcome in every format, in sentences: qualifications, both intervals, stability."""
        made = f"Registered interval: {self.interval}; {self.interval_made}." if self.interval_made else ""
        beside = (
            f"Beside it, from variance components: {self.t_interval}; {self.t_made}." if self.t_made else ""
        )
        lines = (*(each.sentence for each in self.qualified), made, beside, *self.stability)
        return tuple(line for line in lines if line)

    @property
    def lines(self) -> tuple[tuple[int, ClauseLine], ...]:
        """Every clause with its depth (0 for the outermost), in the order of the rule."""
        return tuple(flat(self.clauses))

    @property
    def seeds(self) -> str:
        """Per-seed values in one line, `-` for none."""
        return "; ".join(f"{seed}: {value}" for seed, value in self.per_seed) or rounding.NOTHING


def is_signed(verdict: Verdict) -> bool:
    """Does the estimate measure a difference, or lie near zero, so that a plus sign says something?"""
    below = [verdict.interval.lower] if verdict.interval else []
    below += [number.value for number in verdict.per_seed.values()]
    return min(below, default=0) < 0 or any(
        clause.criterion in SIGNED and clause.endpoint in {None, verdict.endpoint}
        for clause in leaves(verdict.clauses)
    )


def bounds_of(verdict: Verdict) -> dict[float, str]:
    """The registered bounds on the verdict's own endpoint, each once, with the text that a plot shows."""
    return {
        bound.value: rounding.bound(bound)
        for clause in leaves(verdict.clauses)
        if clause.endpoint in {None, verdict.endpoint}
        for bound in clause.bounds
    }


def _row(name: str, verdict: Verdict, reading: str, primary: bool, plan: PlanRef) -> Row:
    signed = is_signed(verdict)
    unit = verdict.unit
    beside = tuple(bounds_of(verdict))
    estimate = rounding.figure(verdict.estimate, unit, signed=signed, beside=beside)
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
        qualified=qualifications.of(verdict, plan),
        endpoint=verdict.endpoint or "",
        unit=unit or "",
        signed=signed,
        estimate=estimate,
        number=estimate.removesuffix(rounding.REPORTED),
        exact=verdict.estimate.exact if verdict.estimate and verdict.estimate.exact else "",
        interval=rounding.interval(verdict.interval, unit, signed=signed, beside=beside),
        interval_kind=interval_words.kind(verdict.interval),
        interval_made=interval_words.made(verdict.interval),
        t_interval=rounding.interval(verdict.t_interval, unit, signed=signed, beside=beside),
        t_made=interval_words.made(verdict.t_interval),
        per_seed=spread.listed(verdict.per_seed, unit, signed=signed, beside=beside),
        reasons=sentences(verdict.reasons),
        clauses=tuple(clause_line(clause, verdict.endpoint, unit) for clause in verdict.clauses),
        stability=qualifications.stability_lines(verdict.stability),
        source=verdict,
    )


def rows(verdicts: Verdicts) -> Iterator[Row]:
    """The hypotheses in their order, each followed by its other readings."""
    for name, verdict in verdicts.hypotheses.items():
        yield _row(name, verdict, "primary" if verdict.readings else "", True, verdicts.plan)
        for reading, other in verdict.readings.items():
            yield _row(name, other, reading, False, verdicts.plan)

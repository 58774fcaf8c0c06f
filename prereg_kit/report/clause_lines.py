"""One criterion as a line of words and printed numbers: what was found, the bound, the margin. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prereg_kit.decision.verdict import Clause, Figure, Outcome
from prereg_kit.report import interval_words, rounding, spread
from prereg_kit.report.words import MARKS, holds, sentences

SIGNED = frozenset({"difference", "every_seed", "interval"})
_EACH = frozenset({"every_seed", "at_every", "at_majority", "invariant"})


@dataclass(frozen=True)
class ClauseLine:
    """One criterion as printed; `children` are the clauses it is made of.

    `found` is what was compared, where that is one number or one interval; otherwise `per_unit` holds it.
    `bounds` are the registered numbers it was compared with, `-` for none.
    """

    words: str
    criterion: str
    outcome: Outcome
    shown: str
    mark: str
    found: str
    bounds: str
    margin: str
    per_unit: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    children: tuple[ClauseLine, ...]

    @property
    def met(self) -> str:
        """The outcome as a prediction's part says it: met, not met, or why there is neither."""
        return self.shown.replace("holds", "met").replace("does not hold", "not met")

    @property
    def numbers(self) -> str:
        """`found X, bound Y, margin Z`, without what there is not."""
        parts = (("found", self.found), ("bound", self.bounds), ("margin", self.margin))
        return ", ".join(f"{name} {text}" for name, text in parts if text != rounding.NOTHING)

    @property
    def units(self) -> str:
        """The compared values in one line, empty for none."""
        return "; ".join(f"{name}: {value}" for name, value in self.per_unit)


def leaves(clauses: Iterable[Clause]) -> Iterator[Clause]:
    """The clauses that have no parts, in the order of the rule."""
    for clause in clauses:
        if clause.clauses:
            yield from leaves(clause.clauses)
        else:
            yield clause


def flat(lines: Iterable[ClauseLine], depth: int = 0) -> Iterator[tuple[int, ClauseLine]]:
    """Every clause with its depth, 0 for the outermost."""
    for line in lines:
        yield depth, line
        yield from flat(line.children, depth + 1)


def clause_line(clause: Clause, endpoint: str | None, unit: str | None) -> ClauseLine:
    """A criterion as printed, with the criteria it is made of; `unit` holds for `endpoint` and no other one."""
    if clause.endpoint not in {None, endpoint}:
        unit = None
    signed = clause.criterion in SIGNED
    beside = tuple(bound.value for bound in clause.bounds)
    units = spread.listed(clause.per_unit, unit, signed=signed, beside=beside)
    return ClauseLine(
        words=clause.words,
        criterion=clause.criterion,
        outcome=clause.outcome,
        shown=holds(clause.outcome, clause.evidence),
        mark=MARKS[clause.outcome],
        found=_found(clause, unit, signed, beside),
        bounds=", ".join(_bare(rounding.bound(each, unit), clause) for each in clause.bounds)
        or rounding.NOTHING,
        margin=_margin(clause, unit),
        per_unit=tuple((name, _bare(text, clause)) for name, text in units),
        reasons=sentences(clause.reasons),
        children=tuple(clause_line(part, endpoint, unit) for part in clause.clauses),
    )


def _bare(text: str, clause: Clause) -> str:
    """`text` without `(reported)` where the clause's own outcome says so already."""
    return text.removesuffix(rounding.REPORTED) if clause.evidence == "reported" else text


def _found(clause: Clause, unit: str | None, signed: bool, beside: tuple[float, ...]) -> str:
    """What a criterion compared: an estimate, an interval, both, or nothing where it compared many values."""
    parts = []
    if clause.estimate is not None and clause.criterion not in _EACH:
        parts.append(_bare(rounding.figure(clause.estimate, unit, signed=signed, beside=beside), clause))
    if clause.interval is not None:
        ends = _bare(rounding.interval(clause.interval, unit, signed=signed, beside=beside), clause)
        parts.append(f"{ends}, {interval_words.made(clause.interval)}")
    return "; ".join(parts) or rounding.NOTHING


def _margin(clause: Clause, unit: str | None) -> str:
    """How far inside (+) or outside (-) its bound a clause lies; a majority's margin is a count and says little."""
    distance: Figure | None = None if clause.criterion == "at_majority" else clause.distance
    return _bare(rounding.figure(distance, unit, signed=True, beside=(0.0,)), clause)

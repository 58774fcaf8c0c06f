"""Verdicts on a terminal: the outcomes table, then each rule with everything that stands beside its outcome."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from prereg_kit.cli.terminal import Terminal
from prereg_kit.decision.verdict import Outcome, Verdicts
from prereg_kit.plan.amendment import KNOWN_IN_WORDS
from prereg_kit.report import rounding
from prereg_kit.report.outcome_rows import Row
from prereg_kit.report.page import Page, PredictionRow, build

STYLES: dict[Outcome, str] = {
    "pass": "green", "fail": "red", "inconclusive": "yellow", "void": "magenta", "not_run": "bright_black",
    "not_evaluable": "bright_black",
}  # fmt: skip
_WIDE = 130
_STACKED = 6


def print_verdicts(verdicts: Verdicts, out: Console, *, title: str | None = None) -> None:
    """Print the outcomes, the rules with their reasons, predictions, gates and a line on the runs.

    Args:
        verdicts: what `decide` found.
        out: where to; from 130 columns per-seed values get a column of their own, and where the widest outcome
            does not fit beside its estimate each row becomes a block of lines.
        title: the heading; default: from the plan.
    """
    page = build(verdicts, title)
    to = Terminal(out)
    _heading(page, to)
    _outcomes(page, to)
    to.blank()
    for row in page.rows:
        _rule(row, to)
    if page.predictions:
        to.blank()
        to.line("Predictions", "bold underline")
        _predictions(page, to)
    if page.gates:
        to.blank()
        to.line("Gates", "bold underline")
        _gates(page, to)
    to.blank()
    if page.ledger_summary:
        to.line(f"Runs: {page.ledger_summary}.")
    for note in (*page.guards, *page.legend, *verdicts.notes):
        to.line(note)


def _heading(page: Page, to: Terminal) -> None:
    plan = page.source.plan
    to.line(page.title, "bold")
    for banner in page.banners:
        to.line(f"! {banner}", "bold yellow")
    to.line(f"Plan {plan.id}, {'frozen' if plan.frozen else 'not frozen'}")
    to.line(f"Time: {plan.time}")
    to.whole(f"SHA-256 {plan.digest}")
    for amendment in plan.amendments:
        known = KNOWN_IN_WORDS.get(amendment.known, amendment.known)
        to.line(f"Amendment {amendment.id}, written when {known}", "bold")
        to.line(f"Because: {amendment.reason}", indent=4)
        for change in amendment.changes:
            to.line(change, indent=4)
    to.blank()


def _outcome(to: Terminal, row: Row | PredictionRow, star: str = "") -> Text:
    return to.text(f"{row.mark} {row.verdict}{star}", STYLES[row.outcome])


def _name(to: Terminal, row: Row) -> Text:
    if row.primary:
        return to.text(row.hypothesis + (" (primary)" if row.reading else ""), "bold")
    return to.text(f"· {row.reading}")


def _numbers(to: Terminal, row: Row) -> Text:
    """The estimate over both intervals, each with how it was made in a few words."""
    parts = [row.estimate]
    if row.interval_kind:
        parts += [row.interval.removesuffix(rounding.REPORTED), f"  {row.interval_kind}"]
    if row.t_made:
        parts += [row.t_interval, "  t interval"]
    return to.lines(parts)


def _seeds(to: Terminal, row: Row) -> Text:
    pairs = [f"{seed}: {value}" for seed, value in row.per_seed]
    return to.lines(pairs) if 0 < len(pairs) <= _STACKED else to.text(row.seeds)


def _outcomes(page: Page, to: Terminal) -> None:
    headings = ["Hypothesis or reading", "Rule outcome", "Effect\nestablished", "Estimate,\nintervals"]
    whole = headings[1:]
    wide = to.width >= _WIDE
    rows = []
    for row in page.rows:
        established = row.established + (row.star if row.established != rounding.NOTHING else "")
        cells = [_name(to, row), _outcome(to, row, row.star), to.text(established), _numbers(to, row)]
        rows.append([*cells, _seeds(to, row)] if wide else cells)
    to.table([*headings, "Per seed or run"] if wide else headings, rows, whole)


def _rule(row: Row, to: Terminal) -> None:
    to.line(f"{row.mark} {row.name}: {row.verdict}{row.star}", f"bold {STYLES[row.outcome]}")
    origin = "" if row.rule_from == "plan" else f" (rule from {row.rule_from})"
    to.line((row.rule or "no rule in words") + origin, indent=4)
    if row.result:
        to.line(f"Result: {row.result}", indent=4)
    for each in row.qualified:
        to.line(f"* {each.sentence}", indent=4)
    for reason in row.further_reasons:
        to.line(reason, indent=4)
    for depth, line in row.lines:
        numbers = "; ".join(part for part in (line.numbers, line.units) if part)
        tail = f"; {numbers}" if numbers else ""
        to.line(f"{line.mark} {line.words}: {line.shown}{tail}", indent=4 + 2 * depth)
        for reason in line.reasons:
            to.line(reason, indent=6 + 2 * depth)
    for remark in row.remarks[len(row.qualified) :]:
        to.line(remark, indent=4)
    told = any(line.per_unit == row.per_seed for _, line in row.lines)
    if row.per_seed and to.width < _WIDE and not told:
        to.line(f"By seed or run: {row.seeds}", indent=4)


def _predictions(page: Page, to: Terminal) -> None:
    headings = ("Prediction", "Outcome", "Stated", "Brier", "Parts")
    rows = []
    for row in page.predictions:
        parts = [f"{line.mark} {line.words if part == 'expects' else part}" for part, line in row.parts]
        brier = row.brier.removesuffix(rounding.REPORTED)  # the outcome beside it says so
        name = to.text(f"· {row.reading}") if row.reading else to.text(row.prediction, "bold")
        cells = (
            to.text(row.confidence),
            to.text(brier),
            to.lines(parts or row.reasons or [rounding.NOTHING]),
        )
        rows.append((name, _outcome(to, row), *cells))
    to.table(headings, rows, headings[:4])
    to.line(page.prediction_summary)


def _gates(page: Page, to: Terminal) -> None:
    rows = [
        [to.text(part) for part in (gate.gate, f"{gate.mark} {gate.holds}", gate.condition, gate.then)]
        for gate in page.gates
    ]
    to.table(("Gate", "Holds", "Condition", "Then"), rows, ("Holds",))

"""Verdicts on a terminal: tables that fit 80 columns, words that stay without colour. For `decide` and `render`.

rich honours NO_COLOR and writes no colour to a pipe. Text is passed as `rich.text.Text`, never as markup, and
control characters are written out, so that a name like `[red]` or an escape sequence is shown and not obeyed.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prereg_kit.decision.verdict import Outcome, Verdicts
from prereg_kit.foundation.visible import one_line, visible
from prereg_kit.plan.amendment import KNOWN_IN_WORDS
from prereg_kit.report import rounding
from prereg_kit.report.outcome_rows import Row
from prereg_kit.report.page import Page, PredictionRow, build

STYLES: dict[Outcome, str] = {
    "pass": "green", "fail": "red", "inconclusive": "yellow", "void": "magenta", "not_run": "bright_black",
    "not_evaluable": "bright_black",
}  # fmt: skip
_WIDE = 110
_STACKED = 6


def console() -> Console:
    """Stdout as rich sees it: no colour if it is not a terminal or NO_COLOR is set; COLUMNS sets the width."""
    return Console(highlight=False, emoji=False, markup=False)


def _text(words: str, style: str = "") -> Text:
    return Text(one_line(visible(words)), style=style)


def _lines(parts: Iterable[str]) -> Text:
    return Text("\n").join(_text(part) for part in parts)


def _table(out: Console, *headings: str, whole: Iterable[str] = ()) -> Table:
    """A table whose columns named in `whole` keep their lines unbroken; the others give way."""
    gap = 2 if out.width >= 130 else 1
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, gap, 0, 0)
    )
    for heading in headings:
        table.add_column(heading, overflow="fold", vertical="top", no_wrap=heading in whole)
    return table


def _hang(out: Console, text: Text, indent: int = 4) -> None:
    """Print `text` with every line indented, and no blanks at the ends of lines."""
    for line in text.wrap(out, max(20, out.width - indent)):
        line.rstrip()
        out.print(Text(" " * indent) + line, overflow="fold", soft_wrap=True)


def _outcome(row: Row | PredictionRow) -> Text:
    return _text(f"{row.mark} {row.verdict}", STYLES[row.outcome])


def _name(row: Row) -> Text:
    if row.primary:
        return _text(row.hypothesis + (" (primary)" if row.reading else ""), "bold")
    return Text("·\u00a0") + _text(row.reading)


def _seeds(row: Row) -> Text:
    pairs = [f"{seed}: {value}" for seed, value in row.per_seed]
    return _lines(pairs) if 0 < len(pairs) <= _STACKED else _text(row.seeds)


def _outcomes(page: Page, out: Console) -> Table:
    headings = ("Hypothesis or reading", "Rule outcome", "Effect\nestablished")
    wide = out.width >= _WIDE
    more = (
        ("Estimate", "Registered interval", "Per seed or run")
        if wide
        else ("Estimate,\nregistered interval",)
    )
    table = _table(out, *headings, *more, whole=(*headings[1:], *more[:2]))
    for row in page.rows:
        interval = row.interval.replace(" (", "\n(", 1).split("\n")
        if wide:
            cells = [_text(row.estimate), _lines(interval), _seeds(row)]
        else:
            cells = [_lines([row.estimate, *(interval if row.interval != rounding.NOTHING else [])])]
        table.add_row(_name(row), _outcome(row), _text(row.established), *cells)
    return table


def _why(page: Page, out: Console) -> None:
    for row in page.rows:
        out.print(_text(f"{row.mark} {row.name}: {row.verdict}", f"bold {STYLES[row.outcome]}"))
        origin = "" if row.rule_from == "plan" else f" (rule from {row.rule_from})"
        _hang(out, _text((row.rule or "no rule in words") + origin))
        if row.result:
            _hang(out, _text(f"Result: {row.result}"))
        for reason in row.reasons:
            _hang(out, _text(reason))
        if row.per_seed and out.width < _WIDE:
            _hang(
                out, _text("By seed or run: " + ", ".join(f"{seed} {value}" for seed, value in row.per_seed))
            )


def _predictions(page: Page, out: Console) -> None:
    table = _table(
        out,
        "Prediction",
        "Outcome",
        "Stated",
        "Brier",
        "Parts",
        whole=("Prediction", "Outcome", "Stated", "Brier"),
    )
    for row in page.predictions:
        parts = [f"{line.mark} {line.words if part == 'expects' else part}" for part, line in row.parts]
        brier = row.brier.removesuffix(" (reported)")  # the outcome beside it says so
        name = Text("·\u00a0") + _text(row.reading) if row.reading else _text(row.prediction, "bold")
        table.add_row(
            name, _outcome(row), _text(row.confidence), _text(brier), _lines(parts or [rounding.NOTHING])
        )
    out.print(table)
    out.print(_text(page.prediction_summary))


def _gates(page: Page, out: Console) -> None:
    table = _table(out, "Gate", "Holds", "Condition", "Then", whole=("Holds",))
    for gate in page.gates:
        table.add_row(
            _text(gate.gate), _text(f"{gate.mark} {gate.holds}"), _text(gate.condition), _text(gate.then)
        )
    out.print(table)


def print_verdicts(verdicts: Verdicts, out: Console, *, title: str | None = None) -> None:
    """Print the outcomes, the rules with their reasons, predictions, gates and a line on the runs.

    Args:
        verdicts: what `decide` found.
        out: where to; from 110 columns per-seed values get a column of their own.
        title: the heading; default: from the plan.
    """
    page = build(verdicts, title)
    plan = verdicts.plan
    out.print(_text(page.title, "bold"))
    for banner in page.banners:
        out.print(_text(f"! {banner}", "bold yellow"))
    out.print(_text(f"Plan {plan.id}, {'frozen' if plan.frozen else 'not frozen'}"))
    out.print(_text(f"Time: {plan.time}"))
    out.print(_text(f"SHA-256 {plan.digest}"))
    for amendment in plan.amendments:
        known = KNOWN_IN_WORDS.get(amendment.known, amendment.known)
        out.print(_text(f"Amendment {amendment.id}, written when {known}", "bold"))
        _hang(out, _text(f"Because: {amendment.reason}"))
        for change in amendment.changes:
            _hang(out, _text(change))
    out.print()
    out.print(_outcomes(page, out))
    out.print()
    _why(page, out)
    for heading, rows, show in (
        ("Predictions", page.predictions, _predictions),
        ("Gates", page.gates, _gates),
    ):
        if rows:
            out.print()
            out.print(Text(heading, style="bold underline"))
            show(page, out)
    out.print()
    if page.ledger_summary:
        out.print(_text(f"Runs: {page.ledger_summary}."))
    out.print(
        _text(
            "Effect established: the registered interval excludes zero. It stands beside the rule and is no part of it."
        )
    )
    for note in (*page.guards, rounding.RULE, *verdicts.notes):
        out.print(_text(note))

"""Verdicts on a terminal: tables that fit 80 columns, words that stay without colour. `decide` and `render` call it.

rich honours NO_COLOR and writes no colour to a pipe. Text is passed as `rich.text.Text`, never as markup, so a
name like `[red]` or an escape sequence is shown and not obeyed.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from prereg_kit.report import rounding, tables
from prereg_kit.report.escape import one_line, visible
from prereg_kit.report.outcome_rows import Row
from prereg_kit.report.page import Page, build
from prereg_kit.verdict import Outcome, Verdicts

STYLES: dict[Outcome, str] = {
    "pass": "green", "fail": "red", "inconclusive": "yellow", "void": "magenta", "not_run": "bright_black",
    "not_evaluable": "bright_black",
}  # fmt: skip
_WIDE = 104


def _text(words: str, style: str = "") -> Text:
    return Text(one_line(visible(words)), style=style)


def _table(headings: Iterable[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold", vertical="top")
    return table


def _outcome(row: Row) -> Text:
    words = f"{row.mark} {row.verdict}" + (f": {row.result}" if row.result else "")
    return _text(words, STYLES[row.outcome])


def _outcomes(page: Page, wide: bool) -> Table:
    headings = ["Hypothesis", "Estimate", "Registered interval", "Rule outcome", "Effect established"]
    if wide:
        headings.insert(3, "Per seed or run")
    table = _table(headings)
    for row in page.rows:
        indent = "" if row.primary else "  "
        name = row.hypothesis if row.primary else f"reading {row.reading}"
        label = Text(indent) + _text(name + (" (primary)" if row.primary and row.reading else ""), "bold")
        cells = [label, _text(row.estimate), _text(row.interval), _outcome(row), _text(row.established)]
        if wide:
            cells.insert(3, _text(row.seeds))
        table.add_row(*cells)
    return table


def _why(page: Page, console: Console) -> None:
    for row in page.rows:
        origin = "" if row.rule_from == "plan" else f" (rule from {row.rule_from})"
        console.print(_text(row.name, "bold") + Text(": ") + _text((row.rule or "no rule in words") + origin))
        for reason in row.reasons:
            console.print(Padding(_text(reason), (0, 0, 0, 4)))


def _rest(page: Page, console: Console) -> None:
    for name in ("predictions", "gates"):
        made = tables.table(page, name)
        if not made.rows:
            continue
        console.print()
        console.print(Text(made.title, style="bold underline"))
        if name == "predictions":
            table = _table(["Prediction", "Confidence", "Outcome", "Brier", "Parts"])
            for row in page.predictions:
                parts = "; ".join(
                    f"{line.mark} {part if part != 'expects' else line.words}" for part, line in row.parts
                )
                outcome = _text(f"{row.mark} {row.verdict}", STYLES[row.outcome])
                table.add_row(
                    _text(row.name), _text(row.confidence), outcome, _text(row.brier), _text(parts or "-")
                )
        else:
            table = _table(["Gate", "Condition", "Holds", "Then"])
            for gate in page.gates:
                table.add_row(*(_text(cell) for cell in (gate.gate, gate.condition, gate.holds, gate.then)))
        console.print(table)
        if made.note:
            console.print(_text(made.note))
    if page.ledger_summary:
        console.print()
        console.print(_text(f"Runs: {page.ledger_summary}."))


def print_verdicts(verdicts: Verdicts, console: Console, *, title: str | None = None) -> None:
    """Print the outcomes, the rules with their reasons, predictions, gates and a line on the runs.

    Args:
        verdicts: what `decide` found.
        console: where to; its width decides whether per-seed values get a column (from 104 columns).
        title: the heading; default: from the plan.
    """
    page = build(verdicts, title)
    console.print(_text(page.title, "bold"))
    for banner in page.banners:
        console.print(_text(f"! {banner}", "bold yellow"))
    plan = verdicts.plan
    console.print(_text(f"plan {plan.id}  sha256 {plan.digest}"), overflow="fold")
    console.print(_text(f"{'frozen' if plan.frozen else 'not frozen'}; time: {plan.time}"))
    console.print(_outcomes(page, console.width >= _WIDE))
    _why(page, console)
    _rest(page, console)
    console.print()
    console.print(
        _text("Effect established: the registered interval excludes zero; the rule may not ask for it.")
    )
    console.print(_text(rounding.RULE))
    for note in verdicts.notes:
        console.print(_text(note))

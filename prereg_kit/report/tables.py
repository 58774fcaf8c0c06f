"""The tables that Markdown, LaTeX and CSV share: columns with widths, rows of plain text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prereg_kit.decision.verdict import LedgerRow
from prereg_kit.plan.amendment import KNOWN_IN_WORDS
from prereg_kit.report.flat_outcomes import outcomes as flat_outcomes
from prereg_kit.report.flat_outcomes import values
from prereg_kit.report.outcome_rows import Row
from prereg_kit.report.page import Page
from prereg_kit.report.rounding import NOTHING
from prereg_kit.report.table import Column, Table


def _dash(text: str) -> str:
    return text or NOTHING


def _outcome_row(row: Row) -> tuple[str, ...]:
    name = row.name + (" (primary)" if row.primary and row.reading else "")
    verdict = row.verdict + (f": {row.result}" if row.result else "") + row.star
    established = row.established + (row.star if row.established != NOTHING else "")
    interval = row.interval + (f", {row.interval_kind}" if row.interval_kind else "")
    return (
        name, _dash(row.rule), row.estimate, interval, row.t_interval, row.seeds, verdict, established,
        row.qualified_by, _dash(row.rule_from),
    )  # fmt: skip


def outcomes(page: Page) -> Table:
    """The outcomes table: "rule outcome" and "effect established" are different columns, each with its star."""
    widths = (9, 18, 8, 13, 11, 12, 8, 7, 8, 5)
    headings = (
        "Hypothesis", "Rule", "Estimate", "Registered interval", "t interval", "Per seed or run", "Rule outcome",
        "Effect established", "Qualified by", "Rule from",
    )  # fmt: skip
    return Table(
        "outcomes",
        "Outcomes",
        tuple(map(Column, headings, widths)),
        tuple(map(_outcome_row, page.rows)),
        " ".join(page.legend),
    )


def predictions(page: Page) -> Table:
    """The predictions, each part scored."""
    headings = ("Prediction", "Hypothesis", "Statement", "Confidence", "Parts", "Outcome", "Brier")
    rows = tuple(
        (
            row.name,
            _dash(row.hypothesis),
            _dash(row.statement),
            row.confidence,
            "; ".join(
                ("" if part == "expects" else f"{part}: ") + f"{line.words}: {line.met}"
                for part, line in row.parts
            )
            or NOTHING,
            row.verdict,
            row.brier,
        )
        for row in page.predictions
    )
    columns = tuple(map(Column, headings, (9, 10, 25, 9, 28, 10, 7)))
    return Table("predictions", "Predictions", columns, rows, page.prediction_summary)


def gates(page: Page) -> Table:
    """The gates and what the plan says follows."""
    rows = tuple((g.gate, g.condition, g.holds, g.then, _dash(" ".join(g.reasons))) for g in page.gates)
    headings = ("Gate", "Condition", "Holds", "Then", "Why")
    return Table("gates", "Gates", tuple(map(Column, headings, (9, 28, 8, 28, 24))), rows)


def _run_notes(run: LedgerRow) -> str:
    notes = [run.reason.rstrip(".")] if run.reason else []
    return "; ".join([*notes, *(f"{key}: {value}" for key, value in run.details.items())])


def ledger(page: Page) -> Table:
    """Every planned and every found run."""
    rows = tuple(
        (
            run.run_id,
            run.status.replace("_", " "),
            "yes" if run.planned else "no",
            _dash(run.condition or ""),
            _dash(run.arm or ""),
            _dash(run.seed or ""),
            NOTHING if run.attempt is None else str(run.attempt),
            _dash(run.started_at or ""),
            _dash(run.finished_at or ""),
            _dash(_run_notes(run)),
        )
        for run in page.source.ledger
    )
    headings = (
        "Run", "Status", "Planned", "Condition", "Arm", "Seed", "Attempt", "Started", "Finished",
        "Reason and details",
    )  # fmt: skip
    columns = tuple(map(Column, headings, (15, 8, 7, 8, 10, 5, 7, 11, 11, 14)))
    return Table("ledger", "Ledger of runs", columns, rows, page.ledger_summary)


def registers(page: Page) -> Table:
    """The registers that were read, with the digests of their bytes."""
    rows = tuple(
        (r.path, r.format, str(r.rows), str(r.used), r.sha256, _dash(r.note or ""))
        for r in page.source.registers
    )
    headings = ("Register", "Format", "Rows", "Used", "SHA-256", "Note")
    return Table("registers", "Registers read", tuple(map(Column, headings, (20, 12, 7, 7, 36, 14))), rows)


def amendments(page: Page) -> Table:
    """The amendments in force: what each changed and what was known."""
    rows = tuple(
        (a.id, "; ".join(a.changes) or NOTHING, a.reason, KNOWN_IN_WORDS.get(a.known, a.known), a.digest)
        for a in page.source.plan.amendments
    )
    headings = ("Amendment", "Changes", "Reason", "Known when written", "Digest (SHA-256)")
    return Table("amendments", "Amendments", tuple(map(Column, headings, (10, 24, 24, 16, 24))), rows)


_ON_A_PAGE: dict[str, Callable[[Page], Table]] = {
    "outcomes": outcomes, "predictions": predictions, "gates": gates, "ledger": ledger, "registers": registers,
    "amendments": amendments,
}  # fmt: skip
_AS_CSV = _ON_A_PAGE | {"outcomes": flat_outcomes, "values": values}
NAMES = tuple(_AS_CSV)
"""The tables that CSV can be asked for."""


def flat(page: Page, name: str) -> Table:
    """One table by its name (`NAMES`), one number in a cell where a spreadsheet wants it."""
    return _AS_CSV[name](page)


def _without_empty(made: Table) -> Table:
    """`made` without the columns in which no row says anything; the others share their width."""
    kept = [i for i in range(len(made.columns)) if i == 0 or any(row[i] != NOTHING for row in made.rows)]
    total = sum(made.columns[i].width for i in kept)
    columns = tuple(Column(made.columns[i].heading, made.columns[i].width * 98 // total) for i in kept)
    return replace(made, columns=columns, rows=tuple(tuple(row[i] for i in kept) for row in made.rows))


def all_tables(page: Page) -> tuple[Table, ...]:
    """Every table that has rows, in reading order, without the columns that say nothing."""
    made = (build(page) for build in _ON_A_PAGE.values())
    return tuple(_without_empty(table) for table in made if table.rows)

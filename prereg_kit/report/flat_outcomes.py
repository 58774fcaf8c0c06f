"""Outcomes and single values for a spreadsheet: one number in a cell, bare outcome words. Pure."""

from __future__ import annotations

from prereg_kit.decision.verdict import Interval
from prereg_kit.report.outcome_rows import Row, bounds_of
from prereg_kit.report.page import Page
from prereg_kit.report.rounding import digits
from prereg_kit.report.table import Column, Table

HEADINGS = (
    "hypothesis", "reading", "statement", "rule", "rule_from", "endpoint", "unit", "estimate", "estimate_exact",
    "estimate_evidence", "interval_level", "interval_lower", "interval_upper", "interval_engine", "interval_made",
    "t_level", "t_lower", "t_upper", "t_made", "per_seed", "outcome", "evidence", "result", "effect_established",
    "qualified_by", "remarks", "clauses", "reasons", "guards_not_applied", "labels",
)  # fmt: skip


def _row(row: Row, page: Page) -> dict[str, str]:
    verdict = row.source
    estimate = verdict.estimate
    beside = tuple(bounds_of(verdict))
    return {
        "hypothesis": row.hypothesis,
        "reading": row.reading,
        "statement": row.statement,
        "rule": row.rule,
        "rule_from": row.rule_from,
        "endpoint": row.endpoint,
        "unit": row.unit,
        "estimate": digits(estimate.value, verdict.unit, beside=beside) if estimate else "",
        "estimate_exact": row.exact,
        "estimate_evidence": estimate.evidence if estimate else "",
        **_interval("interval", verdict.interval, verdict.unit, beside),
        "interval_made": row.interval_made,
        **_interval("t", verdict.t_interval, verdict.unit, beside),
        "t_made": row.t_made,
        "per_seed": row.seeds,
        "outcome": row.outcome,
        "evidence": row.evidence,
        "result": row.result,
        "effect_established": row.established,
        "qualified_by": row.qualified_by,
        "remarks": " ".join(row.remarks),
        "clauses": "; ".join(row.clause_texts),
        "reasons": " ".join(row.all_reasons),
        "guards_not_applied": " ".join(page.guards),
        "labels": "; ".join(page.banners),
    }  # fmt: skip


def _interval(
    name: str, interval: Interval | None, unit: str | None, beside: tuple[float, ...]
) -> dict[str, str]:
    ends = [interval.lower, interval.upper] if interval else []
    lower, upper = (digits(end, unit, beside=beside) for end in ends) if interval else ("", "")
    return {
        f"{name}_level": repr(interval.level) if interval else "",
        f"{name}_lower": lower,
        f"{name}_upper": upper,
        f"{name}_engine": interval.engine if interval else "",
    }


def outcomes(page: Page) -> Table:
    """One line for each hypothesis and reading; `labels` repeats the banners, since a line may be read alone."""
    lines = (_row(row, page) for row in page.rows)
    columns = tuple(Column(heading, 4) for heading in HEADINGS)
    cells = tuple(tuple(line[heading] for heading in HEADINGS) for line in lines)
    return Table("outcomes", "Outcomes", columns, cells)


def values(page: Page) -> Table:
    """Every value by seed, pair or run, each in a line; where there are many, `outcomes` only sums them up."""
    lines = tuple(
        (row.hypothesis, row.reading, name, repr(number.value), number.exact or "", number.evidence)
        for row in page.rows
        for name, number in row.source.per_seed.items()
    )
    headings = ("hypothesis", "reading", "seed_or_run", "value", "exact", "evidence")
    return Table("values", "Values by seed or run", tuple(Column(heading, 16) for heading in headings), lines)

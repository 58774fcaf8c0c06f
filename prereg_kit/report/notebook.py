"""Verdicts as a notebook shows them: the rows of a data frame, and one HTML table with the banners above it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from prereg_kit.decision.verdict import Interval, Verdicts
from prereg_kit.foundation.html_table import safe, table
from prereg_kit.report.outcome_rows import Row
from prereg_kit.report.page import build


def frame_rows(verdicts: Verdicts) -> list[dict[str, object]]:
    """One row for each hypothesis and reading, numbers as floats in the endpoint's unit.

    `labels` and `guards not applied` are repeated in each row, since a frame is cut and joined.
    """
    page = build(verdicts)
    shared: dict[str, object] = {
        "guards not applied": " ".join(page.guards),
        "labels": "; ".join(page.banners),
    }
    return [_frame_row(row) | shared for row in page.rows]


def _frame_row(row: Row) -> dict[str, object]:
    verdict = row.source
    label = row.hypothesis + (f" ({row.reading})" if row.reading and not row.primary else "")
    return {
        "hypothesis": label,
        "outcome": verdict.outcome,
        "result": row.result,
        "evidence": verdict.evidence,
        "effect established": verdict.interval_excludes_zero,
        "qualified by": row.qualified_by,
        "estimate": None if verdict.estimate is None else verdict.estimate.value,
        "estimate evidence": None if verdict.estimate is None else verdict.estimate.evidence,
        **_ends("", verdict.interval),
        "interval made": row.interval_made,
        **_ends("t ", verdict.t_interval),
        "t interval made": row.t_made,
        "rule": row.rule,
        "rule from": row.rule_from,
        "per seed": row.seeds,
        "clauses": "; ".join(row.clause_texts),
        "remarks": " ".join(row.remarks),
        "reasons": " ".join(row.all_reasons),
    }


def _ends(name: str, interval: Interval | None) -> dict[str, object]:
    return {
        f"{name}level": None if interval is None else interval.level,
        f"{name}lower": None if interval is None else interval.lower,
        f"{name}upper": None if interval is None else interval.upper,
    }


def html_table(verdicts: Verdicts) -> str:
    """Banners, the outcomes with both intervals, and under each outcome what qualifies it; every text is escaped."""
    page = build(verdicts)
    headings = (
        "hypothesis", "rule outcome", "effect established", "estimate", "registered interval", "t interval",
        "rule and remarks",
    )  # fmt: skip
    body = [_cells(row) for row in page.rows]
    return (
        "".join(f"<p><b>{safe(banner)}</b></p>" for banner in page.banners)
        + table(headings, body)
        + "".join(f"<p>{safe(line)}</p>" for line in page.guards)
        + "".join(f"<p><small>{safe(line)}</small></p>" for line in page.legend)
    )


def _cells(row: Row) -> list[Sequence[str]]:
    seeds = f"By seed or run: {row.seeds}" if row.per_seed else ""
    under = dict.fromkeys((*row.all_reasons, *row.remarks, *row.clause_texts, seeds))
    return [
        [row.name],
        [f"{row.mark} {row.verdict}{row.star}", *([row.result] if row.result else [])],
        [row.established],
        [row.estimate],
        [row.interval, row.interval_made],
        [row.t_interval, row.t_made],
        [row.rule or "-", *(() if row.rule_from == "plan" else (f"from {row.rule_from}",)), *under],
    ]

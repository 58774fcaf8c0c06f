"""An audit for a reader at a terminal: findings, the timeline, the count of runs, and what cannot be known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prereg_kit.audit.examine import Audit, StudyAudit
from prereg_kit.audit.findings import Finding
from prereg_kit.foundation.visible import terminal_line

_MARK = {"violation": "VIOLATION", "warning": "warning", "note": "note"}


def lines(audit: Audit, *, notes: bool = True) -> Iterator[str]:
    """The lines of the report; hostile text is made visible."""
    for line in _lines(audit, notes=notes):
        yield terminal_line(line)


def _lines(audit: Audit, *, notes: bool) -> Iterator[str]:
    yield (
        f"{audit.count('violation')} violations, {audit.count('warning')} warnings, {audit.count('note')} notes "
        f"over {len(audit.studies)} frozen plans"
    )
    for finding in audit.findings:
        if notes or finding.severity != "note":
            yield ""
            yield from _finding(finding)
    for study in audit.studies:
        yield ""
        yield from _study(study)
    yield ""
    yield "What cannot be known from here"
    for text in audit.not_knowable:
        yield f"  {text}"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"{_MARK[finding.severity]}  {finding.subject}  [{finding.code}]"
    yield f"  {finding.message}"
    for name, value in finding.evidence.items():
        if value:
            yield f"    {name}: {value}"
    if finding.severity != "note":
        yield f"  An innocent explanation would have to show: {finding.innocent}."


def _study(study: StudyAudit) -> Iterator[str]:
    yield f"Timeline of {study.id}"
    for event in study.timeline:
        when = "unknown time      " if event.at is None else f"{event.at.when:%Y-%m-%d %H:%M:%SZ}"
        grade = "" if event.at is None else f" ({event.at.grade})"
        yield f"  {when}  {event.text}{grade}"
    for order in study.orders:
        how = "cannot be told" if order.grade is None else order.grade
        yield f"  order: {order.before}, then {order.after}: {how}; {order.why}"
    if study.ledger:
        counts = Counter(row.status for row in study.ledger)
        yield f"Runs of {study.id}: " + ", ".join(f"{count} {status}" for status, count in counts.items())

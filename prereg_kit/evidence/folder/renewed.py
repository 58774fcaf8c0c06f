"""Following renewals: which earlier stamps each one carries on, and whether it came in time.

A renewal carries the first stamps, or an earlier renewal, if its list names their files as the record does, the
document among them, and what it names reaches the quorum by itself. It counts if it reaches the quorum and came
while something that it carries still protected; come later, it leaves a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from prereg_kit.evidence.archive.record import FileRef, FreezeRecord, StampRecord, rfc3339
from prereg_kit.evidence.folder.files import vouching_files
from prereg_kit.evidence.folder.report import DocumentReport, StampReport, Status
from prereg_kit.evidence.token import QuorumError, QuorumProof

Judge = Callable[[Sequence[StampReport]], QuorumProof]


@dataclass(frozen=True)
class Level:
    """A renewal as examined: its list, path -> SHA-256 (empty if unusable), and the stamps over the list."""

    listed: Mapping[str, str]
    stamps: tuple[StampReport, ...]


@dataclass(frozen=True)
class _Standing:
    """Something that protects: until when, and by when it was proven that the document existed."""

    until: datetime
    proven: datetime


def _carried(
    listed: Mapping[str, str],
    extra: Sequence[FileRef],
    records: Sequence[StampRecord],
    reports: Sequence[StampReport],
    judge: Judge,
) -> QuorumProof | None:
    """The quorum among the stamps whose files the list names, or None."""
    if any(listed.get(ref.path) != ref.sha256 for ref in extra):
        return None
    named = [
        report
        for record, report in zip(records, reports, strict=True)
        if all(listed.get(ref.path) == ref.sha256 for ref in vouching_files(record))
    ]
    try:
        return judge(named)
    except QuorumError:
        return None


def follow(
    report: DocumentReport,
    record: FreezeRecord,
    first: QuorumProof,
    levels: Sequence[Level],
    judge: Judge,
    at: datetime,
) -> DocumentReport:
    """The report with its final status, `protected_until` and `proven_time`.

    Args:
        report: with its stamps.
        record: of the folder.
        first: the quorum of the first stamps.
        levels: the renewals, in the record's order.
        judge: the quorum over stamp reports; raises QuorumError.
        at: when protection is judged.
    """
    base = [record.document, *record.attachments]
    standing = [_Standing(first.protected_until, first.time)]
    accepted: list[tuple[int, _Standing]] = []
    notes, late = list(report.notes), False
    for place, level in enumerate(levels):
        name = f"renewal {place + 1}"
        carried: list[_Standing] = []
        quorum = _carried(level.listed, base, record.stamps, report.stamps, judge)
        if quorum is not None:
            carried.append(_Standing(quorum.protected_until, quorum.time))
        for earlier, state in accepted:
            renewal = record.renewals[earlier]
            names = [*base, renewal.manifest]
            kept = _carried(level.listed, names, renewal.stamps, levels[earlier].stamps, judge)
            if kept is not None:
                carried.append(_Standing(min(kept.protected_until, state.until), state.proven))
        try:
            later = judge(level.stamps)
        except QuorumError as error:
            notes.append(f"{name} does not count: {error.problem}")
            continue
        if not carried:
            notes.append(f"{name} does not count: its list does not carry a quorum of earlier stamps")
            continue
        in_time = [state for state in carried if later.time <= state.until]
        if not in_time:
            late = True
            end = max(state.until for state in carried)
            notes.append(
                f"{name} came on {rfc3339(later.time)}, after protection had ended on {rfc3339(end)}: "
                "nothing vouches for the time between"
            )
            continue
        state = _Standing(later.protected_until, min(state.proven for state in in_time))
        accepted.append((place, state))
        standing.append(state)
    until = max(state.until for state in standing)
    good = [state.proven for state in standing if at <= state.until]
    status: Status = "protected" if good else "gap" if late else "lapsed"
    return replace(
        report,
        status=status,
        protected_until=until,
        proven_time=min(good) if good else first.time,
        notes=tuple(notes),
    )

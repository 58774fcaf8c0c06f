"""What an episode's records say: faults drawn, faults that took effect, faults that were overcome.

The three are counted apart. *Drawn*: the schedule gave the call a fault. *Effective*: the reply differs from what
the same call would have got without it. *Recovered*: an effective fault after which the same request was answered,
for a timeout after commit also by a look at the same resource. An outage cannot be recovered within its episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from study.backoffice.episode import CallRecord
from study.backoffice.faults import OUTAGE, TIMEOUT_AFTER_COMMIT, TRUNCATION

SEARCH = "search_customers"
UNANSWERED = frozenset({"temporary_error", "rate_limited", "service_unavailable", "timeout"})
"""Statuses of calls that were well-formed and got no answer."""


class FaultCounts(NamedTuple):
    """Faults of one episode; recovered <= effective <= drawn."""

    drawn: int
    effective: int
    recovered: int


def fault_counts(records: Sequence[CallRecord]) -> FaultCounts:
    """Count an episode's faults."""
    effective = [(place, record) for place, record in enumerate(records) if record.effective]
    return FaultCounts(
        sum(record.drawn is not None for record in records),
        len(effective),
        sum(recovered(records, place) for place, _ in effective),
    )


def recovered(records: Sequence[CallRecord], place: int) -> bool:
    """Whether the effective fault of the record at `place` was overcome later in the episode."""
    fault = records[place]
    if fault.drawn == OUTAGE:
        return False
    return any(
        _same_request(fault, later) and later.status not in UNANSWERED and not later.effective
        for later in records[place + 1 :]
    )


def _same_request(fault: CallRecord, later: CallRecord) -> bool:
    if later.resource != fault.resource or later.values is None or fault.values is None:
        return False
    if later.tool != fault.tool:
        return fault.drawn == TIMEOUT_AFTER_COMMIT
    if fault.tool == SEARCH and later.values[0] != fault.values[0]:
        return False  # all searches share one resource
    return fault.drawn != TRUNCATION or later.values[1] == fault.next_offset

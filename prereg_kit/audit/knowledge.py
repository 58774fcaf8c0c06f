"""What could have been known at a time: the floor under what an author says was known. Pure.

An author can say that more was known than the records show, never less. Lateness is judged by when runs started and
ended and when data were seen, not by when a run was entered in the index: entering it later hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from prereg_kit.audit.times import clearly_before, parse_time
from prereg_kit.evidence.deviations import Disclosure, Timing
from prereg_kit.plan.amendment import Known
from prereg_kit.registers.formats import RunRow

LEVELS: tuple[Known, ...] = ("nothing_run", "no_results_seen", "results_not_opened", "results_seen")
_OF_TIMING: dict[Timing, Known] = {
    "before-data": "nothing_run",
    "during-data": "no_results_seen",
    "data-not-seen": "results_not_opened",
    "data-seen": "results_seen",
}


@dataclass(frozen=True)
class Floor:
    """The least that was known at a time, and the records that show it."""

    level: Known
    because: str = ""


def floor_at(
    when: datetime,
    runs: Iterable[RunRow],
    disclosures: Iterable[Disclosure],
    decided: Iterable[tuple[str, datetime]],
) -> Floor:
    """What the records show to have been known at `when`.

    Args:
        when: aware, UTC.
        runs: attempts of runs of the plan, whether counted or not.
        disclosures: who saw data and when.
        decided: decisions about the plan, each with the time by which it existed.
    """
    found = Floor("nothing_run")
    for run in runs:
        if clearly_before(parse_time(run.started_at), when):
            found = _higher(found, Floor("no_results_seen", f"run {run.run_id} started at {run.started_at}"))
        if clearly_before(parse_time(run.finished_at), when) and run.status == "completed":
            found = _higher(
                found, Floor("results_not_opened", f"run {run.run_id} was complete at {run.finished_at}")
            )
    for disclosure in disclosures:
        if clearly_before(parse_time(disclosure.seen_at), when):
            found = _higher(
                found, Floor("results_seen", f"{disclosure.who} saw {disclosure.saw} at {disclosure.seen_at}")
            )
    for name, at in decided:
        if clearly_before(at, when):
            found = _higher(found, Floor("results_seen", f"the decision {name} existed at {at.isoformat()}"))
    return found


def _higher(one: Floor, other: Floor) -> Floor:
    return other if LEVELS.index(other.level) > LEVELS.index(one.level) else one


def understates(said: Known, floor: Floor) -> bool:
    """Whether somebody says that less was known than the records show."""
    return LEVELS.index(said) < LEVELS.index(floor.level)


def of_timing(timing: Timing) -> Known:
    """The level that a deviation's timing claims."""
    return _OF_TIMING[timing]

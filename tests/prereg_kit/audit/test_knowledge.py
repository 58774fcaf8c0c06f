"""The floor under what an author says was known, on timelines worked by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prereg_kit.audit.knowledge import LEVELS, floor_at, understates
from prereg_kit.audit.times import clearly_before, parse_time
from prereg_kit.evidence.deviations import Disclosure
from prereg_kit.registers.formats import RunRow

RUN = RunRow(
    "a", "s", "0" * 64, "C1", "t", 0, started_at="2026-01-06T10:00:00Z", finished_at="2026-01-06T12:00:00Z"
)
LOOK = Disclosure(
    number=1,
    previous="0" * 64,
    id="S1",
    written_at="2026-02-01",
    who="A",
    saw="curves",
    seen_at="2026-01-06T11:00:00Z",
)


def at(text: str) -> datetime:
    found = parse_time(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("when", "level"),
    [
        ("2026-01-06T09:00:00Z", "nothing_run"),
        ("2026-01-06T10:05:00Z", "nothing_run"),  # within what clocks differ by
        ("2026-01-06T10:30:00Z", "no_results_seen"),
        ("2026-01-06T12:05:00Z", "no_results_seen"),
        ("2026-01-06T12:30:00Z", "results_not_opened"),
    ],
)
def test_the_floor_follows_starts_and_ends(when: str, level: str) -> None:
    assert floor_at(at(when), [RUN], [], []).level == level


def test_a_failed_run_shows_no_result() -> None:
    assert floor_at(at("2026-01-08"), [replace(RUN, status="failed")], [], []).level == "no_results_seen"


def test_who_saw_data_knew_it_from_then_on() -> None:
    assert floor_at(at("2026-01-06T11:05:00Z"), [RUN], [LOOK], []).level == "no_results_seen"
    found = floor_at(at("2026-01-06T11:30:00Z"), [RUN], [LOOK], [])
    assert found.level == "results_seen"
    assert "A saw curves" in found.because


def test_a_decision_that_existed_means_that_results_were_seen() -> None:
    when = at("2026-01-10")
    assert (
        floor_at(when, [], [], [("reports/verdicts.json", when - timedelta(days=1))]).level == "results_seen"
    )


def test_more_may_be_said_than_is_shown_and_never_less() -> None:
    floor = floor_at(at("2026-01-07"), [RUN], [], [])
    assert [understates(level, floor) for level in LEVELS] == [True, True, False, False]


def test_a_time_without_an_offset_is_taken_as_utc_and_no_time_is_before_nothing() -> None:
    assert parse_time("2026-01-06") == datetime(2026, 1, 6, tzinfo=UTC)
    assert parse_time("soon") is None
    assert not clearly_before(None, at("2026-01-06"))

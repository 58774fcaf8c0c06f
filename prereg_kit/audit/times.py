"""When things happened, and how strong the evidence is. Pure.

Three grades. *Declared*: somebody wrote the time down; his own clock, his own word. *Chained*: one thing contains the
digest of another, so the other existed first; no clock is involved. *Anchored*: a timestamping authority that was
verified saw the digest at that time. An order is claimed with the grade of its weaker part, and not at all where two
intervals overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

Grade = Literal["declared", "chained", "anchored"]

CLOCK_TOLERANCE = timedelta(minutes=10)
"""Clocks of honest machines differ by seconds, sometimes by minutes: no finding rests on less."""


@dataclass(frozen=True)
class Moment:
    """A time with its grade and where it comes from. `when` is aware, in UTC."""

    when: datetime
    grade: Grade
    source: str


@dataclass(frozen=True)
class Event:
    """One line of the timeline: what happened to which thing, when, and in which file that stands.

    `at` is None where no source says when. `earlier` names events that this one contains the digest of.
    """

    kind: Literal[
        "freeze", "amendment", "deviation", "disclosure", "withdrawal", "run-start", "run-end", "decision"
    ]
    subject: str
    at: Moment | None
    text: str
    file: str | None = None
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """One thing came before another, with the grade of the evidence for it, or it cannot be said (`grade` None)."""

    before: str
    after: str
    grade: Grade | None
    why: str


def parse_time(text: str | None) -> datetime | None:
    """A time of a register or a document; None for none, or for text that is no time. A date counts as its start."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def clearly_before(one: datetime | None, other: datetime | None) -> bool:
    """Whether `one` lies before `other` by more than clocks differ; False where either is unknown."""
    return one is not None and other is not None and one + CLOCK_TOLERANCE < other

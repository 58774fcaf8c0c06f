"""One episode as a value that a person can follow: every call, what chance did to it, and why it ended as it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from study.backoffice.calls import Call, MalformedCall
from study.backoffice.episode import CallRecord, Episode, Outcome, Reply
from study.backoffice.faults import NoiseLaw, compile_law
from study.backoffice.grader import canonical
from study.backoffice.log import FaultCounts, fault_counts
from study.backoffice.tasks import Task
from study.evaluation.explain import base_value, explain, show
from study.evaluation.rollout import play
from study.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Line:
    """One call.

    Attributes:
        tool: as called.
        arguments: as called; None if they could not be read.
        text: the reply in the task's language.
        record: the log's row; None for a call that did not count.
        remaining: calls left after it.
    """

    tool: str
    arguments: Mapping[str, Any] | None
    text: str
    record: CallRecord | None
    remaining: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """An episode.

    Attributes:
        task: the task.
        policy: what played.
        law: the noise.
        schedule: the schedule's index.
        schedule_seed: 32 hex digits.
        lines: the calls in order.
        episode: the ended episode.
        outcome: its grade.
        counts: its faults.
        world_changes: what changed in the world, one sentence each.
        reasons: why the episode failed, one sentence each; empty for a success.
    """

    task: Task
    policy: str
    law: NoiseLaw
    schedule: int
    schedule_seed: str
    lines: tuple[Line, ...]
    episode: Episode
    outcome: Outcome
    counts: FaultCounts
    world_changes: tuple[str, ...]
    reasons: tuple[str, ...]


def transcribe(policy: Policy, task: Task, law: NoiseLaw, schedule: int, seed: str) -> Transcript:
    """Play one episode and write down everything.

    Args:
        policy: what plays.
        task: the task.
        law: the noise.
        schedule: the schedule's index, for the record.
        seed: the schedule seed.
    """
    seen: list[tuple[Call | MalformedCall, Reply]] = []
    episode = play(
        policy,
        task,
        compile_law(law),
        seed,
        f"{task.task_id}/{schedule}",
        observer=lambda call, reply: seen.append((call, reply)),
    )
    lines = []
    calls = 0
    records = iter(episode.records)
    for call, reply in seen:
        counted = reply.status not in ("budget_exhausted", "episode_ended")
        record = next(records) if counted else None
        calls = record.number if record is not None else calls
        name = call.name if isinstance(call, Call) else call.tool
        arguments = call.arguments if isinstance(call, Call) else None
        lines.append(Line(name, arguments, reply.text, record, task.budget - calls))
    outcome = episode.grade()
    return Transcript(
        task,
        policy.name,
        law,
        schedule,
        seed,
        tuple(lines),
        episode,
        outcome,
        fault_counts(episode.records),
        tuple(_changes(episode)),
        tuple(explain(task, episode, outcome)),
    )


def _changes(episode: Episode) -> list[str]:
    state = episode.state
    found = canonical(state)
    rows = []
    for (row, field), value in sorted(found.changes.items()):
        before = base_value(state.world, row, field)
        rows.append(f"{row} {field}: {show(field, before)} -> {show(field, value)}")
    return rows + [f"new {row[0]}: {show(row[0], row)}" for row in found.added]

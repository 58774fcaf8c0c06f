"""One episode as a value that a person can follow: every call, what chance did to it, and why it ended as it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from study.backoffice.calls import Call, MalformedCall
from study.backoffice.episode import CallRecord, Episode, Outcome, Reply
from study.backoffice.faults import NoiseLaw, compile_law
from study.backoffice.grader import Difference, GradedValue, canonical
from study.backoffice.log import UNANSWERED, FaultCounts, fault_counts
from study.backoffice.tasks import PlannedCall, Task
from study.backoffice.world import World
from study.backoffice.writes import normal_address
from study.evaluation.rollout import play
from study.policies.policy import Policy

CREATED = ("refund", "reservation", "shipment", "ticket")
"""Kinds of rows that calls create."""


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


def show(field: str, value: GradedValue | None) -> str:
    """A graded value in words: money with two decimals, created rows without their kind.

    Args:
        field: the graded field, or the kind of a created row.
        value: as in a `Difference`; None is no change or no row.
    """
    if value is None:
        return "none" if field in CREATED else "no change"
    if isinstance(value, tuple):
        parts = value[1:] if field in CREATED else value
        words = (_money(part) if field == "refund" and part.isdecimal() else part for part in parts)
        return (" " if field in CREATED else ", ").join(word for word in words if word)
    return _money(value) if field == "refunded" else str(value)


def _money(cents: str | int) -> str:
    return f"{int(cents) / 100:.2f}"


def _changes(episode: Episode) -> list[str]:
    state = episode.state
    found = canonical(state)
    rows = []
    for (row, field), value in sorted(found.changes.items()):
        before = _base(state.world, row, field)
        rows.append(f"{row} {field}: {show(field, before)} -> {show(field, value)}")
    return rows + [f"new {row[0]}: {show(row[0], row)}" for row in found.added]


def _base(world: World, row: str, field: str) -> GradedValue:
    if row in world.products:
        return world.products[row].reserved
    order = world.orders[row]
    if field.startswith("reserved "):
        return next(line.reserved for line in order.lines if line.product_id == field.split()[1])
    values: dict[str, GradedValue] = {
        "status": order.status,
        "refunded": order.refunded,
        "address": normal_address(order.address),
    }
    return values[field]


def explain(task: Task, episode: Episode, outcome: Outcome) -> list[str]:
    """Why an episode failed: each planned write that did not happen, then what happened without being asked for."""
    if outcome.true_success:
        return (
            ["The end state is right; the grader's flip reports it as a failure."]
            if not outcome.observed_reward
            else []
        )
    reasons = [
        reason for planned in task.plan if planned.write for reason in _missing(planned, task, episode)
    ]
    wanted = [row for row in outcome.differences if row.expected is None]
    reasons += [f"{_unwanted(row)} although the request does not ask for it." for row in wanted]
    if episode.ended_by == "budget":
        reasons.append(f"The call budget of {task.budget} ran out and the next call ended the episode.")
    if not episode.calls:
        reasons.append("No call was made.")
    return reasons or ["The end state differs in the fields listed above."]


def _unwanted(row: Difference) -> str:
    if isinstance(row.found, tuple) and row.found and row.found[0] == row.field:
        return f"A {row.field} ({show(row.field, row.found)}) was created"
    return f"{row.row}: {row.field} became {show(row.field, row.found)}"


def _missing(planned: PlannedCall, task: Task, episode: Episode) -> list[str]:
    tool = task.tools[planned.name]
    values = tool.check(dict(planned.arguments))
    resource = tool.resource(values)
    what = f"{planned.name}({resource})" if resource else planned.name
    tries = [
        record for record in episode.records if (record.tool, record.resource) == (planned.name, resource)
    ]
    if any(record.status == "ok" or record.drawn == "timeout_after_commit" for record in tries):
        return []
    if not tries:
        return [f"The planned write {what} was never tried."]
    last = tries[-1]
    cause = {
        "service_unavailable": f"met an outage at call {tries[0].number}, which lasts for the episode",
        "rate_limited": f"was blocked by a rate limit at call {last.number} and not repeated after it",
        "temporary_error": f"failed temporarily at call {last.number} and was not repeated",
    }.get(last.status, f"was refused at call {last.number} ({last.status})")
    if last.status == "service_unavailable":
        first = next(record for record in tries if record.status == "service_unavailable")
        cause = f"met an outage at call {first.number}, which lasts for the episode"
    verb = "never took effect: it" if last.status in UNANSWERED else "did not take effect: it"
    return [f"The planned write {what} {verb} {cause}."]

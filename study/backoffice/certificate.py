"""Is a task solvable under a schedule, within its budget, for an agent that knows every id; and by which calls.

The answer is exact, and no search is needed. Three facts make it so. Only a write changes a graded field, and each
planned write changes fields that no other tool can change, so every planned (tool, resource) has to commit. Whether an
attempt commits depends on the schedule and on how many draws its own (tool, resource) has had, and on nothing else, so
neither order nor reads nor waiting help. After a rate limit every call is blocked until somebody waits, so each one
that is met costs one wait more, which nothing can share. Hence the least number of calls is the sum over the planned
writes of the attempts up to the first that commits, plus one wait for each rate limit among them; an outage on the
way makes the task unsolvable. Every witness is replayed before it is handed out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, assert_never

from study.backoffice.calls import Call
from study.backoffice.episode import Episode
from study.backoffice.faults import RETRY_AFTER_SECONDS, CompiledLaw, FaultType
from study.backoffice.schedule import Schedule
from study.backoffice.schemas import BadArgument
from study.backoffice.tasks import PlannedCall, Task
from study.backoffice.toolset import Tool
from study.errors import SimulatorError

MOST_CALLS = 500
"""Calls after which a write counts as hopeless; no budget comes near, and at p = 1 there may be no end."""

Reason = Literal["", "outage", "budget"]
"""Why a task is unsolvable; "" if it is solvable."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is certain about one (task, schedule).

    Attributes:
        task_id: the task.
        schedule_seed: 32 hex digits.
        solvable: some call sequence within the budget reaches the expected end state.
        least_calls: calls of the shortest such sequence were there no budget, finish not counted; None if an outage
            stands in every sequence's way, or a write needs more than `MOST_CALLS`.
        budget: most calls of the task.
        reason: "" if solvable, else `outage` or `budget`.
        blocked: the planned writes that meet an outage, as tool(resource); empty without one.
        witness: a shortest call sequence, ready for a replay; empty if not solvable.
    """

    task_id: str
    schedule_seed: str
    solvable: bool
    least_calls: int | None
    budget: int
    reason: Reason
    blocked: tuple[str, ...]
    witness: tuple[Call, ...]


class _Write(NamedTuple):
    """The calls that one planned write costs, and why it never commits, if it does not."""

    calls: tuple[Call, ...]
    hopeless: Reason


def certify(task: Task, law: CompiledLaw, seed: str) -> Certificate:
    """Certify one (task, schedule) and replay the witness.

    Args:
        task: the task.
        law: compiled noise law; grader flips do not matter, as the true end state is meant.
        seed: schedule seed.

    Raises:
        SimulatorError: the witness does not replay: a bug in the simulator or in the argument above.
    """
    schedule = Schedule(seed)
    draws: dict[tuple[str, str], int] = {}
    calls: list[Call] = []
    blocked: list[str] = []
    endless = False
    for planned in task.plan:
        if not planned.write:
            continue
        tool = task.tools[planned.name]
        resource = _resource(tool, planned)
        cost = _cost(tool, resource, planned.arguments, law, schedule, draws)
        calls += cost.calls
        endless |= cost.hopeless == "budget"
        if cost.hopeless == "outage":
            blocked.append(f"{planned.name}({resource})")
    least = None if blocked or endless else len(calls)
    solvable = least is not None and least <= task.budget
    reason: Reason = "" if solvable else "outage" if blocked else "budget"
    witness = tuple(calls) if solvable else ()
    if solvable:
        _replay(task, law, seed, witness)
    return Certificate(task.task_id, seed, solvable, least, task.budget, reason, tuple(blocked), witness)


def _resource(tool: Tool, planned: PlannedCall) -> str:
    values = tool.check(dict(planned.arguments))
    if isinstance(values, BadArgument):
        raise SimulatorError("a planned call has bad arguments", found=values)
    return tool.resource(values)


def _cost(
    tool: Tool,
    resource: str,
    arguments: Mapping[str, Any],
    law: CompiledLaw,
    schedule: Schedule,
    draws: dict[tuple[str, str], int],
) -> _Write:
    """Attempts of one write until one commits; `draws` counts the draws of each event over the whole plan."""
    calls: list[Call] = []
    while len(calls) <= MOST_CALLS:
        repeat = draws.get((tool.name, resource), 0)
        draws[tool.name, resource] = repeat + 1
        fault, parameter = law.drawn(tool.kind, tool.name, resource, repeat, schedule)
        calls.append(Call(tool.name, dict(arguments)))
        if fault == "outage":
            return _Write(tuple(calls), "outage")
        if fault == "rate_limit":
            calls.append(Call("wait", {"seconds": RETRY_AFTER_SECONDS[parameter % len(RETRY_AFTER_SECONDS)]}))
        elif _commits(fault):
            return _Write(tuple(calls), "")
    return _Write(tuple(calls), "budget")


def _commits(fault: FaultType | None) -> bool:
    """Whether an attempt at a write that drew this is executed."""
    match fault:
        case None | "timeout_after_commit":
            return True
        case "transient" | "rate_limit" | "outage":
            return False
        case "stale_read" | "truncation" | "field_dropout":
            raise SimulatorError("a write drew a fault of reads", found=fault)
        case _:
            assert_never(fault)


def _replay(task: Task, law: CompiledLaw, seed: str, witness: tuple[Call, ...]) -> None:
    episode = Episode(task, law, seed)
    for call in witness:
        episode.step_call(Call(call.name, dict(call.arguments)))
    outcome = episode.grade()
    if not outcome.true_success or episode.calls != len(witness):
        raise SimulatorError(
            "a certificate's witness does not replay",
            expected=f"success in {len(witness)} calls",
            found=(task.task_id, seed, episode.calls, outcome.differences),
        )

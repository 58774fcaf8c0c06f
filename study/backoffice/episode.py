"""One episode: calls in, replies out, the pipeline of simulator law in ten steps, first match answers.

1 ended; 2 budget exhausted; 3 count; 4 unknown tool or bad arguments; 5 wait and finish; 6 active rate limit;
7 active outage; 8 draw, transport faults answer; 9 execution on the true state; 10 response faults. Eligibility for a
draw depends on the tool, well-formedness and active limits alone, never on the world, so every draw's rate is p.
An episode holds a task (shared, immutable), a schedule and an overlay; nothing that it returns can change it.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, assert_never

from study.backoffice.calls import Call, MalformedCall
from study.backoffice.faults import RETRY_AFTER_SECONDS, CompiledLaw, FaultType
from study.backoffice.grader import Difference, grade
from study.backoffice.messages import MESSAGES, TOOL_LIST
from study.backoffice.profile import Results
from study.backoffice.reads import Payload, Refusal, cut_page
from study.backoffice.render import Words, render
from study.backoffice.schedule import Schedule
from study.backoffice.schemas import BadArgument
from study.backoffice.tasks import Task
from study.backoffice.tools import Values
from study.backoffice.toolset import Tool
from study.backoffice.world import State
from study.errors import SimulatorError

EndedBy = Literal["", "finish", "budget", "stopped"]
OK = "ok"


class CallRecord(NamedTuple):
    """The log of one counted call, never shown to a policy.

    Attributes:
        number: 1-based among counted calls; finish has the number of the call before it.
        tool: exact tool name, "" if the call named none.
        resource: of the event key; None if the call could not draw.
        repeat: k of the draw; None if nothing was drawn.
        drawn: fault type, None if the draw was clean or there was none.
        effective: the reply differs from what the same call would have got without this draw's fault.
        status: "ok" or the error code.
        clock: seconds after the call.
        values: canonical argument values, None where they could not be read; immutable.
        next_offset: where a list reply says to go on; None elsewhere.
        beneath: "ok" or the error code of the execution that a timeout hides; None where nothing is hidden.
    """

    number: int
    tool: str
    resource: str | None
    repeat: int | None
    drawn: FaultType | None
    effective: bool
    status: str
    clock: int
    values: Values | None = None
    next_offset: int | None = None
    beneath: str | None = None


class _Draw(NamedTuple):
    values: Values
    resource: str | None
    repeat: int | None
    drawn: FaultType | None
    effective: bool


class Reply:
    """What a policy gets for a call.

    Attributes:
        tool: the tool that answered, "" for an unknown one.
        payload: a fresh dictionary; the caller may do with it what it likes.
        status: "ok" or the error code.
        ended: whether the episode is over.
    """

    __slots__ = ("_results", "_text", "_words", "ended", "payload", "status", "tool")

    def __init__(
        self,
        tool: Tool | None,
        payload: Payload,
        status: str,
        ended: bool,
        results: Results,
    ) -> None:
        self.tool = "" if tool is None else tool.name
        self._words: Words | None = None if tool is None else tool.definition.words
        self.payload = payload
        self.status = status
        self.ended = ended
        self._results = results
        self._text: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the call did what it says."""
        return self.status == OK

    @property
    def text(self) -> str:
        """The reply in the task's language; rendered at the first look and kept."""
        if self._text is None:
            self._text = render(self._results, self._words, self.payload)
        return self._text


class Outcome(NamedTuple):
    """An episode's grade.

    Attributes:
        true_success: the end state is the expected one.
        observed_reward: 1 or 0 as reported: a success whose grade lane flips is reported as 0.
        flipped: the grade lane lies below q, whether or not it mattered.
        changed: the world differs from its base.
        differences: differing fields; empty iff true_success.
    """

    true_success: bool
    observed_reward: int
    flipped: bool
    changed: bool
    differences: tuple[Difference, ...]


class Episode:
    """One play of a task under one schedule.

    Args:
        task: the task.
        law: compiled noise law.
        seed: schedule seed, 32 hex digits.
    """

    __slots__ = (
        "_broken",
        "_law",
        "_limited_until",
        "_outages",
        "_repeats",
        "_results",
        "_schedule",
        "_state",
        "_tools",
        "calls",
        "clock",
        "ended_by",
        "records",
        "task",
    )

    def __init__(self, task: Task, law: CompiledLaw, seed: str) -> None:
        self.task = task
        self.calls = 0
        self.clock = 0
        self.ended_by: EndedBy = ""
        self.records: list[CallRecord] = []
        self._law = law
        self._schedule = Schedule(seed)
        self._state = State(task.world)
        self._tools = task.tools
        self._results = task.profile.language.results
        self._repeats: dict[tuple[str, str], int] = {}
        self._outages: set[tuple[str, str]] = set()
        self._limited_until = 0
        self._broken = False

    @property
    def schedule_seed(self) -> str:
        """The schedule seed of this episode."""
        return self._schedule.seed

    @property
    def state(self) -> State:
        """A copy of the live state, for transcripts and tests."""
        return self._state.copy()

    @property
    def remaining(self) -> int:
        """Calls left."""
        return self.task.budget - self.calls

    def step(self, name: object, arguments: object) -> Reply:
        """Answer one call.

        Args:
            name: the tool's exact name; anything else is answered with the list of tools.
            arguments: a dictionary; anything else is answered with an error. Neither is kept or changed.

        Raises:
            SimulatorError: a bug inside the simulator; the episode can no longer be graded.
        """
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            return self._refuse_unknown()
        return self._step(tool, tool.check(arguments))

    def step_call(self, call: Call | MalformedCall) -> Reply:
        """Answer what `calls.parse_call` or `calls.parse_arguments` returned; an unreadable call counts too."""
        if isinstance(call, Call):
            tool = self._tools.get(call.name)
            return self._refuse_unknown() if tool is None else self._step(tool, tool.check(call.arguments))
        tool = self._tools.get(call.tool)
        if tool is not None:
            return self._step(tool, BadArgument(call.field, call.expected))
        if call.tool or call.field == "name":
            return self._refuse_unknown()
        error = {"code": "malformed_call", "field": call.field, "message": f"Expected {call.expected}."}
        return self._blocked() or self._count(None, error)

    def close(self, reason: EndedBy = "stopped") -> None:
        """End the episode from outside: the policy stopped without finish. An ended episode stays as it is."""
        if not self.ended_by:
            self.ended_by = reason

    def grade(self) -> Outcome:
        """Grade the state as it is now, ended or not.

        Raises:
            SimulatorError: an earlier call failed inside the simulator.
        """
        if self._broken:
            raise SimulatorError("the episode broke inside the simulator and has no grade")
        result = grade(self.task.expected, self._state)
        flip_below = self._law.flip_below
        flipped = flip_below > 0 and self._schedule.grade_lane() < flip_below
        reward = int(result.success and not flipped)
        return Outcome(result.success, reward, flipped, result.changed, result.differences)

    def _step(self, tool: Tool, values: Values | BadArgument) -> Reply:
        if self.ended_by:
            return self._reply(tool, {"code": "episode_ended", "message": MESSAGES["episode_ended"]})
        if tool.name == "finish" and not isinstance(values, BadArgument):
            self.ended_by = "finish"
            self.records.append(CallRecord(self.calls, "finish", None, None, None, False, OK, self.clock))
            return Reply(tool, {"status": "finished"}, OK, True, self._results)
        blocked = self._blocked()
        if blocked is not None:
            return blocked
        if isinstance(values, BadArgument):
            error = {"code": "invalid_arguments", "tool": tool.name, "field": values.field}
            return self._count(tool, error | {"message": f"Expected {values.expected}."})
        self.calls += 1
        if tool.kind == "control":
            self.clock += values[0]
            return self._answer(tool, _Draw(values, None, None, None, False), OK, {"clock": self.clock})
        resource = tool.resource(values)
        if self.clock < self._limited_until:
            return self._answer(tool, _Draw(values, resource, None, None, False), "rate_limited", None)
        event = (tool.name, resource)
        if event in self._outages:
            return self._answer(tool, _Draw(values, resource, None, None, False), "service_unavailable", None)
        try:
            return self._drawn(tool, values, event)
        except Exception as error:
            self._broken = True
            raise SimulatorError("a call failed inside the simulator", found=(tool.name, values)) from error

    def _drawn(self, tool: Tool, values: Values, event: tuple[str, str]) -> Reply:
        repeat = self._repeats.get(event, 0)
        self._repeats[event] = repeat + 1
        resource = event[1]
        fault, parameter = self._law.drawn(tool.kind, tool.name, resource, repeat, self._schedule)
        if fault is None:
            return self._result(
                tool, _Draw(values, resource, repeat, None, False), tool.run(self._state, values)
            )
        return self._faulted(tool, _Draw(values, resource, repeat, fault, True), fault, parameter)

    def _faulted(self, tool: Tool, draw: _Draw, fault: FaultType, parameter: int) -> Reply:
        """Answer a call that drew a fault: transport faults first, then execution, then response faults."""
        if fault == "transient":
            return self._answer(tool, draw, "temporary_error", None)
        if fault == "rate_limit":
            self._limited_until = self.clock + RETRY_AFTER_SECONDS[parameter % len(RETRY_AFTER_SECONDS)]
            return self._answer(tool, draw, "rate_limited", None)
        if fault == "outage":
            self._outages.add((tool.name, draw.resource or ""))
            return self._answer(tool, draw, "service_unavailable", None)
        result = tool.run(self._state, draw.values)
        if fault == "timeout_after_commit":
            beneath = result.code if isinstance(result, Refusal) else OK
            return self._answer(tool, draw, "timeout", None, beneath)
        shown: Payload | Refusal
        if fault == "stale_read":
            shown = tool.run(self._state.before_last_write(), draw.values)
        elif fault == "truncation":
            shown = (
                result if isinstance(result, Refusal) else cut_page(tool.definition.rows, result, parameter)
            )
        elif fault == "field_dropout":
            shown = result if isinstance(result, Refusal) else _without(tool, result, parameter)
        else:
            assert_never(fault)
        return self._result(tool, draw._replace(effective=shown != result), shown)

    def _result(self, tool: Tool, draw: _Draw, result: Payload | Refusal) -> Reply:
        if not isinstance(result, Refusal):
            return self._answer(tool, draw, OK, result)
        error = {"code": result.code, "tool": tool.name, "field": result.field, "message": result.message}
        return self._answer(tool, draw, result.code, {"error": error})

    def _answer(
        self, tool: Tool, draw: _Draw, status: str, payload: Payload | None, beneath: str | None = None
    ) -> Reply:
        if payload is None:
            error: dict[str, Any] = {"code": status, "tool": tool.name, "message": MESSAGES[status]}
            if status == "rate_limited":
                error["retry_after"] = self._limited_until - self.clock
            payload = {"error": error}
        following = payload.get("next_offset") if tool.kind == "list" else None
        self.records.append(
            CallRecord(self.calls, tool.name, *draw[1:], status, self.clock, draw.values, following, beneath)
        )
        return Reply(tool, payload, status, False, self._results)

    def _blocked(self) -> Reply | None:
        """Steps 1 and 2: the reply to a call that no longer counts, or None."""
        if self.ended_by:
            return self._reply(None, {"code": "episode_ended", "message": MESSAGES["episode_ended"]})
        if self.calls >= self.task.budget:
            self.ended_by = "budget"
            return self._reply(None, {"code": "budget_exhausted", "message": MESSAGES["budget_exhausted"]})
        return None

    def _refuse_unknown(self) -> Reply:
        error = {"code": "unknown_tool", "field": "name", "message": f"There is no such tool. {TOOL_LIST}"}
        return self._blocked() or self._count(None, error)

    def _count(self, tool: Tool | None, error: dict[str, Any]) -> Reply:
        """Step 4: a call that counts, draws nothing and changes nothing."""
        self.calls += 1
        self.records.append(
            CallRecord(
                self.calls,
                "" if tool is None else tool.name,
                None,
                None,
                None,
                False,
                error["code"],
                self.clock,
            )
        )
        return self._reply(tool, error)

    def _reply(self, tool: Tool | None, error: dict[str, Any]) -> Reply:
        return Reply(tool, {"error": error}, error["code"], bool(self.ended_by), self._results)


def _without(tool: Tool, result: Payload, parameter: int) -> Payload:
    """A read's payload without one of the fields that a dropout can take."""
    fields = tool.definition.droppable
    dropped = fields[parameter % len(fields)]
    return {key: value for key, value in result.items() if key != dropped}

"""A scripted expert that errs on purpose: the demonstrations of the warm start.

It knows a task's plan but acts on what it has seen: a call whose reads failed is not made. It reacts rightly to a
fault only with probability `reaction` and stays on a sub-request only with probability `branch`, so that imitation
leaves room for reinforcement in behaviour, not in copying.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from study.backoffice.episode import Episode, Reply
from study.backoffice.faults import CompiledLaw
from study.backoffice.tasks import PlannedCall, Task

_ATTEMPTS = 4


@dataclass(frozen=True)
class Exchange:
    """One call of a demonstration and the reply to it."""

    name: str
    arguments: dict[str, object]
    reply: str


class Expert:
    """Plays one episode.

    Args:
        episode: a fresh one.
        draws: uniform numbers that belong to this demonstration.
        reaction: probability of the right reaction to a fault, 0..1.
        branch: probability of carrying a sub-request through, 0..1.
    """

    def __init__(self, episode: Episode, draws: Iterator[float], reaction: float, branch: float) -> None:
        self._episode = episode
        self._draws = draws
        self._reaction = reaction
        self._branch = branch
        self.exchanges: list[Exchange] = []

    def play(self) -> bool:
        """Play to the end; whether the end state is the expected one."""
        plan = self._episode.task.plan
        seen: set[int] = set()
        left: int | None = None
        stray: set[int] = set()
        for part in range(len(self._episode.task.parts)):
            if not self._chance(self._branch):
                stray.add(part)
        for index, call in enumerate(plan):
            last = index + 1 == len(plan) or plan[index + 1].part != call.part
            if call.part == left or (last and call.part in stray):
                continue
            if not set(call.needs) <= seen:
                left = call.part
                continue
            if self._carry(call):
                seen.add(index)
            elif call.write:
                left = call.part
            if self._episode.ended_by:
                return self._episode.grade().true_success
        self._say("finish", {})
        return self._episode.grade().true_success

    def _chance(self, probability: float) -> bool:
        return next(self._draws) < probability

    def _say(self, name: str, arguments: dict[str, object]) -> Reply:
        reply = self._episode.step(name, dict(arguments))
        self.exchanges.append(Exchange(name, arguments, reply.text))
        return reply

    def _carry(self, call: PlannedCall) -> bool:
        """Make one planned call as often as it takes; whether it did what it says."""
        arguments: dict[str, object] = dict(call.arguments)
        for _ in range(_ATTEMPTS):
            reply = self._say(call.name, arguments)
            if self._episode.ended_by:
                return False
            if reply.ok:
                if not call.seeks or _holds(reply, call.seeks):
                    return True
                following = reply.payload.get("next_offset")
                if following is None or not self._chance(self._reaction):
                    return False
                arguments = dict(call.arguments) | {"offset": following}
                continue
            if reply.status == "rate_limited":
                if self._chance(self._reaction):
                    self._say("wait", {"seconds": reply.payload["error"]["retry_after"]})
                    if self._episode.ended_by:
                        return False
            elif reply.status != "temporary_error" or not self._chance(self._reaction):
                return False
        return False


def _holds(reply: Reply, wanted: str) -> bool:
    rows = reply.payload.get("customers") or reply.payload.get("orders") or []
    return any(wanted in (row.get("customer_id"), row.get("order_id")) for row in rows)


def demonstrate(
    task: Task, law: CompiledLaw, schedule_seed: str, draws: Iterator[float], reaction: float, branch: float
) -> tuple[list[Exchange], bool]:
    """One demonstration: its exchanges and whether it succeeded."""
    expert = Expert(Episode(task, law, schedule_seed), draws, reaction, branch)
    success = expert.play()
    return expert.exchanges, success

"""What a task is: a request, a world, a plan, and the end state that the plan reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from study.backoffice.grader import Canonical
from study.backoffice.profile import Profile
from study.backoffice.toolset import Tool
from study.backoffice.world import World

BUDGET_BASE = 7
BUDGET_PER_WRITE = 2
BUDGET_CAP = 21


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call of a task's plan.

    Attributes:
        name: the tool.
        arguments: as a policy would pass them; copied before every use.
        part: index of the sub-request, 0-based.
        write: whether the tool is a write.
        needs: indices in the plan of the reads whose results give the arguments.
        seeks: an id that must appear in a list response before the plan can go on, else "".
    """

    name: str
    arguments: Mapping[str, Any]
    part: int
    write: bool
    needs: tuple[int, ...] = ()
    seeks: str = ""


@dataclass(frozen=True, slots=True)
class SubRequest:
    """One sub-request.

    Attributes:
        template: which of the eight.
        form: the template, or which form of address change.
        text: its words in the request.
        order_id: the order that it identifies, "" if none.
        customer_id: the customer that it identifies or that the order belongs to.
        slots: the words filled into the phrasing.
    """

    template: str
    form: str
    text: str
    order_id: str
    customer_id: str
    slots: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Task:
    """A task, shared by all its episodes and never changed by one.

    Attributes:
        task_id: unique over all pools and profiles.
        pool: the pool's name, the registers' `split`.
        index: position in the pool.
        world_seed: 32 hex digits from which everything was generated.
        profile: the knobs.
        request: what the policy is asked.
        parts: the sub-requests, one to three.
        plan: the planned calls of all sub-requests, in order.
        world: the base state.
        expected: the canonical end state after the plan.
        budget: most calls of an episode, finish not counted: min(7 + 2 n, 21), n planned writes.
        tools: the thirteen tools by name.
    """

    task_id: str
    pool: str
    index: int
    world_seed: str
    profile: Profile
    request: str
    parts: tuple[SubRequest, ...]
    plan: tuple[PlannedCall, ...]
    world: World
    expected: Canonical
    budget: int
    tools: Mapping[str, Tool] = field(repr=False)

    @property
    def writes(self) -> int:
        """Planned writes, n."""
        return sum(call.write for call in self.plan)


def budget_for(writes: int) -> int:
    """Most calls of an episode whose plan has this many writes (paper section 5.1)."""
    return min(BUDGET_BASE + BUDGET_PER_WRITE * writes, BUDGET_CAP)

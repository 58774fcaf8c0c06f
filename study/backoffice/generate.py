"""A task from its coordinates: (profile, pool, index) and nothing else.

The same coordinates give the same task on every machine; the plan is executed on the way, so a task whose plan
broke a rule, overran its budget or could not survive the challenge set is never born.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from study.backoffice.draft import Draft
from study.backoffice.grader import Canonical, canonical
from study.backoffice.profile import TEMPLATES, Profile
from study.backoffice.reads import Refusal
from study.backoffice.schedule import schedule_seed
from study.backoffice.schemas import BadArgument
from study.backoffice.stream import Stream
from study.backoffice.tasks import BUDGET_BASE, PlannedCall, SubRequest, Task, budget_for
from study.backoffice.templates import PLACE, Target, slots, steps
from study.backoffice.toolset import Tool, toolset
from study.backoffice.world import State, World
from study.errors import SimulatorError

DIAGNOSTIC_WRITES = range(2, 5)
"""Planned writes of a diagnostic task."""

_SLOT = re.compile(r"\{([a-z]+)\}")


def generate(profile: Profile, pool: str, index: int) -> Task:
    """The task at a position of a pool.

    Args:
        profile: the knobs.
        pool: one of `POOL_CLASSES`, or `RESERVE`.
        index: 0-based position; any non-negative integer.

    Raises:
        SimulatorError: the generator made a task whose plan does not work: a bug.
    """
    attempt = 0
    while True:
        world_seed = schedule_seed("world", profile.name, pool, index, attempt)
        task = _draw(profile, pool, index, world_seed)
        if pool != "diagnostic" or task.writes in DIAGNOSTIC_WRITES:
            return task
        attempt += 1


def task_id(profile: Profile, pool: str, index: int) -> str:
    """The id of a task: `test-0007`, or `compact-test-0007` outside the natural profile."""
    return f"{pool}-{index:04d}" if profile.name == "natural" else f"{profile.name}-{pool}-{index:04d}"


def _draw(profile: Profile, pool: str, index: int, world_seed: str) -> Task:
    stream = Stream("task", world_seed)
    world_profile = profile.world
    count = stream.weighted((1, 2, 3), world_profile.count_weights)
    templates = [stream.weighted(TEMPLATES, world_profile.template_weights) for _ in range(count)]
    draft = Draft.start(world_profile, stream, pool)
    targets = [PLACE[name](draft, draft.customers[part]) for part, name in enumerate(templates)]
    draft.fill()
    world = draft.world()
    tools = toolset(profile)
    plan = _plan(targets, world, profile, tools)
    parts = tuple(
        _part(name, target, world, profile, stream) for name, target in zip(templates, targets, strict=True)
    )
    writes = sum(call.write for call in plan)
    budget = budget_for(writes)
    if len(plan) > budget or len(plan) - writes > BUDGET_BASE:
        raise SimulatorError("a plan overruns its budget", expected=str(budget), found=len(plan))
    return Task(
        task_id=task_id(profile, pool, index),
        pool=pool,
        index=index,
        world_seed=world_seed,
        profile=profile,
        request=_request(parts, profile, stream),
        parts=parts,
        plan=plan,
        world=world,
        expected=end_state(world, plan, tools),
        budget=budget,
        tools=tools,
    )


def _plan(
    targets: list[Target], world: World, profile: Profile, tools: Mapping[str, Tool]
) -> tuple[PlannedCall, ...]:
    plan: list[PlannedCall] = []
    for part, target in enumerate(targets):
        first = len(plan)
        for name, arguments, needs, seeks in steps(
            target, world, profile.world.address_fields, profile.language.free_text
        ):
            write = tools[name].kind == "write"
            plan.append(PlannedCall(name, arguments, part, write, tuple(first + n for n in needs), seeks))
    return tuple(plan)


def _part(template: str, target: Target, world: World, profile: Profile, stream: Stream) -> SubRequest:
    words = slots(target, world)
    phrasing = stream.choice(profile.phrasings(target.form))
    text = _SLOT.sub(lambda match: words[match[1]], phrasing)
    return SubRequest(template, target.form, text, target.order_id, target.customer.customer_id, words)


def _request(parts: tuple[SubRequest, ...], profile: Profile, stream: Stream) -> str:
    language = profile.language
    text = stream.choice(language.openings)
    for number, part in enumerate(parts):
        text += (stream.choice(language.joiners) if number else "") + part.text
    text += stream.choice(language.closings)
    return text if language.results == "compact" else text[0].upper() + text[1:]


def end_state(world: World, plan: tuple[PlannedCall, ...], tools: Mapping[str, Tool]) -> Canonical:
    """The canonical state after a plan, executed on the true state without faults.

    Raises:
        SimulatorError: a planned call is refused.
    """
    state = State(world)
    for call in plan:
        tool = tools[call.name]
        values = tool.check(dict(call.arguments))
        result = values if isinstance(values, BadArgument) else tool.run(state, values)
        if isinstance(result, (BadArgument, Refusal)):
            raise SimulatorError(
                "a planned call is refused", expected="a plan that works", found=(call, result)
            )
    return canonical(state)

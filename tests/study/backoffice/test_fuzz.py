"""A hundred thousand hostile calls: a structured error or an answer, no change by a refused call, no escape."""

from __future__ import annotations

import json
import math
import random

from study.backoffice.calls import parse_call
from study.backoffice.episode import Episode
from study.backoffice.grader import canonical
from study.backoffice.tools import TOOL_NAMES

CALLS = 100_000
CODES = {
    "ok", "invalid_arguments", "unknown_tool", "malformed_call", "not_found", "wrong_status", "already_cancelled",
    "exceeds_remainder", "exceeds_need", "no_stock", "not_in_order", "not_reserved", "wrong_customer",
    "temporary_error", "rate_limited", "service_unavailable", "budget_exhausted", "episode_ended",
}  # fmt: skip
SECRETS = (
    "expected",
    "schedule_seed",
    "_state",
    "_schedule",
    "records",
    "grade",
    "__dict__",
    "__class__",
    "lanes",
)
JUNK = (
    None, True, False, 0, -1, 1, 10**30, 1.5, -0.01, math.nan, math.inf, "", " ", "x" * 5000, "\ud800", "\x00", "O-1' OR 1=1",
    "../../etc/passwd", "{}", "[]", "__class__", "$(id)", "\u202e", "33", "1e9", [], {}, [1, 2], {"a": {"b": []}}, b"bytes", 3 + 4j, object(),
)  # fmt: skip
NAMES = (
    *TOOL_NAMES,
    "",
    "  ",
    "Get_Order",
    "get_order ",
    "functions.get_order",
    "__init__",
    "step",
    "_state",
    "grade",
    "eval",
    None,
    7,
)


def arguments_for(rng, task):
    """Arguments that are right, nearly right, or nonsense."""
    roll = rng.random()
    if roll < 0.08:
        return rng.choice(JUNK)
    fields = [param.name for tool in task.tools.values() for param in tool.params]
    real = [
        *task.world.orders,
        *task.world.customers,
        *task.world.products,
        *task.profile.world.carriers,
        *task.profile.world.topics,
        *task.profile.world.levels,
    ]
    chosen = {
        rng.choice(fields): rng.choice(real) if rng.random() < 0.5 else rng.choice(JUNK)
        for _ in range(rng.randrange(4))
    }
    if rng.random() < 0.1:
        chosen[rng.choice(SECRETS)] = 1
    if roll < 0.6:
        for param in task.tools[rng.choice(TOOL_NAMES)].params:
            good = {
                "money": rng.choice((1, "2.50", 9.75)),
                "integer": rng.randrange(5),
                "postal": "02139",
            }.get(param.kind)
            chosen[param.name] = rng.choice(real) if good is None else good
    return chosen


def test_fuzzed_calls(tasks, laws):
    rng = random.Random(20260911)
    task = max(tasks, key=lambda task: task.budget)
    seen = set()
    made = 0
    seed = 0
    while made < CALLS:
        seed += 1
        episode = Episode(task, laws["faults_p25" if seed % 2 else "clean"], f"{seed:032x}")
        for _ in range(task.budget + 2):
            name = rng.choice(NAMES)
            if name == "finish" and rng.random() < 0.9:
                continue
            if name in task.tools and rng.random() < 0.4:
                planned = rng.choice(task.plan)
                name, arguments = planned.name, dict(planned.arguments)
            else:
                arguments = arguments_for(rng, task)
            before = canonical(episode.state)
            budget, ended = episode.calls, episode.ended_by
            reply = episode.step(name, arguments)
            made += 1
            seen.add(reply.status)
            assert reply.status in CODES
            if not reply.ok:
                assert reply.payload["error"]["code"] == reply.status
                assert canonical(episode.state) == before
            assert len(reply.text) < 4000
            assert episode.calls - budget in (0, 1)
            assert not ended or episode.calls == budget
            assert episode.schedule_seed not in reply.text
        assert len(episode.records) <= task.budget + 1
        assert isinstance(episode.grade().true_success, bool)
    assert len(seen) > 12


def test_fuzzed_text(tasks, laws):
    """Mutated call texts through the parser: nothing raises, every call gets one reply."""
    rng = random.Random(7)
    task = tasks[0]
    base = [
        json.dumps({"name": call.name, "arguments": dict(call.arguments)})
        for task in tasks
        for call in task.plan
    ]
    for _ in range(400):
        episode = Episode(task, laws["faults_p25"], "0")
        for _ in range(task.budget):
            text = rng.choice(base)
            place = rng.randrange(len(text))
            text = rng.choice(
                (text[:place], text[:place] + rng.choice('{}[]",:\\x0') + text[place + 1 :], text, text + "}")
            )
            assert episode.step_call(parse_call(text)).text
        assert episode.calls <= task.budget


def test_no_reply_tells_the_expected_state_or_the_schedule(tasks, laws):
    """Whatever is asked for, replies hold no name of an internal thing and depend on no hidden value."""
    for task in tasks[:20]:
        for secret in SECRETS:
            episode = Episode(task, laws["faults_p25"], "0123456789abcdef" * 2)
            for name, arguments in (
                (secret, {}), ("get_order", {"order_id": secret}), ("get_order", {secret: 1}),
                ("search_customers", {"query": secret}), ("get_customer", {"customer_id": task.world_seed}),
            ):  # fmt: skip
                reply = episode.step(name, arguments)
                assert not reply.ok or reply.payload.get("customers") == []
                assert episode.schedule_seed not in reply.text
                assert "drawn" not in reply.text

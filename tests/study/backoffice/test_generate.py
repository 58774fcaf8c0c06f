"""Tasks: the paper's proportions, plans that work, requests that mean one thing, disjoint pools."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from study.backoffice.episode import Episode
from study.backoffice.generate import end_state, generate
from study.backoffice.pools import (
    POOL_SIZES,
    draw_pool,
    load_pool,
    manifest,
    recorded,
    recorded_digest,
    task_digest,
    warmup_task,
)
from study.backoffice.profile import POOL_CLASSES, RESERVE, TEMPLATE_WEIGHTS, TEMPLATES
from study.backoffice.profiles import COMPACT, NATURAL, PROFILES, profile_named
from study.backoffice.reads import search_customers
from study.backoffice.world import PAID, PENDING, State
from study.errors import ConfigError

CLEAN_WRITES = {"cancel_refund": 2, "reserve_ship": 2}


@pytest.fixture(scope="module")
def pools():
    """Every natural pool, held to its recorded digest."""
    return {name: load_pool(NATURAL, name) for name in POOL_SIZES}


@pytest.fixture(scope="module")
def train(pools):
    return pools["train"].tasks


def within(count, total, probability, sigmas=5):
    return abs(count - total * probability) <= sigmas * (total * probability * (1 - probability)) ** 0.5


def test_the_papers_numbers_within_sampling_error(train):
    """Section 4 of the simulator's law, on 2,000 tasks; five standard errors."""
    count = len(train)
    parts = [part for task in train for part in task.parts]
    assert abs(len(parts) / count - 2.2) < 5 * 0.748 / count**0.5
    writes = [task.writes for task in train]
    assert abs(sum(writes) / len(parts) - (1 + 8 / 20.8)) < 5 * 0.487 / len(parts) ** 0.5
    assert abs(sum(writes) / count - 3.046) < 5 * 1.22 / count**0.5
    assert abs(sum(task.budget for task in train) / count - 13.09) < 5 * 2.44 / count**0.5
    assert abs(sum(len(task.plan) for task in train) / count - 6.6) < 5 * 2.4 / count**0.5
    for n, share in zip(range(1, 7), (0.123, 0.228, 0.283, 0.234, 0.109, 0.023), strict=True):
        assert within(writes.count(n), count, share)
    for n, share in ((1, 0.2), (2, 0.4), (3, 0.4)):
        assert within(sum(len(task.parts) == n for task in train), count, share)
    templates = Counter(part.template for part in parts)
    for name, weight in zip(TEMPLATES, TEMPLATE_WEIGHTS, strict=True):
        assert within(templates[name], len(parts), weight / 208)


def test_exact_calls_of_a_sub_request():
    """3.0 calls a sub-request follow from the weights: two reads, one for three of the templates."""
    reads = {
        name: 1 if name in ("cancel_pending", "cancel_refund", "partial_refund") else 2 for name in TEMPLATES
    }
    weighted = sum(
        w * (reads[name] + CLEAN_WRITES.get(name, 1))
        for name, w in zip(TEMPLATES, TEMPLATE_WEIGHTS, strict=True)
    )
    assert weighted / sum(TEMPLATE_WEIGHTS) == 3.0


@pytest.mark.parametrize("fixture", ["tasks", "compact_tasks"])
def test_reads_and_writes_of_each_template(request, fixture):
    for task in request.getfixturevalue(fixture):
        for number, part in enumerate(task.parts):
            calls = [call for call in task.plan if call.part == number]
            assert sum(call.write for call in calls) == CLEAN_WRITES.get(part.template, 1)
            one_read = part.template in ("cancel_pending", "cancel_refund", "partial_refund")
            assert sum(not call.write for call in calls) == (1 if one_read else 2)


def play_plan(task, law, plan=None):
    episode = Episode(task, law, "0" * 32)
    replies = [
        episode.step(call.name, dict(call.arguments)) for call in (task.plan if plan is None else plan)
    ]
    return episode, replies


@pytest.mark.parametrize("fixture", ["tasks", "compact_tasks"])
def test_the_plan_works_and_every_write_is_needed(request, fixture, laws):
    for task in request.getfixturevalue(fixture):
        episode, replies = play_plan(task, laws["clean"])
        assert all(reply.ok for reply in replies)
        assert episode.grade().true_success
        assert len(task.plan) <= task.budget
        assert sum(not call.write for call in task.plan) <= 7
        for place, call in enumerate(task.plan):
            if call.write:
                shorter, _ = play_plan(task, laws["clean"], task.plan[:place] + task.plan[place + 1 :])
                assert not shorter.grade().true_success


@pytest.mark.parametrize("fixture", ["tasks", "compact_tasks"])
def test_reads_alone_change_nothing_and_never_succeed(request, fixture, laws):
    for task in request.getfixturevalue(fixture):
        episode, _ = play_plan(task, laws["clean"], [call for call in task.plan if not call.write])
        assert episode.grade()[:2] == (False, 0)
        assert not episode.grade().changed


def extra_writes(task):
    """Valid writes that no plan asks for, on rows that no sub-request is about, or on its own row once more."""
    level, topic = task.profile.world.levels[0], task.profile.world.topics[0]
    touched = {part.order_id for part in task.parts}
    yield "create_ticket", {"topic": topic, "priority": level}
    for order in task.world.orders.values():
        if order.order_id not in touched and order.status in (PENDING, PAID):
            yield "cancel_order", {"order_id": order.order_id}
            break
    for order in task.world.orders.values():
        if order.order_id not in touched and order.paid:
            yield "issue_refund", {"order_id": order.order_id, "amount": 1}
            break
    for product in task.world.products.values():
        if product.stock - product.reserved > 12:
            yield "reserve_stock", {"product_id": product.product_id, "quantity": 1}
            break


def test_the_plan_and_one_extra_valid_write_fails_for_every_template(train, laws):
    seen = Counter()
    for task in train[:150]:
        for name, arguments in extra_writes(task):
            episode, _ = play_plan(task, laws["clean"])
            if not episode.remaining:
                continue
            assert episode.step(name, arguments).ok, (task.task_id, name)
            assert not episode.grade().true_success
            seen.update(part.template for part in task.parts)
    assert set(seen) == set(TEMPLATES)


def test_all_orders_of_the_sub_requests_grade_equally(tasks):
    several = [task for task in tasks if len(task.parts) > 1][:40]
    assert any(len(task.parts) == 3 for task in several)
    for task in several:
        for order in itertools.permutations(range(len(task.parts))):
            plan = tuple(call for part in order for call in task.plan if call.part == part)
            assert end_state(task.world, plan, task.tools) == task.expected


def candidates(task, part):
    """Every order (or customer) of the world that the words of a sub-request fit, by brute force."""
    world, slots = task.world, part.slots
    names = [
        row["customer_id"] for row in search_customers(State(world), (slots["customer"], 0))["customers"]
    ]
    if part.form == "ticket_customer":
        return names
    if part.form in ("address_given", "ship_reserved"):
        orders = [world.orders[key] for name in names for key in world.orders_of[name]]
        if part.form == "ship_reserved":
            return [order.order_id for order in orders if order.held()]
        return [
            order.order_id
            for order in orders
            if any(world.products[line.product_id].name == slots["product"] for line in order.lines)
        ]
    return [order.order_id for order in world.orders.values() if order.order_id == slots["order"]]


@pytest.mark.parametrize("pool", ["validation", "test", "diagnostic", "train", "reserve"])
def test_each_request_identifies_exactly_one_entity(pools, pool):
    for task in pools[pool].tasks[:400]:
        for part in task.parts:
            target = part.customer_id if part.form == "ticket_customer" else part.order_id
            assert candidates(task, part) == [target], (task.task_id, part.text)
            assert part.text in task.request or part.text[1:] in task.request
        assert len({part.customer_id for part in task.parts}) == len(task.parts)


def test_compact_requests_identify_one_entity(compact_tasks):
    for task in compact_tasks:
        assert len(task.request.split()) <= 21
        for part in task.parts:
            target = part.customer_id if part.form == "ticket_customer" else part.order_id
            assert candidates(task, part) == [target]


def test_a_partial_refund_names_one_line(pools):
    for task in pools["validation"].tasks:
        for part in task.parts:
            if part.form == "partial_refund":
                lines = task.world.orders[part.order_id].lines
                names = [task.world.products[line.product_id].name for line in lines]
                assert names.count(part.slots["product"]) == 1
                assert len(lines) >= 2


def test_no_planned_write_is_a_no_op_or_breaks_a_rule(tasks, laws):
    """Each planned write changes the graded state, so none is satisfied before it is made."""
    for task in tasks:
        writes = sum(call.write for call in task.plan)
        state_changes = 0
        episode = Episode(task, laws["clean"], "0")
        for call in task.plan:
            before = (dict(episode.state.orders), list(episode.state.added))
            assert episode.step(call.name, dict(call.arguments)).ok
            state_changes += (dict(episode.state.orders), list(episode.state.added)) != before
        assert state_changes == writes


def test_finish_at_once_never_succeeds_on_any_of_the_2916_tasks(pools, laws):
    total = 0
    for pool in pools.values():
        for task in pool.tasks:
            episode = Episode(task, laws["clean"], "0")
            episode.step("finish", {})
            outcome = episode.grade()
            assert not outcome.true_success
            assert not outcome.changed
            total += 1
    assert total == 2916


def test_pools_are_disjoint_by_world_seed_customer_and_name(pools):
    ids, names, seeds = {}, {}, {}
    for name, pool in pools.items():
        ids[name] = {key for task in pool.tasks for key in task.world.customers}
        names[name] = {row.name for task in pool.tasks for row in task.world.customers.values()}
        seeds[name] = {task.world_seed for task in pool.tasks}
    warm = [warmup_task(NATURAL, index) for index in range(200)]
    ids["warmup"] = {key for task in warm for key in task.world.customers}
    names["warmup"] = {row.name for task in warm for row in task.world.customers.values()}
    seeds["warmup"] = {task.world_seed for task in warm}
    for sets in (ids, names, seeds):
        for one, other in itertools.combinations(sets, 2):
            if sets is seeds or {one, other} != {
                "test",
                "reserve",
            }:  # these two share a class of ids and names
                assert not sets[one] & sets[other]
    assert sum(map(len, seeds.values())) == 3116


def test_what_the_compact_pools_share_is_what_the_page_says():
    """docs/simulator.md has a row per pool: tasks, requests that stand word for word in train, worlds shared."""
    text = (Path(__file__).parents[3] / "docs/simulator.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert len(rows) == 12
    pools = {}
    for profile, pool, *said in rows:
        for name in ("train", pool):
            pools.setdefault((profile, name), load_pool(profile_named(profile), name).tasks)
        train, other = pools[profile, "train"], pools[profile, pool]
        requests, worlds = {task.request for task in train}, {rows_of(task) for task in train}
        found = (
            len(other),
            sum(task.request in requests for task in other),
            sum(rows_of(task) in worlds for task in other),
        )
        assert tuple(map(int, said)) == found, (profile, pool)
        assert not {task.world_seed for task in train} & {task.world_seed for task in other}


def rows_of(task):
    world = task.world
    return tuple(tuple(part.values()) for part in (world.customers, world.products, world.orders))


def test_the_diagnostic_pool_has_two_to_four_writes(pools):
    assert {task.writes for task in pools["diagnostic"].tasks} <= {2, 3, 4}
    assert len(pools["diagnostic"].tasks) == 16


def test_the_manifest_is_what_the_generator_makes():
    assert recorded() == manifest()
    assert recorded_digest(NATURAL, "test") == draw_pool(NATURAL, "test").sha256


def test_a_changed_profile_has_no_recorded_pool():
    other = replace(NATURAL, world=replace(NATURAL.world, orders=17))
    with pytest.raises(ConfigError):
        load_pool(other, "test")
    with pytest.raises(ConfigError):
        draw_pool(NATURAL, "warmup")


def test_coordinates_determine_a_task_and_every_knob_moves_the_digest():
    assert task_digest(generate(NATURAL, "test", 7)) == task_digest(generate(NATURAL, "test", 7))
    assert task_digest(generate(NATURAL, "test", 7)) != task_digest(generate(NATURAL, "test", 8))
    digests = {
        replace(NATURAL, world=replace(NATURAL.world, **knob)).digest()
        for knob in ({"orders": 17}, {"page_size": 4}, {"lines": 2})
    }
    assert len(digests | {NATURAL.digest(), COMPACT.digest()}) == 5


def test_ids_are_unique_over_pools_and_profiles():
    ids = {
        generate(profile, pool, 3).task_id
        for profile in PROFILES.values()
        for pool in (*POOL_CLASSES, RESERVE)
    }
    assert len(ids) == len(PROFILES) * (len(POOL_CLASSES) + 1)
    with pytest.raises(ConfigError):
        profile_named("tiny")


def test_a_profile_that_is_too_small_is_refused():
    with pytest.raises(ConfigError):
        replace(NATURAL, world=replace(NATURAL.world, customers=2))


def test_tier_knobs_of_the_compact_profile(compact_tasks):
    for task in compact_tasks[:20]:
        world = task.world
        assert (len(world.customers), len(world.products), len(world.orders)) == (4, 4, 6)
        assert set(world.orders) <= {f"O{n}" for n in range(1, 9)}

"""The two languages: JSON is the payload, compact text stays inside a small vocabulary."""

from __future__ import annotations

import json
import re

import pytest

from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.profiles import COMPACT
from study.backoffice.regimes import REGIMES
from study.backoffice.render import COMPACT_ERRORS, render
from study.backoffice.schedule import luck_seed
from study.backoffice.tools import DEFINITIONS
from study.backoffice.world import STATUSES
from study.evaluation.rollout import play
from study.policies.scripted import SCRIPTED

ID = re.compile(r"[OCPNAXTL][1-8]")
NUMBER = re.compile(r"[0-9]{1,2}")
WORDS = {"ok", "err", "next", "none", "held", "back", "open", *STATUSES, *COMPACT_ERRORS.values()}


def first_reply(episode, name, **arguments):
    return episode.step(name, arguments).text


def test_compact_results_read_as_meant(compact_tasks, laws):
    task = compact_tasks[0]
    order = next(iter(task.world.orders.values()))
    line = order.lines[0]
    episode = Episode(task, laws["clean"], "0")
    words = first_reply(episode, "get_order", order_id=order.order_id).split()
    assert words[:2] == [order.customer_id, order.status]
    assert words[2:5] == [line.product_id, str(line.amount // 100), str(line.quantity)]
    assert words[-1] == order.address[0]
    product = task.world.products[line.product_id]
    assert (
        first_reply(episode, "check_inventory", product_id=product.product_id)
        == f"{product.product_id} {product.stock - product.reserved}"
    )
    customer = task.world.customers[order.customer_id]
    assert first_reply(episode, "search_customers", query=customer.name) == customer.customer_id
    assert (
        first_reply(episode, "get_customer", customer_id=customer.customer_id)
        == f"{customer.name} {customer.level} {customer.address[0]}"
    )
    assert first_reply(episode, "search_customers", query="Z9") == "none"
    assert first_reply(episode, "nope") == "err tool"
    assert first_reply(episode, "wait", seconds=0) == "err args seconds"


def test_a_compact_list_tells_held_orders_from_others(compact_tasks, laws):
    seen = set()
    for task in compact_tasks[:30]:
        for customer, ids in task.world.orders_of.items():
            words = first_reply(
                Episode(task, laws["clean"], "0"), "list_orders", customer_id=customer
            ).split()
            if not ids:
                assert words == ["none"]
            for order_id, word in zip(ids[:3], words[1::2], strict=False):
                order = task.world.orders[order_id]
                assert word == ("held" if order.held() else order.status)
                seen.add(word)
            assert (words[-2:-1] == ["next"]) == (len(ids) > 3)
    assert {"held", "paid", "pending"} <= seen


@pytest.mark.parametrize("regime", ["clean", "faults_p25", "heldout_p25", "challenge"])
def test_compact_text_stays_in_its_vocabulary(compact_tasks, regime):
    law = compile_law(REGIMES[regime])
    seen = set()
    for task in compact_tasks:
        for k in range(3):
            texts = []
            episode = play(
                SCRIPTED["recovering"],
                task,
                law,
                luck_seed(task.task_id, k),
                observer=lambda _, reply, to=texts: to.append(reply.text),
            )
            assert episode.ended_by
            for text in texts:
                assert text
                for word in text.split(" "):
                    assert word in WORDS or ID.fullmatch(word) or NUMBER.fullmatch(word), text
                    seen.add(word)
    assert {"ok", "held", "paid"} <= seen


def test_every_error_has_a_compact_word(small):
    for code, word in COMPACT_ERRORS.items():
        error = {"error": {"code": code, "field": "x", "retry_after": 5}}
        assert render("compact", DEFINITIONS["get_order"].words, error).startswith(f"err {word}")
        assert json.loads(render("json", DEFINITIONS["get_order"].words, error)) == error


def test_a_dropped_field_shows_in_either_language(compact_tasks, laws):
    """The text of a read differs whichever droppable field is missing."""
    task = compact_tasks[0]
    order = next(iter(task.world.orders.values()))
    calls = {
        "search_customers": {"query": task.world.customers[order.customer_id].name},
        "get_customer": {"customer_id": order.customer_id},
        "list_orders": {"customer_id": order.customer_id},
        "get_order": {"order_id": order.order_id},
        "check_inventory": {"product_id": order.lines[0].product_id},
    }
    droppable = {name: one.droppable for name, one in DEFINITIONS.items() if one.droppable}
    assert set(droppable) == set(calls)
    for name, fields in droppable.items():
        payload = Episode(task, laws["clean"], "0").step(name, calls[name]).payload
        for field in fields:
            lacking = {key: value for key, value in payload.items() if key != field}
            for results in ("json", "compact"):
                words = DEFINITIONS[name].words
                assert render(results, words, lacking) != render(results, words, payload)


def test_json_keeps_unicode_and_adds_no_spaces():
    assert render("json", None, {"name": "Zoë", "n": 1}) == '{"name":"Zoë","n":1}'


def test_compact_prompts_are_short(compact_tasks):
    assert max(len(task.request.split()) for task in compact_tasks) <= 21
    assert COMPACT.language.results == "compact"

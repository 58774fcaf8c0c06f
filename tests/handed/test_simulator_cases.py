"""Handed cases about tool calls: unreadable arguments (C40), paging (C42), names of no tool (C44)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from study.backoffice.calls import MalformedCall, parse_arguments
from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.grader import Canonical, canonical
from study.backoffice.profiles import NATURAL
from study.backoffice.reads import cut_page
from study.backoffice.regimes import REGIMES
from study.backoffice.tasks import Task, budget_for
from study.backoffice.tools import DEFINITIONS, TOOL_NAMES
from study.backoffice.toolset import toolset
from study.backoffice.world import Customer, Line, Order, Product, State, World

SHARED = Path(os.environ.get("PREREG_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the handed cases are not beside this checkout")

HOME = ("7 Oak Street", "Cambridge", "02139")


def world(orders: dict[str, list[str]]) -> World:
    rows = [
        Order(key, customer, "paid", (Line("P-1", 1, 100, 0),), HOME, 100, 0)
        for customer, keys in orders.items()
        for key in keys
    ]
    customers = [Customer(key, f"Name {key}", f"{key}@example.net", "urgent", HOME) for key in orders]
    return World.of(customers, [Product("P-1", "desk lamp", 100, 50, 0)], rows, 5)


def episode(orders: dict[str, list[str]] | None = None, writes: int = 1, regime: str = "clean") -> Episode:
    task = Task(
        "handed", "validation", 0, "0" * 32, NATURAL, "", (), (), world(orders or {"C-1": ["O-101"]}),
        Canonical({}, ()), budget_for(writes), toolset(NATURAL),
    )  # fmt: skip
    return Episode(task, compile_law(REGIMES[regime]), "0" * 32)


def load(case: str, name: str):
    text = (CASES / case / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else json.loads(text)


def replay(case: str, name: str, **setting) -> tuple[Episode, list]:
    played = episode(**setting)
    replies = []
    for row in load(case, name):
        function = row["tool_call"]["function"]
        replies.append(played.step_call(parse_arguments(function.get("name"), function["arguments"])))
    return played, replies


def test_c40_unreadable_arguments():
    expected = load("C40", "expected.json")["values"]
    played, replies = replay("C40", "calls.jsonl", writes=7)
    assert len(replies) == len(load("C40", "calls.jsonl"))
    for number, reply in enumerate(replies):
        if (
            number in expected["refused"] + expected["either"]
        ):  # ours refuses both of the cases where either may be
            assert reply.status == "invalid_arguments", number
            assert reply.payload["error"]["tool"] == "get_order"
            assert reply.payload["error"]["field"] in ("arguments", "order_id", "verbose")
    assert [r.payload["error"]["field"] for r in replies if r.payload["error"]["field"] != "arguments"] == [
        "order_id",
        "verbose",
    ]
    assert "character" in replies[0].payload["error"]["message"]
    assert played.calls == len(replies)
    assert all(record.repeat is None for record in played.records)
    assert canonical(played.state) == Canonical({}, ())
    assert [reply.text for reply in replay("C40", "calls.jsonl", writes=7)[1]] == [
        reply.text for reply in replies
    ]


def test_c40_a_later_good_call_of_the_same_episode_draws_first():
    played, _ = replay("C40", "calls.jsonl", writes=7, regime="faults_p25")
    played.step("get_order", {"order_id": "O-101"})
    assert played.records[-1].repeat == 0


@pytest.mark.parametrize("cut", [None, 0, 1, 2, 3])
def test_c42_paging(cut):
    case, expected = load("C42", "orders.json"), load("C42", "expected.json")["values"]
    state = State(world(case["customers"]))
    check = toolset(NATURAL)["list_orders"].check

    def page(customer: str, offset: object) -> dict:
        result = DEFINITIONS["list_orders"].execute(state, check({"customer_id": customer, "offset": offset}))
        return result if cut is None else cut_page("orders", result, cut)

    for customer, keys in case["customers"].items():
        seen, offset, requests = [], 0, 0
        while offset is not None:
            shown = page(customer, offset)
            assert shown["total"] == len(keys)
            seen += [row["order_id"] for row in shown["orders"]]
            offset, requests = shown["next_offset"], requests + 1
        assert seen == keys
        assert cut is not None or requests == expected["pages"][str(len(keys))]
    if cut is None:
        assert [row["order_id"] for row in page("C-11", 5)["orders"]] == expected["page_at_offset_5_of_11"]
    for text in expected["empty_page"]:
        offset, total = (int(word) for word in text.split(" of "))
        assert page(f"C-{total}", offset)["orders"] == []
    for offset in expected["refused_offsets"]:
        assert check({"customer_id": "C-11", "offset": offset}).field == "offset"


def test_c44_names_of_no_tool():
    expected = load("C44", "expected.json")["values"]
    played, replies = replay("C44", "calls.jsonl", writes=7)
    for number in (
        expected["refused"] + expected["either"]
    ):  # names are exact: case and spaces are refused too
        error = replies[number].payload["error"]
        assert error["code"] == "unknown_tool"
        assert all(name in error["message"] for name in TOOL_NAMES)
    assert played.calls == len(replies)
    assert canonical(played.state) == Canonical({}, ())
    assert len({reply.text for reply in replies}) == 1


def test_c44_forty_repeats_end_at_the_budget():
    expected = load("C44", "expected.json")["values"]["forty"]
    played, replies = replay("C44", "forty_empty.jsonl", writes=1)
    assert played.calls == expected["budget_for_n_writes_1"]
    assert bool(played.ended_by) is expected["episode_ends"]
    assert len(played.records) == played.calls
    assert {reply.status for reply in replies[10:]} == {"episode_ended"}
    assert all(len(reply.text) < 100 for reply in replies[9:])


def test_c44_an_unreadable_call_without_a_name_counts_too():
    played = episode()
    assert played.step_call(MalformedCall("", "call", "one JSON object")).status == "malformed_call"
    assert played.calls == 1

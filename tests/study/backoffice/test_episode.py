"""The pipeline of a call, step by step: who answers, what counts, what draws, what changes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from study.backoffice import episode as episode_module
from study.backoffice.faults import OUTAGE, RATE_LIMIT, TRANSIENT, NoiseLaw, compile_law
from study.backoffice.grader import canonical
from study.backoffice.regimes import REGIMES
from study.backoffice.tools import TOOL_NAMES
from study.errors import SimulatorError

GET = ("get_order", {"order_id": "O-2"})
P25 = compile_law(REGIMES["faults_p25"])
HELD = compile_law(REGIMES["heldout_p25"])
ALWAYS = compile_law(NoiseLaw("always", rate=Fraction(1)))


def statuses(episode):
    return [record.status for record in episode.records]


def test_call_b_works_and_call_b_plus_one_ends_the_episode(small):
    episode = small(writes=1)
    for number in range(9):
        assert episode.step(*GET).ok, number
    refused = episode.step("cancel_order", {"order_id": "O-2"})
    assert (refused.status, refused.ended, episode.ended_by) == ("budget_exhausted", True, "budget")
    assert (episode.calls, len(episode.records), episode.remaining) == (9, 9, 0)
    assert canonical(episode.state).changes == {}
    assert episode.step(*GET).status == "episode_ended"


@pytest.mark.parametrize(
    ("writes", "budget"), [(1, 9), (2, 11), (3, 13), (6, 19), (7, 21), (8, 21), (20, 21)]
)
def test_budgets(small, writes, budget):
    assert small(writes=writes).task.budget == budget


def test_finish_is_free_also_at_the_end_of_the_budget(small):
    episode = small(writes=1)
    for _ in range(9):
        episode.step(*GET)
    assert episode.step("finish", {}).payload == {"status": "finished"}
    assert (episode.ended_by, episode.calls) == ("finish", 9)


def test_a_malformed_finish_counts_and_does_not_end(small):
    episode = small()
    assert episode.step("finish", {"summary": 5}).status == "invalid_arguments"
    assert (episode.calls, episode.ended_by) == (1, "")


def test_after_the_end_one_fixed_short_message(small):
    episode = small()
    episode.step("finish", {})
    replies = [
        episode.step(*GET),
        episode.step("nonsense", None),
        episode.step("finish", {}),
        episode.step("wait", {"seconds": 5}),
    ]
    assert len({reply.text for reply in replies}) == 1
    assert all(reply.ended and len(reply.text) < 100 for reply in replies)
    assert (episode.calls, len(episode.records), episode.clock) == (0, 1, 0)
    episode.close()
    assert episode.ended_by == "finish"


def test_bad_calls_count_draw_nothing_and_change_nothing(small):
    """With every eligible call faulting, a bad call still gets its own error and consumes no event key."""
    episode = small(ALWAYS)
    for name, arguments in (
        ("get_order", {}),
        ("get_order", {"order_id": 5}),
        ("nope", {}),
        (None, {}),
        ("wait", {"seconds": 0}),
    ):
        assert episode.step(name, arguments).status in ("invalid_arguments", "unknown_tool")
    assert episode.calls == 5
    assert all(record.repeat is None and record.drawn is None for record in episode.records)
    episode.step(*GET)
    assert episode.records[-1].repeat == 0


def test_an_unknown_tool_is_told_the_thirteen(small):
    text = small().step("search_files", {}).text
    assert all(name in text for name in TOOL_NAMES)
    assert len(TOOL_NAMES) == 13


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "step",
        "grade",
        "_state",
        "reset",
        "Get_Order",
        "get_order ",
        "functions.get_order",
        "",
        "   ",
        "finish()",
        None,
        5,
        ["get_order"],
    ],
)
def test_no_other_name_reaches_anything(small, name):
    episode = small()
    reply = episode.step(name, {"order_id": "O-1"})
    assert reply.status == "unknown_tool"
    assert episode.calls == 1


def test_wait_moves_the_clock_and_nothing_else_does(small):
    episode = small()
    episode.step(*GET)
    assert episode.clock == 0
    assert episode.step("wait", {"seconds": 60}).payload == {"clock": 60}
    episode.step("wait", {"seconds": "5"})
    assert (episode.clock, episode.calls) == (65, 3)


def limited(small, seed_where, seconds):
    """An episode whose first get_order(O-2) meets a rate limit of the given length and whose next draws are clean."""
    pick = {5: 0, 10: 1, 15: 2}[seconds]
    seed = seed_where(
        P25, {("get_order", "O-2", 0): RATE_LIMIT, ("get_order", "O-2", 1): None}, lambda c: c % 3 == pick
    )
    episode = small("faults_p25", seed=seed)
    first = episode.step(*GET)
    assert (first.status, first.payload["error"]["retry_after"]) == ("rate_limited", seconds)
    return episode


@pytest.mark.parametrize("seconds", [5, 10, 15])
def test_a_rate_limit_blocks_every_call_until_it_is_over(small, seed_where, seconds):
    episode = limited(small, seed_where, seconds)
    blocked = episode.step("cancel_order", {"order_id": "O-1"})
    assert (blocked.status, blocked.payload["error"]["retry_after"]) == ("rate_limited", seconds)
    assert episode.records[-1].repeat is None
    assert canonical(episode.state).changes == {}
    episode.step("wait", {"seconds": seconds - 1})
    assert episode.step(*GET).payload["error"]["retry_after"] == 1
    episode.step("wait", {"seconds": 1})
    assert episode.step(*GET).ok
    assert statuses(episode) == ["rate_limited", "rate_limited", "ok", "rate_limited", "ok", "ok"]
    assert [record.repeat for record in episode.records] == [0, None, None, None, None, 1]
    assert episode.calls == 6


def test_blocked_calls_do_not_extend_the_limit_and_finish_passes(small, seed_where):
    episode = limited(small, seed_where, 5)
    for _ in range(3):
        episode.step(*GET)
    assert episode.step(*GET).payload["error"]["retry_after"] == 5
    assert episode.step("finish", {}).ok


def test_a_bad_call_under_a_limit_is_still_invalid(small, seed_where):
    assert limited(small, seed_where, 5).step("get_order", {}).status == "invalid_arguments"


def test_transient_draws_afresh(small, seed_where):
    seed = seed_where(P25, {("cancel_order", "O-1", 0): TRANSIENT, ("cancel_order", "O-1", 1): None})
    episode = small("faults_p25", seed=seed)
    assert episode.step("cancel_order", {"order_id": "O-1"}).status == "temporary_error"
    assert canonical(episode.state).changes == {}
    assert episode.step("cancel_order", {"order_id": "O-1"}).ok
    assert [record.repeat for record in episode.records] == [0, 1]


SPELLINGS = [
    ("issue_refund", {"order_id": "O-5", "amount": 1}, {"order_id": " o-5 ", "amount": 2, "reason": "please"}),
    ("list_orders", {"customer_id": "C-1"}, {"customer_id": "c-1", "offset": 3}),
    ("schedule_shipment", {"order_id": "O-3", "carrier": "BlueVan"}, {"order_id": "o-3", "carrier": "Citypost"}),
    ("create_ticket", {"order_id": "O-1", "topic": "billing", "priority": "urgent"}, {"order_id": "O-1", "topic": "account", "priority": "standard", "customer_id": "C-1", "summary": "x"}),
    ("search_customers", {"query": "ada"}, {"query": "bo", "offset": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "first", "second"), SPELLINGS)
def test_an_outage_lasts_and_cannot_be_evaded(small, seed_where, tool, first, second):
    """Neither amount, reason, offset, spelling nor waiting gets around it; other resources are free."""
    resource = {"create_ticket": "order:O-1", "search_customers": ""}.get(tool, next(iter(first.values())))
    seed = seed_where(P25, {(tool, resource, 0): OUTAGE, ("get_order", "O-1", 0): None})
    episode = small("faults_p25", seed=seed)
    assert episode.step(tool, first).status == "service_unavailable"
    episode.step("wait", {"seconds": 60})
    assert episode.step(tool, second).status == "service_unavailable"
    assert [record.repeat for record in episode.records] == [0, None, None]
    assert canonical(episode.state).added == ()
    assert episode.step("get_order", {"order_id": "O-1"}).ok


def test_outage_and_transient_have_neutral_and_different_words(small, seed_where):
    texts = []
    for fault in (OUTAGE, TRANSIENT):
        episode = small("faults_p25", seed=seed_where(P25, {("get_order", "O-2", 0): fault}))
        texts.append(episode.step(*GET).text)
    assert texts[0] != texts[1]
    assert not any(word in text for text in texts for word in ("permanent", "outage", "never", "episode"))


def test_a_stale_read_shows_the_world_before_the_last_write(small, seed_where):
    clean = {("cancel_order", "O-1", 0): None, ("cancel_order", "O-2", 0): None}
    seed = seed_where(
        P25, clean | {("get_order", "O-2", 0): "stale_read", ("get_order", "O-1", 0): "stale_read"}
    )
    episode = small("faults_p25", seed=seed)
    episode.step("cancel_order", {"order_id": "O-1"})
    episode.step("cancel_order", {"order_id": "O-2"})
    assert episode.step(*GET).payload["status"] == "paid"
    assert episode.step("get_order", {"order_id": "O-1"}).payload["status"] == "cancelled"
    assert [record.effective for record in episode.records] == [False, False, True, False]
    assert [record.drawn for record in episode.records[2:]] == ["stale_read", "stale_read"]
    assert canonical(episode.state).changes == {
        ("O-1", "status"): "cancelled",
        ("O-2", "status"): "cancelled",
    }


def test_a_stale_read_without_a_write_is_drawn_and_not_effective(small, seed_where):
    episode = small("faults_p25", seed=seed_where(P25, {("get_order", "O-2", 0): "stale_read"}))
    assert episode.step(*GET).payload["status"] == "paid"
    assert (episode.records[0].drawn, episode.records[0].effective) == ("stale_read", False)


def test_truncation(small, seed_where):
    seed = seed_where(P25, {("list_orders", "C-1", 0): "truncation", ("list_orders", "C-1", 1): None})
    episode = small("faults_p25", seed=seed)
    page = episode.step("list_orders", {"customer_id": "C-1"}).payload
    assert 1 <= len(page["orders"]) < 5
    assert (page["total"], page["has_more"], page["next_offset"]) == (6, True, len(page["orders"]))
    rest = episode.step("list_orders", {"customer_id": "C-1", "offset": page["next_offset"]}).payload
    ids = [row["order_id"] for row in page["orders"] + rest["orders"]]
    assert ids == [f"O-{n}" for n in range(1, len(ids) + 1)]


def test_truncation_of_one_row_is_logged_and_not_effective(small, seed_where):
    episode = small("faults_p25", seed=seed_where(P25, {("search_customers", "", 0): "truncation"}))
    assert len(episode.step("search_customers", {"query": "ada"}).payload["customers"]) == 1
    assert (episode.records[0].drawn, episode.records[0].effective) == ("truncation", False)


def test_a_timeout_after_commit_writes_exactly_once(small, seed_where):
    """The write is applied and reported as a timeout; a blind retry is visible in the end state."""
    event = ("create_ticket", "customer:C-1")
    arguments = {"customer_id": "C-1", "topic": "billing", "priority": "urgent"}
    episode = small(
        "heldout_p25", seed=seed_where(HELD, {(*event, 0): "timeout_after_commit", (*event, 1): None})
    )
    reply = episode.step("create_ticket", arguments)
    assert (reply.status, reply.payload["error"]["code"]) == ("timeout", "timeout")
    assert canonical(episode.state).added == (("ticket", "C-1", "", "billing", "urgent"),)
    episode.step("create_ticket", arguments)
    assert len(canonical(episode.state).added) == 2


def test_a_timeout_of_an_invalid_write_commits_nothing(small, seed_where):
    episode = small(
        "heldout_p25", seed=seed_where(HELD, {("cancel_order", "O-4", 0): "timeout_after_commit"})
    )
    assert episode.step("cancel_order", {"order_id": "O-4"}).status == "timeout"
    assert canonical(episode.state) == canonical(small().state)


def test_field_dropout_takes_one_field(small, seed_where):
    seed = seed_where(HELD, {("get_order", "O-2", 0): "field_dropout", ("get_order", "O-2", 1): None})
    episode = small("heldout_p25", seed=seed)
    lacking, whole = episode.step(*GET).payload, episode.step(*GET).payload
    assert len(whole.keys() - lacking.keys()) == 1
    assert lacking.items() <= whole.items()
    assert "order_id" in lacking
    assert episode.records[0].effective


def test_the_challenge_set_fails_the_first_attempt_of_every_write_and_nothing_else(small):
    episode = small("challenge")
    for name, arguments in (
        ("get_order", {"order_id": "O-1"}),
        ("cancel_order", {"order_id": "O-1"}),
        ("cancel_order", {"order_id": "O-1"}),
        ("cancel_order", {"order_id": "O-2"}),
        ("create_ticket", {"topic": "billing", "priority": "urgent"}),
        ("create_ticket", {"topic": "account", "priority": "urgent"}),
        ("list_orders", {"customer_id": "C-1"}),
    ):
        episode.step(name, arguments)
    fail = "temporary_error"
    assert statuses(episode) == ["ok", fail, "ok", fail, fail, "ok", "ok"]


def test_a_clean_regime_draws_nothing(small, monkeypatch):
    def forbidden(*_):
        raise AssertionError("a draw without noise")

    monkeypatch.setattr(episode_module.Schedule, "draw", forbidden)
    episode = small("clean")
    assert episode.step(*GET).ok
    assert small("challenge").step(*GET).ok


def test_at_rate_one_every_eligible_call_faults(small):
    episode = small(ALWAYS)
    for _ in range(6):
        reply = episode.step(*GET)
        if reply.status == "rate_limited":
            episode.step("wait", {"seconds": 60})
    drawn = [record for record in episode.records if record.repeat is not None]
    assert drawn
    assert all(record.drawn for record in drawn)


def test_replies_and_arguments_are_not_shared_with_the_world(small):
    episode = small()
    arguments = {"order_id": "O-5"}
    reply = episode.step("get_order", arguments)
    text = reply.text
    reply.payload["items"][0]["amount"] = -1
    reply.payload.clear()
    arguments["order_id"] = "O-1"
    assert episode.step("get_order", {"order_id": "O-5"}).text == text
    episode.state.orders["O-5"] = None
    assert episode.step("get_order", {"order_id": "O-5"}).text == text


def test_the_grade_flips_on_its_own_lane(small):
    flipped = plain = 0
    for number in range(300):
        episode = small("grader_flips", seed=f"{number}")
        episode.step("finish", {})
        outcome = episode.grade()
        assert outcome.true_success
        assert outcome.observed_reward == (0 if outcome.flipped else 1)
        flipped, plain = flipped + outcome.flipped, plain + (not outcome.flipped)
        broken = small("grader_flips", seed=f"{number}")
        broken.step("cancel_order", {"order_id": "O-1"})
        assert broken.grade()[:2] == (False, 0)
    assert 12 <= flipped <= 52  # 300 x 0.1, five standard deviations
    assert not small("faults_p25").grade().flipped


def test_an_internal_exception_is_raised_and_leaves_no_grade(small, monkeypatch):
    def broken(state, values):
        raise KeyError("inside")

    episode = small()
    tools = dict(episode.task.tools)
    tools["get_order"] = replace(tools["get_order"], run=broken)
    monkeypatch.setattr(episode, "_tools", tools)
    with pytest.raises(SimulatorError):
        episode.step(*GET)
    with pytest.raises(SimulatorError):
        episode.grade()


def test_replies_are_json_in_the_natural_language(small):
    episode = small()
    assert json.loads(episode.step(*GET).text) == episode.step(*GET).payload


def test_several_calls_are_answered_in_list_order(small):
    episode = small()
    replies = [
        episode.step(name, arguments) for name, arguments in (GET, ("cancel_order", {"order_id": "O-2"}), GET)
    ]
    assert [reply.payload["status"] for reply in replies] == ["paid", "cancelled", "cancelled"]

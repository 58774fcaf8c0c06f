"""Faults drawn, effective and recovered are counted apart."""

from __future__ import annotations

from study.backoffice.faults import OUTAGE, RATE_LIMIT, TRANSIENT, compile_law
from study.backoffice.log import fault_counts
from study.backoffice.regimes import REGIMES

P25 = compile_law(REGIMES["faults_p25"])
HELD = compile_law(REGIMES["heldout_p25"])
GET = ("get_order", {"order_id": "O-2"})


def counts(small, seed_where, law, name, wanted, *calls):
    episode = small(name, seed=seed_where(law, wanted))
    for call in calls:
        episode.step(*call)
    return tuple(fault_counts(episode.records))


def test_a_retry_recovers_a_transient_failure(small, seed_where):
    wanted = {("get_order", "O-2", 0): TRANSIENT, ("get_order", "O-2", 1): None}
    assert counts(small, seed_where, P25, "faults_p25", wanted, GET) == (1, 1, 0)
    assert counts(small, seed_where, P25, "faults_p25", wanted, GET, GET) == (1, 1, 1)


def test_a_wait_and_a_retry_recover_a_rate_limit(small, seed_where):
    wanted = {("get_order", "O-2", 0): RATE_LIMIT, ("get_order", "O-2", 1): None}
    assert counts(small, seed_where, P25, "faults_p25", wanted, GET, GET) == (1, 1, 0)
    assert counts(small, seed_where, P25, "faults_p25", wanted, GET, ("wait", {"seconds": 15}), GET) == (
        1,
        1,
        1,
    )


def test_an_outage_is_not_recovered(small, seed_where):
    assert counts(small, seed_where, P25, "faults_p25", {("get_order", "O-2", 0): OUTAGE}, GET, GET) == (
        1,
        1,
        0,
    )


def test_another_search_recovers_nothing(small, seed_where):
    wanted = {
        ("search_customers", "", 0): TRANSIENT,
        ("search_customers", "", 1): None,
        ("search_customers", "", 2): None,
    }
    ada, bo = ("search_customers", {"query": "ada"}), ("search_customers", {"query": "bo"})
    assert counts(small, seed_where, P25, "faults_p25", wanted, ada, bo) == (1, 1, 0)
    assert counts(small, seed_where, P25, "faults_p25", wanted, ada, bo, ada) == (1, 1, 1)


def test_the_next_page_recovers_a_truncation(small, seed_where):
    wanted = {("list_orders", "C-1", 0): "truncation", ("list_orders", "C-1", 1): None}
    seed = seed_where(P25, wanted)
    for offset, recovered in ((0, 0), (None, 1)):
        episode = small("faults_p25", seed=seed)
        page = episode.step("list_orders", {"customer_id": "C-1"}).payload
        episode.step(
            "list_orders", {"customer_id": "C-1", "offset": page["next_offset"] if offset is None else offset}
        )
        assert tuple(fault_counts(episode.records)) == (1, 1, recovered)


def test_a_fresh_read_recovers_a_dropped_field_and_a_look_a_timeout(small, seed_where):
    wanted = {("get_order", "O-2", 0): "field_dropout", ("get_order", "O-2", 1): None}
    assert counts(small, seed_where, HELD, "heldout_p25", wanted, GET) == (1, 1, 0)
    assert counts(small, seed_where, HELD, "heldout_p25", wanted, GET, GET) == (1, 1, 1)
    wanted = {("cancel_order", "O-2", 0): "timeout_after_commit", ("get_order", "O-2", 0): None}
    cancel = ("cancel_order", {"order_id": "O-2"})
    assert counts(small, seed_where, HELD, "heldout_p25", wanted, cancel) == (1, 1, 0)
    assert counts(small, seed_where, HELD, "heldout_p25", wanted, cancel, GET) == (1, 1, 1)


def test_a_fault_without_effect_is_drawn_only(small, seed_where):
    wanted = {("search_customers", "", 0): "truncation"}
    assert counts(small, seed_where, P25, "faults_p25", wanted, ("search_customers", {"query": "ada"})) == (
        1,
        0,
        0,
    )

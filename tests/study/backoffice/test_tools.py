"""Reads and writes on a small world: what each does, and that a refused write changes nothing."""

from __future__ import annotations

import pytest

from study.backoffice.grader import canonical
from study.backoffice.profiles import NATURAL
from study.backoffice.reads import Refusal, cut_page, money
from study.backoffice.tools import DEFINITIONS
from study.backoffice.toolset import toolset
from study.backoffice.world import State


@pytest.fixture
def state(make_world):
    return State(make_world())


def call(state, name, **arguments):
    return DEFINITIONS[name].execute(state, toolset(NATURAL)[name].check(arguments))


def address(order_id, **more):
    return {"order_id": order_id, "street": "9 Vine Street", "city": "Boise", "postal_code": "83702"} | more


REFUSALS = [
    ("get_customer", {"customer_id": "C-9"}, "not_found", "customer_id"),
    ("list_orders", {"customer_id": "C-9"}, "not_found", "customer_id"),
    ("get_order", {"order_id": "O-999"}, "not_found", "order_id"),
    ("check_inventory", {"product_id": "P-9"}, "not_found", "product_id"),
    ("update_shipping_address", address("O-999"), "not_found", "order_id"),
    ("update_shipping_address", address("O-4"), "wrong_status", "order_id"),
    ("update_shipping_address", address("O-6"), "wrong_status", "order_id"),
    ("cancel_order", {"order_id": "O-999"}, "not_found", "order_id"),
    ("cancel_order", {"order_id": "O-4"}, "wrong_status", "order_id"),
    ("cancel_order", {"order_id": "O-5"}, "wrong_status", "order_id"),
    ("cancel_order", {"order_id": "O-6"}, "already_cancelled", "order_id"),
    ("issue_refund", {"order_id": "O-999", "amount": 1}, "not_found", "order_id"),
    ("issue_refund", {"order_id": "O-1", "amount": 1}, "exceeds_remainder", "amount"),
    ("issue_refund", {"order_id": "O-5", "amount": 30.01}, "exceeds_remainder", "amount"),
    ("reserve_stock", {"order_id": "O-999", "product_id": "P-1", "quantity": 1}, "not_found", "order_id"),
    ("reserve_stock", {"order_id": "O-2", "product_id": "P-9", "quantity": 1}, "not_found", "product_id"),
    ("reserve_stock", {"order_id": "O-1", "product_id": "P-1", "quantity": 1}, "wrong_status", "order_id"),
    ("reserve_stock", {"order_id": "O-2", "product_id": "P-3", "quantity": 1}, "not_in_order", "product_id"),
    ("reserve_stock", {"order_id": "O-2", "product_id": "P-1", "quantity": 3}, "exceeds_need", "quantity"),
    ("reserve_stock", {"product_id": "P-2", "quantity": 1}, "no_stock", "quantity"),
    ("reserve_stock", {"product_id": "P-1", "quantity": 8}, "no_stock", "quantity"),
    ("schedule_shipment", {"order_id": "O-999", "carrier": "BlueVan"}, "not_found", "order_id"),
    ("schedule_shipment", {"order_id": "O-2", "carrier": "BlueVan"}, "not_reserved", "order_id"),
    ("schedule_shipment", {"order_id": "O-1", "carrier": "BlueVan"}, "wrong_status", "order_id"),
    (
        "create_ticket",
        {"order_id": "O-999", "topic": "billing", "priority": "urgent"},
        "not_found",
        "order_id",
    ),
    (
        "create_ticket",
        {"customer_id": "C-9", "topic": "billing", "priority": "urgent"},
        "not_found",
        "customer_id",
    ),
    (
        "create_ticket",
        {"order_id": "O-1", "customer_id": "C-2", "topic": "billing", "priority": "urgent"},
        "wrong_customer",
        "customer_id",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "code", "field"), REFUSALS)
def test_refusals_are_atomic_and_name_the_field(state, name, arguments, code, field):
    result = call(state, name, **arguments)
    assert isinstance(result, Refusal)
    assert (result.code, result.field) == (code, field)
    assert canonical(state) == canonical(State(state.world))
    assert state.before_last_write() is state


def test_address(state):
    call(state, "update_shipping_address", **address("O-1"))
    assert state.order("O-1").address == ("9 Vine Street", "Boise", "83702")
    assert canonical(state).changes == {("O-1", "address"): ("9 vine street", "boise", "83702")}


def test_an_equal_address_succeeds_and_commits_nothing(state):
    result = call(
        state,
        "update_shipping_address",
        **address("O-1", street="5 elm  Street.", city="BOULDER", postal_code="80302"),
    )
    assert not isinstance(result, Refusal)
    assert canonical(state).changes == {}
    assert state.before_last_write() is state


def test_cancel_then_refund(state):
    call(state, "cancel_order", order_id="O-2")
    assert call(state, "cancel_order", order_id="O-2").code == "already_cancelled"
    assert call(state, "issue_refund", order_id="O-2", amount="25.00") == {"order_id": "O-2", "refunded": 25}
    assert call(state, "issue_refund", order_id="O-2", amount=0.01).code == "exceeds_remainder"
    assert canonical(state).added == (("refund", "O-2", "2500"),)


def test_refunds_add_up_to_what_was_paid(state):
    assert call(state, "issue_refund", order_id="O-5", amount=20)["refunded"] == 24
    assert call(state, "issue_refund", order_id="O-5", amount=10)["refunded"] == 34
    assert call(state, "issue_refund", order_id="O-5", amount=0.01).code == "exceeds_remainder"


def test_reserve_and_ship(state):
    call(state, "reserve_stock", order_id="O-2", product_id="P-1", quantity=1)
    assert call(state, "schedule_shipment", order_id="O-2", carrier="BlueVan").code == "not_reserved"
    call(state, "reserve_stock", order_id="O-2", product_id="P-1", quantity=1)
    assert call(state, "reserve_stock", order_id="O-2", product_id="P-1", quantity=1).code == "exceeds_need"
    assert call(state, "check_inventory", product_id="P-1")["available"] == 5
    call(state, "schedule_shipment", order_id="O-2", carrier="bluevan")
    assert call(state, "schedule_shipment", order_id="O-2", carrier="BlueVan").code == "wrong_status"
    assert call(state, "get_order", order_id="O-2")["status"] == "shipped"
    assert canonical(state).added == (
        ("reservation", "O-2", "P-1", "2"), ("shipment", "O-2", "BlueVan"),
    )  # fmt: skip  # two calls that reserve one each end in the state of one call that reserves two


def test_a_ticket_knows_its_customer_and_forgets_free_text(state):
    other = State(state.world)
    call(state, "create_ticket", order_id="O-1", topic="billing", priority="urgent", summary="one text")
    call(
        other,
        "create_ticket",
        order_id="O-1",
        customer_id="C-1",
        topic="billing",
        priority="urgent",
        summary="another",
    )
    assert canonical(state) == canonical(other)
    assert call(state, "get_customer", customer_id="C-1")["open_tickets"][0]["topic"] == "billing"
    assert call(state, "get_order", order_id="O-1")["open_tickets"][0]["ticket_id"] == "T-1"
    assert call(state, "get_order", order_id="O-2")["open_tickets"] == []


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("ada", ["C-1"]),
        ("BYRON ada", ["C-1"]),
        ("bo@x.net", ["C-2"]),
        ("li", ["C-2"]),
        ("b", ["C-1", "C-2"]),
        ("zoe", []),
        ("ada li", []),
    ],
)
def test_search(state, query, ids):
    assert [row["customer_id"] for row in call(state, "search_customers", query=query)["customers"]] == ids


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 10, 11])
@pytest.mark.parametrize("cut", [None, 0, 1, 7])
def test_pages_enumerate_every_order_once(make_world, count, cut):
    """Following next_offset gives each order once and ends, cut pages included."""
    state = State(make_world(count))
    seen, offset, requests = [], 0, 0
    while offset is not None:
        page = call(state, "list_orders", customer_id="C-2", offset=offset)
        if cut is not None:
            page = cut_page("orders", page, cut)
        assert page["total"] == count
        seen += [row["order_id"] for row in page["orders"]]
        assert page["has_more"] == (page["next_offset"] is not None)
        offset, requests = page["next_offset"], requests + 1
    assert seen == sorted(seen) == [f"O-9{n:02d}" for n in range(count)]
    assert cut is not None or requests == max(1, -(-count // 5))


def test_an_offset_at_or_past_the_end_gives_an_empty_page(make_world):
    state = State(make_world(10))
    for offset in (10, 11, 1000):
        page = call(state, "list_orders", customer_id="C-2", offset=offset)
        assert (page["orders"], page["has_more"], page["total"]) == ([], False, 10)


def test_a_cut_page_keeps_one_to_all_but_one_rows(make_world):
    page = call(State(make_world(5)), "list_orders", customer_id="C-2")
    assert [len(cut_page("orders", page, n)["orders"]) for n in range(5)] == [1, 2, 3, 4, 1]
    single = call(State(make_world(1)), "list_orders", customer_id="C-2")
    assert cut_page("orders", single, 3) == single


def test_payloads_share_nothing_with_the_world(state):
    payload = call(state, "get_order", order_id="O-5")
    payload["items"][0]["quantity"] = 99
    payload["address"]["city"] = "Nowhere"
    payload["items"].clear()
    assert call(state, "get_order", order_id="O-5")["items"][0]["quantity"] == 2
    assert call(state, "get_order", order_id="O-5")["address"]["city"] == "Boulder"


def test_before_last_write_is_one_write_back(state):
    call(state, "cancel_order", order_id="O-1")
    call(state, "cancel_order", order_id="O-2")
    before = state.before_last_write()
    assert (before.order("O-1").status, before.order("O-2").status) == ("cancelled", "paid")


def test_dropped_fields_are_never_the_id_asked_for(state):
    asked = {
        "get_customer": ("customer_id", "C-1"),
        "get_order": ("order_id", "O-1"),
        "check_inventory": ("product_id", "P-1"),
        "list_orders": ("customer_id", "C-1"),
    }
    for name, definition in DEFINITIONS.items():
        if not definition.droppable:
            assert name not in asked and name != "search_customers"
            continue
        fields = definition.droppable
        arguments = {"query": "ada"} if name == "search_customers" else dict([asked[name]])
        payload = call(state, name, **arguments)
        assert set(fields) < set(payload)
        assert name == "search_customers" or asked[name][0] not in fields
        assert definition.rows in fields or not definition.rows


def test_the_kind_of_a_tool_says_which_parts_of_its_definition_are_there():
    for definition in DEFINITIONS.values():
        assert (definition.execute is None) == (definition.kind == "control")
        assert bool(definition.rows) == (definition.kind == "list")
        assert bool(definition.droppable) == (definition.kind in ("list", "record"))
        assert (definition.words is None) == (definition.kind in ("write", "control"))


def test_money_is_shown_without_loss():
    assert (money(3300), money(3350), money(1)) == (33, 33.5, 0.01)

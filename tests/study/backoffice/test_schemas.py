"""Arguments: one rule each, stated in the module, and a named field for everything that is refused."""

from __future__ import annotations

import copy
import math

import pytest

from study.backoffice.profiles import COMPACT, NATURAL
from study.backoffice.schemas import BadArgument, Unfit, check_money
from study.backoffice.tools import TOOL_NAMES
from study.backoffice.toolset import schemas, toolset

TOOLS = toolset(NATURAL)


@pytest.mark.parametrize("value", [33, 33.0, "33", "33.0", "33.00", " 33 "])
def test_one_amount_in_every_spelling(value):
    assert check_money(value) == 3300


@pytest.mark.parametrize(
    ("value", "cents"),
    [(0.1, 10), ("0.01", 1), (74.75, 7475), ("1234.5", 123450), (149.5, 14950), (10**7, 10**9)],
)
def test_amounts_are_exact_cents(value, cents):
    assert check_money(value) == cents


@pytest.mark.parametrize(
    "value",
    [0, -1, -0.5, "0", "0.00", "-3", "1e3", "1,5", "33.333", 33.333, 1e-9, math.nan, math.inf, True, None, [], {}, "",
     "NaN", "\u0663", 10**400, 1e300, "9" * 60, 10**7 + 1],
)  # fmt: skip
def test_other_amounts_are_refused(value):
    with pytest.raises(Unfit):
        check_money(value)


def address(**more):
    return {"order_id": "O-1", "street": "1 Elm Street", "city": "Boulder", "postal_code": "80302"} | more


@pytest.mark.parametrize(
    ("code", "stored"),
    [
        ("02139", "02139"),
        (80302, "80302"),
        (90210.0, "90210"),
        ("90210", "90210"),
        (" 02139 ", "02139"),
        ("02139-1234", "02139-1234"),
    ],
)
def test_postal_codes_keep_their_zeros(code, stored):
    assert TOOLS["update_shipping_address"].check(address(postal_code=code))[-1] == stored


@pytest.mark.parametrize(
    "code",
    [
        "2139",
        2139,
        4224,
        2139.0,
        4224.0,
        90210.5,
        float("nan"),
        1e300,
        0,
        True,
        -1,
        100000,
        "0213a",
        "",
        "\u0660\u0662\u0661\u0663\u0669",
        ["02139"],
    ],
)
def test_other_postal_codes_are_refused(code):
    assert TOOLS["update_shipping_address"].check(address(postal_code=code)).field == "postal_code"


@pytest.mark.parametrize(
    ("spelling", "key"), [("O-1", "O-1"), (" o-1 ", "O-1"), ("cafe\u0301", "CAF\u00c9"), ("\u00e9", "\u00c9")]
)
def test_ids_have_one_spelling(spelling, key):
    assert TOOLS["get_order"].check({"order_id": spelling}) == (key,)


@pytest.mark.parametrize("value", ["", "   ", "x" * 65, 5, None, True, ["O-1"], "a\x00b", "\ud800", "a\nb"])
def test_other_ids_are_refused(value):
    assert TOOLS["get_order"].check({"order_id": value}).field == "order_id"


@pytest.mark.parametrize(("value", "seconds"), [(5, 5), (5.0, 5), ("5", 5), (60, 60)])
def test_integers(value, seconds):
    assert TOOLS["wait"].check({"seconds": value}) == (seconds,)


@pytest.mark.parametrize("value", [0, 61, -5, 5.5, "5.0", "x", True, math.nan, math.inf, None, "\u0665", [5]])
def test_other_integers_are_refused(value):
    assert TOOLS["wait"].check({"seconds": value}).field == "seconds"


def test_optional_null_is_absent_and_choices_ignore_case():
    check = TOOLS["create_ticket"].check
    assert check({"topic": " BILLING ", "priority": "Urgent", "order_id": None}) == (
        None,
        None,
        "billing",
        "urgent",
        None,
    )
    assert check({"topic": "weather", "priority": "urgent"}).field == "topic"


def test_argument_order_does_not_matter():
    tool = TOOLS["reserve_stock"]
    forward = {"order_id": "O-1", "product_id": "P-1", "quantity": 2}
    assert tool.check(forward) == tool.check(dict(reversed(forward.items()))) == ("O-1", "P-1", 2)


def test_unknown_and_missing_fields_are_named():
    assert TOOLS["get_order"].check({"order_id": "O-1", "verbose": True}) == BadArgument(
        "verbose", "no such field; fields: order_id"
    )
    assert TOOLS["get_order"].check({}).field == "order_id"
    assert TOOLS["finish"].check({}) == (None,)


@pytest.mark.parametrize("arguments", [None, [], "x", 5, "{}", True])
def test_arguments_that_are_no_object(arguments):
    assert TOOLS["finish"].check(arguments).field == "arguments"


def test_arguments_are_neither_changed_nor_kept():
    arguments = {"order_id": " o-1 ", "reason": "x", "amount": "3"}
    before = copy.deepcopy(arguments)
    values = TOOLS["issue_refund"].check(arguments)
    assert arguments == before
    arguments["amount"] = "9"
    assert values == ("O-1", "x", 300)


@pytest.mark.parametrize("profile", [NATURAL, COMPACT])
def test_schemas_describe_what_the_checkers_accept(profile):
    """One source: names, order and required fields of the JSON schemas are those of the checkers."""
    tools = toolset(profile)
    shown = schemas(profile)
    assert tuple(entry["function"]["name"] for entry in shown) == TOOL_NAMES == tuple(tools)
    for entry in shown:
        function = entry["function"]
        tool = tools[function["name"]]
        assert list(function["parameters"]["properties"]) == [param.name for param in tool.params]
        assert function["parameters"]["additionalProperties"] is False
        for name in function["parameters"]["required"]:
            assert tool.check({}).field in function["parameters"]["required"], name
        sample = {
            name: entry.get("enum", ["7"])[0] if entry["type"] == "string" else 7
            for name, entry in function["parameters"]["properties"].items()
        }
        if "postal_code" in sample:
            sample["postal_code"] = "02139"
        assert not isinstance(tool.check(sample), BadArgument)


def test_schemas_are_fresh_objects():
    first = schemas(NATURAL)
    first[0]["function"]["parameters"]["properties"].clear()
    assert schemas(NATURAL)[0]["function"]["parameters"]["properties"]


def test_the_reason_stands_before_the_amount():
    assert [param.name for param in TOOLS["issue_refund"].params] == ["order_id", "reason", "amount"]


def test_resources():
    """The table of simulator law: what keys an event and what does not."""

    def resource(name, **arguments):
        return TOOLS[name].resource(TOOLS[name].check(arguments))

    assert resource("search_customers", query="any", offset=5) == ""
    assert resource("list_orders", customer_id="c-1", offset=5) == "C-1"
    assert resource("issue_refund", order_id="O-1", amount=3, reason="x") == "O-1"
    assert resource("schedule_shipment", order_id="O-1", carrier="BlueVan") == "O-1"
    assert resource("update_shipping_address", **address(order_id="o-1 ")) == "O-1"
    assert resource("reserve_stock", order_id="O-1", product_id="p-1", quantity=1) == "O-1/P-1"
    assert resource("reserve_stock", product_id="P-1", quantity=1) == "P-1"
    ticket = {"topic": "billing", "priority": "urgent"}
    assert resource("create_ticket", order_id="O-1", customer_id="C-1", **ticket) == "order:O-1"
    assert resource("create_ticket", customer_id="C-1", **ticket) == "customer:C-1"
    assert resource("create_ticket", **ticket) == ""

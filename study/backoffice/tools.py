"""The thirteen tools, one entry each: the only table over tool names that there is.

An entry says everything about a tool: its kind (which decides the faults that can meet it), its parameters, the
resource that keys its events, the code that executes it, which field of a list reply holds the rows, which fields a
dropout can take, and how a compact reply is worded. A name that comes in a call is looked up here and nowhere else,
so no attribute of any object can be reached by naming it in a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from study.backoffice import reads, render, writes
from study.backoffice.faults import ToolKind
from study.backoffice.profile import WorldProfile
from study.backoffice.reads import Payload, Refusal
from study.backoffice.schemas import Param
from study.backoffice.world import State

Values = tuple[Any, ...]
Execute = Callable[[State, Any], Payload | Refusal]


@dataclass(frozen=True, slots=True)
class Definition:
    """All that a tool is, before a profile fills in its choices.

    Attributes:
        name: exact name; calls must spell it so, in lower case and without spaces.
        kind: `list`, `record`, `write` or `control`.
        description: for the model.
        params: the world's vocabulary -> the parameters in call order.
        resource: canonical argument values -> resource of the event key.
        execute: the true state and argument values -> payload or refusal; None for `wait` and `finish`, which belong
            to the episode.
        rows: the field of a list reply that holds its rows, "" elsewhere.
        droppable: top-level fields that a field dropout can take; never the id asked for, and each shows in either
            language. Empty for writes and controls.
        words: payload of a successful reply -> its words in compact language; None if it reads "ok".
    """

    name: str
    kind: ToolKind
    description: str
    params: Callable[[WorldProfile], tuple[Param, ...]]
    resource: Callable[[Values], str]
    execute: Execute | None
    rows: str = ""
    droppable: tuple[str, ...] = ()
    words: Callable[[Mapping[str, Any]], list[str]] | None = None


def _fixed(*params: Param) -> Callable[[WorldProfile], tuple[Param, ...]]:
    return lambda _: params


def _first(values: Values) -> str:
    return values[0]  # type: ignore[no-any-return]


def _constant(values: Values) -> str:
    return ""


def _segment(key: str) -> str:
    """An id as one segment of a resource: a slash inside it must not read as the separator."""
    return key.replace("%", "%25").replace("/", "%2F") if "/" in key or "%" in key else key


def _reservation(values: Values) -> str:
    order_id, product_id = values[0], _segment(values[1])
    return f"{_segment(order_id)}/{product_id}" if order_id else product_id


def _ticket(values: Values) -> str:
    order_id, customer_id = values[0], values[1]
    return f"order:{order_id}" if order_id else f"customer:{customer_id}" if customer_id else ""


_OFFSET = Param("offset", "integer", "Position of the first row, for paging.", required=False, default=0)
_ORDER = Param("order_id", "id", "The order's id.")
_CUSTOMER = Param("customer_id", "id", "The customer's id.")
_PRODUCT = Param("product_id", "id", "The product's id.")
_QUERY = Param("query", "text", "Words of a name, or an e-mail address.")
_REASON = Param("reason", "text", "Free text: why the refund is due.", required=False)
_SUMMARY = Param("summary", "text", "Free text.", required=False)
_AMOUNT = Param("amount", "money", "Amount to refund.")
_QUANTITY = Param("quantity", "integer", "Units to reserve.", low=1, high=10**4)
_SECONDS = Param("seconds", "integer", "How long to wait.", low=1, high=60)
_FOR_ORDER = Param("order_id", "id", "The order to reserve for.", required=False)
_ABOUT_ORDER = Param("order_id", "id", "The order that the ticket is about.", required=False)
_ABOUT_CUSTOMER = Param("customer_id", "id", "The customer that the ticket is about.", required=False)

_ADDRESS_WORDS: Mapping[str, str] = {
    "street": "Street and house number.",
    "city": "City.",
    "postal_code": "Postal code, five digits.",
}


def _new_address(world: WorldProfile) -> tuple[Param, ...]:
    parts = (
        Param(
            name,
            "postal" if name == "postal_code" else "text",
            _ADDRESS_WORDS.get(name, "The new address."),
        )
        for name in world.address_fields
    )
    return (_ORDER, *parts)


def _shipment(world: WorldProfile) -> tuple[Param, ...]:
    return _ORDER, Param("carrier", "choice", "The carrier.", choices=world.carriers)


def _new_ticket(world: WorldProfile) -> tuple[Param, ...]:
    topic = Param("topic", "choice", "What the ticket is about.", choices=world.topics)
    priority = Param("priority", "choice", "The ticket's priority.", choices=world.levels)
    return _ABOUT_ORDER, _ABOUT_CUSTOMER, topic, priority, _SUMMARY


_DEFINITIONS = (
    Definition(
        "search_customers",
        "list",
        "Find customers by name or e-mail.",
        _fixed(_QUERY, _OFFSET),
        _constant,  # the query is free text, so every search has the same resource
        reads.search_customers,
        rows="customers",
        droppable=("customers",),
        words=render.search_words,
    ),
    Definition(
        "get_customer",
        "record",
        "Show a customer's record.",
        _fixed(_CUSTOMER),
        _first,
        reads.get_customer,
        droppable=("name", "service_level", "address"),
        words=render.customer_words,
    ),
    Definition(
        "list_orders",
        "list",
        "List a customer's orders, page by page.",
        _fixed(_CUSTOMER, _OFFSET),
        _first,
        reads.list_orders,
        rows="orders",
        droppable=("orders",),
        words=render.orders_words,
    ),
    Definition(
        "get_order",
        "record",
        "Show an order with its lines and address.",
        _fixed(_ORDER),
        _first,
        reads.get_order,
        droppable=("customer_id", "status", "items", "address"),
        words=render.order_words,
    ),
    Definition(
        "check_inventory",
        "record",
        "Show the stock of a product.",
        _fixed(_PRODUCT),
        _first,
        reads.check_inventory,
        droppable=("available",),
        words=render.inventory_words,
    ),
    Definition(
        "update_shipping_address",
        "write",
        "Change the delivery address of an order that has not been shipped.",
        _new_address,
        _first,
        writes.update_shipping_address,
    ),
    Definition(
        "cancel_order",
        "write",
        "Cancel a pending or paid order.",
        _fixed(_ORDER),
        _first,
        writes.cancel_order,
    ),
    Definition(
        "issue_refund",
        "write",
        "Refund an amount paid for an order.",
        _fixed(_ORDER, _REASON, _AMOUNT),
        _first,
        writes.issue_refund,
    ),
    Definition(
        "reserve_stock",
        "write",
        "Reserve units of a product.",
        _fixed(_FOR_ORDER, _PRODUCT, _QUANTITY),
        _reservation,
        writes.reserve_stock,
    ),
    Definition(
        "schedule_shipment",
        "write",
        "Ship a paid order whose lines are all reserved.",
        _shipment,
        _first,
        writes.schedule_shipment,
    ),
    Definition(
        "create_ticket", "write", "Open a support ticket.", _new_ticket, _ticket, writes.create_ticket
    ),
    Definition(
        "wait",
        "control",
        "Let some seconds pass, for instance until a rate limit is over.",
        _fixed(_SECONDS),
        _constant,
        None,
    ),
    Definition("finish", "control", "End the work. Costs nothing.", _fixed(_SUMMARY), _constant, None),
)

DEFINITIONS: Mapping[str, Definition] = MappingProxyType({one.name: one for one in _DEFINITIONS})
"""The tools by name, in the order in which a model sees them."""

TOOL_NAMES = tuple(DEFINITIONS)

"""The thirteen tools of a profile: names, parameters, kinds, and the resource that keys their events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from study.backoffice.faults import ToolKind
from study.backoffice.profile import Profile
from study.backoffice.schemas import BadArgument, Param, compile_checker, json_schema

TOOL_NAMES = (
    "search_customers",
    "get_customer",
    "list_orders",
    "get_order",
    "check_inventory",
    "update_shipping_address",
    "cancel_order",
    "issue_refund",
    "reserve_stock",
    "schedule_shipment",
    "create_ticket",
    "wait",
    "finish",
)
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: exact name; calls must spell it so, in lower case and without spaces.
        kind: `list`, `record`, `write` or `control`; decides which faults apply.
        description: for the model.
        params: in call order.
        resource: canonical argument values -> resource of the event key.
        check: arguments -> values, or the reason for refusal.
    """

    name: str
    kind: ToolKind
    description: str
    params: tuple[Param, ...]
    resource: Callable[[Values], str]
    check: Callable[[object], Values | BadArgument] = field(repr=False)

    def schema(self) -> dict[str, Any]:
        """A fresh JSON schema of this tool for a chat template."""
        return json_schema(self.name, self.description, self.params)


def _first(values: Values) -> str:
    return values[0]  # type: ignore[no-any-return]


def _constant(values: Values) -> str:
    return ""


def _reservation(values: Values) -> str:
    order_id, product_id = values[0], values[1]
    return f"{order_id}/{product_id}" if order_id else product_id


def _ticket(values: Values) -> str:
    order_id, customer_id = values[0], values[1]
    return f"order:{order_id}" if order_id else f"customer:{customer_id}" if customer_id else ""


_OFFSET = Param("offset", "integer", "Position of the first row, for paging.", required=False, default=0)
_ORDER = Param("order_id", "id", "The order's id.")
_CUSTOMER = Param("customer_id", "id", "The customer's id.")
_PRODUCT = Param("product_id", "id", "The product's id.")


def _address_params(fields: tuple[str, ...]) -> tuple[Param, ...]:
    words = {
        "street": "Street and house number.",
        "city": "City.",
        "postal_code": "Postal code, five digits.",
    }
    return tuple(
        Param(name, "postal" if name == "postal_code" else "text", words.get(name, "The new address."))
        for name in fields
    )


@lru_cache(maxsize=16)
def toolset(profile: Profile) -> Mapping[str, Tool]:
    """The thirteen tools of a profile by name, in their fixed order.

    Carriers, topics, priorities and the parts of an address come from the profile's world.
    """
    world = profile.world
    carrier = Param("carrier", "choice", "The carrier.", choices=world.carriers)
    topic = Param("topic", "choice", "What the ticket is about.", choices=world.topics)
    priority = Param("priority", "choice", "The ticket's priority.", choices=world.levels)
    reason = Param("reason", "text", "Free text: why the refund is due.", required=False)
    summary = Param("summary", "text", "Free text.", required=False)
    amount = Param("amount", "money", "Amount to refund.")
    quantity = Param("quantity", "integer", "Units to reserve.", low=1, high=10**4)
    seconds = Param("seconds", "integer", "How long to wait.", low=1, high=60)
    for_order = Param("order_id", "id", "The order to reserve for.", required=False)
    about_order = Param("order_id", "id", "The order that the ticket is about.", required=False)
    about_customer = Param("customer_id", "id", "The customer that the ticket is about.", required=False)
    query = Param("query", "text", "Words of a name, or an e-mail address.")
    rows: tuple[tuple[str, ToolKind, str, tuple[Param, ...], Callable[[Values], str]], ...] = (
        ("search_customers", "list", "Find customers by name or e-mail.", (query, _OFFSET), _constant),
        ("get_customer", "record", "Show a customer's record.", (_CUSTOMER,), _first),
        ("list_orders", "list", "List a customer's orders, page by page.", (_CUSTOMER, _OFFSET), _first),
        ("get_order", "record", "Show an order with its lines and address.", (_ORDER,), _first),
        ("check_inventory", "record", "Show the stock of a product.", (_PRODUCT,), _first),
        (
            "update_shipping_address",
            "write",
            "Change the delivery address of an order that has not been shipped.",
            (_ORDER, *_address_params(world.address_fields)),
            _first,
        ),
        ("cancel_order", "write", "Cancel a pending or paid order.", (_ORDER,), _first),
        ("issue_refund", "write", "Refund an amount paid for an order.", (_ORDER, reason, amount), _first),
        (
            "reserve_stock",
            "write",
            "Reserve units of a product.",
            (for_order, _PRODUCT, quantity),
            _reservation,
        ),
        (
            "schedule_shipment",
            "write",
            "Ship a paid order whose lines are all reserved.",
            (_ORDER, carrier),
            _first,
        ),
        (
            "create_ticket",
            "write",
            "Open a support ticket.",
            (about_order, about_customer, topic, priority, summary),
            _ticket,
        ),
        (
            "wait",
            "control",
            "Let some seconds pass, for instance until a rate limit is over.",
            (seconds,),
            _constant,
        ),
        ("finish", "control", "End the work. Costs nothing.", (summary,), _constant),
    )
    tools = {
        name: Tool(name, kind, text, params, resource, compile_checker(params))
        for name, kind, text, params, resource in rows
    }
    return MappingProxyType(tools)


def schemas(profile: Profile) -> list[dict[str, Any]]:
    """Fresh JSON schemas of the thirteen tools, in order, for a chat template."""
    return [tool.schema() for tool in toolset(profile).values()]

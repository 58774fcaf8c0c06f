"""The table from tool name to the function that executes it; the only dispatch there is.

A name is looked up here and nowhere else: no attribute of any object can be reached by naming it in a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from study.backoffice import reads, writes
from study.backoffice.reads import Payload, Refusal
from study.backoffice.world import State

Execute = Callable[[State, Any], Payload | Refusal]

EXECUTE: Mapping[str, Execute] = MappingProxyType(
    {
        "search_customers": reads.search_customers,
        "get_customer": reads.get_customer,
        "list_orders": reads.list_orders,
        "get_order": reads.get_order,
        "check_inventory": reads.check_inventory,
        "update_shipping_address": writes.update_shipping_address,
        "cancel_order": writes.cancel_order,
        "issue_refund": writes.issue_refund,
        "reserve_stock": writes.reserve_stock,
        "schedule_shipment": writes.schedule_shipment,
        "create_ticket": writes.create_ticket,
    }
)
"""Reads and writes; `wait` and `finish` belong to the episode."""

LIST_KEYS: Mapping[str, str] = MappingProxyType({"search_customers": "customers", "list_orders": "orders"})
"""The field of a list response that holds its rows."""

DROPPABLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "search_customers": ("customers",),
        "get_customer": ("name", "service_level", "address"),
        "list_orders": ("orders",),
        "get_order": ("customer_id", "status", "items", "address"),
        "check_inventory": ("available",),
    }
)
"""Top-level fields that a field dropout can take, never the id asked for; each shows in either language."""

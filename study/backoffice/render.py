"""Payloads to the text that a policy reads, in the two languages.

`json`: the payload as one JSON object without spaces. `compact`: a few words, each a token of a closed
vocabulary; a field that a fault dropped is simply missing from the words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, assert_never

from study.backoffice.profile import Results

Payload = Mapping[str, Any]
Words = Callable[[Payload], list[str]]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

COMPACT_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "temporary_error": "fail",
        "rate_limited": "limit",
        "service_unavailable": "down",
        "timeout": "time",
        "invalid_arguments": "args",
        "unknown_tool": "tool",
        "malformed_call": "call",
        "not_found": "none",
        "wrong_status": "status",
        "already_cancelled": "already",
        "exceeds_remainder": "much",
        "exceeds_need": "need",
        "no_stock": "stock",
        "not_in_order": "line",
        "not_reserved": "unheld",
        "wrong_customer": "customer",
        "budget_exhausted": "budget",
        "episode_ended": "over",
    }
)
"""Error code -> the word after `err`."""


def _paging(payload: Payload) -> list[str]:
    following = payload.get("next_offset")
    return [] if following is None else ["next", str(following)]


def search_words(payload: Payload) -> list[str]:
    """Ids of the customers found."""
    rows = payload.get("customers")
    if rows is None:
        return _paging(payload)
    return [row["customer_id"] for row in rows] + _paging(payload) if rows else ["none"]


def customer_words(payload: Payload) -> list[str]:
    """Name, service level, address, and open tickets."""
    words = [payload[key] for key in ("name", "service_level", "address") if key in payload]
    for ticket in payload.get("open_tickets", ()):
        words += ["open", ticket["topic"]]
    return words


def orders_words(payload: Payload) -> list[str]:
    """Ids and statuses; a paid order whose lines are all reserved reads `held`."""
    rows = payload.get("orders")
    if rows is None:
        return _paging(payload)
    words = []
    for row in rows:
        words += [row["order_id"], "held" if row["reserved"] else row["status"]]
    return words + _paging(payload) if rows else ["none"]


def order_words(payload: Payload) -> list[str]:
    """Customer, status, lines, address, money returned, and open tickets."""
    words = [payload[key] for key in ("customer_id", "status") if key in payload]
    for line in payload.get("items", ()):
        words += [line["product_id"], str(line["amount"]), str(line["quantity"])]
        if line["reserved"]:
            words += ["held", str(line["reserved"])]
    if "address" in payload:
        words.append(payload["address"])
    if payload.get("refunded"):
        words += ["back", str(payload["refunded"])]
    for ticket in payload.get("open_tickets", ()):
        words += ["open", ticket["topic"]]
    return words


def inventory_words(payload: Payload) -> list[str]:
    """The product and how many units are available."""
    return [payload["product_id"], *([str(payload["available"])] if "available" in payload else [])]


def _compact(words_of: Words | None, payload: Payload) -> str:
    error = payload.get("error")
    if error is not None:
        words = ["err", COMPACT_ERRORS[error["code"]]]
        if "retry_after" in error:
            words.append(str(error["retry_after"]))
        elif error["code"] == "invalid_arguments" and error["field"].isascii():
            words.append(error["field"])
        return " ".join(words)
    words = [] if words_of is None else words_of(payload)
    return " ".join(words) or "ok"  # a write, or a list whose rows a fault dropped


def render(results: Results, words_of: Words | None, payload: Payload) -> str:
    """The text of one reply.

    Args:
        results: the language's form of results.
        words_of: the compact wording of the tool that answered, from its definition; None if a success reads "ok".
        payload: the reply's payload.
    """
    if results == "json":
        return _encode(payload)
    if results == "compact":
        return _compact(words_of, payload)
    assert_never(results)

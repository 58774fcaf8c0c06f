"""The five reads: a state and checked argument values in, a fresh payload out, or a refusal.

Reads never change the state. A payload shares no mutable object with the world, so a caller may do with it
what it likes. Money is shown as a number with at most two decimals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from study.backoffice.world import Address, Line, State

Payload = dict[str, Any]


class Refusal(NamedTuple):
    """A call that the business rules refuse; nothing was changed.

    Attributes:
        code: stable code.
        field: the argument at fault.
        message: one sentence.
    """

    code: str
    field: str
    message: str


def money(cents: int) -> int | float:
    """Cents as the number that replies show: 3300 -> 33, 3350 -> 33.5."""
    return cents // 100 if cents % 100 == 0 else cents / 100


def unknown(kind: str) -> Refusal:
    """The refusal of an id that resolves to nothing."""
    return Refusal("not_found", f"{kind}_id", f"There is no {kind} with this id.")


def page(key: str, rows: list[Any], offset: int, size: int) -> Payload:
    """One page of a list: rows offset..offset+size-1; an offset at or past the end gives an empty page."""
    shown = rows[offset : offset + size]
    after = offset + len(shown)
    more = after < len(rows)
    return {
        key: shown,
        "total": len(rows),
        "offset": offset,
        "has_more": more,
        "next_offset": after if more else None,
    }


def cut_page(key: str, payload: Payload, parameter: int) -> Payload:
    """A page cut to m = 1 + parameter mod (L-1) of its L rows; the same page if L <= 1.

    The total stays honest and next_offset loses no row.
    """
    rows = payload[key]
    if len(rows) <= 1:
        return payload
    kept = 1 + parameter % (len(rows) - 1)
    return {**payload, key: rows[:kept], "has_more": True, "next_offset": payload["offset"] + kept}


def search_customers(state: State, values: tuple[str, int]) -> Payload | Refusal:
    """Customers for whom every query word begins a word of the name or the e-mail, case ignored, by id."""
    query, offset = values
    wanted = query.casefold().split()
    customers = state.world.customers
    rows = [
        {"customer_id": key, "name": customers[key].name, "email": customers[key].email}
        for key, words in state.world.words.items()
        if _matches(wanted, words)
    ]
    return page("customers", rows, offset, state.world.page_size)


def _matches(wanted: list[str], words: tuple[str, ...]) -> bool:
    for start in wanted:
        for word in words:
            if word.startswith(start):
                break
        else:
            return False
    return True


def get_customer(state: State, values: tuple[str]) -> Payload | Refusal:
    """A customer's record with the tickets opened in this episode."""
    row = state.world.customers.get(values[0])
    if row is None:
        return unknown("customer")
    return {
        "customer_id": row.customer_id,
        "name": row.name,
        "email": row.email,
        "service_level": row.level,
        "address": show_address(row.address),
        "open_tickets": show_tickets(state, 1, row.customer_id),
    }


def list_orders(state: State, values: tuple[str, int]) -> Payload | Refusal:
    """A customer's orders by id, a short row each."""
    customer_id, offset = values
    world = state.world
    ids = world.orders_of.get(customer_id)
    if ids is None:
        return unknown("customer")
    result = page("orders", list(ids), offset, world.page_size)
    result["orders"] = [_summary(state, order_id) for order_id in result["orders"]]
    return {"customer_id": customer_id, **result}


def _summary(state: State, order_id: str) -> Payload:
    row = state.orders.get(order_id) or state.world.orders[order_id]
    products = state.world.products
    return {
        "order_id": order_id,
        "status": row.status,
        "reserved": row.held(),
        "items": [products[line.product_id].name for line in row.lines],
    }


def get_order(state: State, values: tuple[str]) -> Payload | Refusal:
    """An order in full."""
    row = state.order(values[0])
    if row is None:
        return unknown("order")
    return {
        "order_id": row.order_id,
        "customer_id": row.customer_id,
        "status": row.status,
        "items": [_line(state, line) for line in row.lines],
        "address": show_address(row.address),
        "paid": money(row.paid),
        "refunded": money(row.refunded),
        "open_tickets": show_tickets(state, 2, row.order_id),
    }


def _line(state: State, line: Line) -> Payload:
    return {
        "product_id": line.product_id,
        "name": state.world.products[line.product_id].name,
        "quantity": line.quantity,
        "amount": money(line.amount),
        "reserved": line.reserved,
    }


def check_inventory(state: State, values: tuple[str]) -> Payload | Refusal:
    """The stock of a product."""
    row = state.product(values[0])
    if row is None:
        return unknown("product")
    return {
        "product_id": row.product_id,
        "name": row.name,
        "price": money(row.price),
        "stock": row.stock,
        "reserved": row.reserved,
        "available": row.stock - row.reserved,
    }


def show_address(address: Address) -> Payload | str:
    """An address by parts, or its one token."""
    if len(address) == 1:
        return address[0]
    return dict(zip(("street", "city", "postal_code"), address, strict=True))


def show_tickets(state: State, column: int, value: str) -> list[Payload]:
    """Tickets created in this episode whose customer (column 1) or order (column 2) is `value`."""
    return [
        {"ticket_id": f"T-{number}", "order_id": row[2] or None, "topic": row[3], "priority": row[4]}
        for number, row in enumerate(state.added, 1)
        if row[0] == "ticket" and row[column] == value
    ]

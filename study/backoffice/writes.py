"""The six writes: each checks every rule first and then commits once, so a refused write changes nothing.

Rules: a pending order is unpaid; only pending and paid orders can be cancelled or sent elsewhere; a refund needs
money that was paid and not yet returned; a reservation for an order never exceeds what a line still needs; an order
ships once, paid and reserved in full. Cancelling leaves reservations as they are (the warehouse frees them later).
"""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

from study.backoffice.reads import Payload, Refusal, money, show_address, unknown
from study.backoffice.world import CANCELLED, PAID, PENDING, SHIPPED, Address, State


def normal_text(text: str) -> str:
    """The form in which graded text is compared: NFC, case folded, single spaces, no full stops or commas."""
    plain = text if text.isascii() else normalize("NFC", text)
    return " ".join(plain.replace(".", " ").replace(",", " ").casefold().split())


def normal_address(address: Address) -> Address:
    """An address with every part in its compared form."""
    return tuple(normal_text(part) for part in address)


def update_shipping_address(state: State, values: tuple[str, ...]) -> Payload | Refusal:
    """Change an order's delivery address; an equal address succeeds and changes nothing."""
    order_id, *parts = values
    row = state.order(order_id)
    if row is None:
        return unknown("order")
    if row.status not in (PENDING, PAID):
        return Refusal("wrong_status", "order_id", f"The order is {row.status}; its address is fixed.")
    address = tuple(parts)
    if normal_address(address) != normal_address(row.address):
        state.commit(order=row._replace(address=address))
    return {"order_id": order_id, "address": show_address(address)}


def cancel_order(state: State, values: tuple[str]) -> Payload | Refusal:
    """Cancel an order that is pending or paid."""
    row = state.order(values[0])
    if row is None:
        return unknown("order")
    if row.status == CANCELLED:
        return Refusal("already_cancelled", "order_id", "The order is cancelled already.")
    if row.status not in (PENDING, PAID):
        return Refusal("wrong_status", "order_id", f"The order is {row.status} and cannot be cancelled.")
    state.commit(order=row._replace(status=CANCELLED))
    return {"order_id": row.order_id, "status": CANCELLED}


def issue_refund(state: State, values: tuple[str, str | None, int]) -> Payload | Refusal:
    """Return money; `reason` is free text and neither kept nor graded."""
    order_id, _, cents = values
    row = state.order(order_id)
    if row is None:
        return unknown("order")
    rest = row.paid - row.refunded
    if cents > rest:
        return Refusal("exceeds_remainder", "amount", f"At most {money(rest)} can still be refunded.")
    state.commit(order=row._replace(refunded=row.refunded + cents), added=("refund", order_id, str(cents)))
    return {"order_id": order_id, "refunded": money(row.refunded + cents)}


def reserve_stock(state: State, values: tuple[str | None, str, int]) -> Payload | Refusal:
    """Reserve units of a product, for a line of an order or without an order."""
    order_id, product_id, quantity = values
    order = None
    if order_id is not None:
        order = state.order(order_id)
        if order is None:
            return unknown("order")
    product = state.product(product_id)
    if product is None:
        return unknown("product")
    if order is not None:
        if order.status != PAID:
            return Refusal(
                "wrong_status", "order_id", f"The order is {order.status}; stock is reserved when paid."
            )
        lines = list(order.lines)
        place = next((n for n, line in enumerate(lines) if line.product_id == product_id), None)
        if place is None:
            return Refusal("not_in_order", "product_id", "The order has no line with this product.")
        line = lines[place]
        if quantity > line.quantity - line.reserved:
            missing = line.quantity - line.reserved
            return Refusal("exceeds_need", "quantity", f"The line still needs {missing} units.")
        lines[place] = line._replace(reserved=line.reserved + quantity)
        order = order._replace(lines=tuple(lines))
    if quantity > product.stock - product.reserved:
        available = product.stock - product.reserved
        return Refusal("no_stock", "quantity", f"Only {available} units are available.")
    state.commit(
        order=order,
        product=product._replace(reserved=product.reserved + quantity),
        added=("reservation", order_id or "", product_id, str(quantity)),
    )
    return {"order_id": order_id, "product_id": product_id, "reserved": quantity}


def schedule_shipment(state: State, values: tuple[str, str]) -> Payload | Refusal:
    """Ship an order that is paid and reserved in full."""
    order_id, carrier = values
    row = state.order(order_id)
    if row is None:
        return unknown("order")
    if row.status != PAID:
        return Refusal("wrong_status", "order_id", f"The order is {row.status}; only a paid order ships.")
    if not row.held():
        return Refusal("not_reserved", "order_id", "Some lines of the order are not reserved.")
    state.commit(order=row._replace(status=SHIPPED), added=("shipment", order_id, carrier))
    return {"order_id": order_id, "status": SHIPPED, "carrier": carrier}


def create_ticket(state: State, values: tuple[str | None, str | None, str, str, Any]) -> Payload | Refusal:
    """Open a ticket; with an order its customer is known. `summary` is free text and neither kept nor graded."""
    order_id, customer_id, topic, priority, _ = values
    if order_id is not None:
        order = state.order(order_id)
        if order is None:
            return unknown("order")
        if customer_id is not None and customer_id != order.customer_id:
            return Refusal("wrong_customer", "customer_id", "The order belongs to another customer.")
        customer_id = order.customer_id
    elif customer_id is not None and customer_id not in state.world.customers:
        return unknown("customer")
    state.commit(added=("ticket", customer_id or "", order_id or "", topic, priority))
    return {"ticket_id": f"T-{len(state.added)}", "topic": topic, "priority": priority}

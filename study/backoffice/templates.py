"""The eight templates: what each needs in the world, its planned calls, and the words that identify its target.

Reads per template: two, but one for the three that a single order explains (cancel pending, cancel and refund,
partial refund). With the paper's weights that is 1.615 reads and 1.385 writes a sub-request, 3.0 calls, which is
what its reference agent needs (6.6 calls for 2.2 sub-requests).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from study.backoffice.draft import Draft
from study.backoffice.reads import money
from study.backoffice.world import DELIVERED, PAID, PENDING, Address, Customer, Order, World

Step = tuple[str, dict[str, Any], tuple[int, ...], str]
"""Tool, arguments, the earlier steps (0-based within the sub-request) that give them, id sought in a list or ""."""


@dataclass(frozen=True, slots=True)
class Target:
    """What one sub-request is about, and what it says.

    Attributes:
        form: the template, or which form of address change.
        customer: the sub-request's own customer.
        order_id: its order, "" if it has none.
        product_id: the product that it names or reserves, "" if none.
        address: the new address of an address change.
        carrier: for shipments.
        topic: for tickets.
    """

    form: str
    customer: Customer
    order_id: str = ""
    product_id: str = ""
    address: Address = ()
    carrier: str = ""
    topic: str = ""


def _guard(draft: Draft, customer: Customer, key: str) -> None:
    draft.guarded.setdefault(customer.customer_id, set()).add(key)


def _address_change(draft: Draft, customer: Customer) -> Target:
    stream = draft.stream
    form = f"address_{stream.choice(draft.profile.address_forms)}"
    status = stream.choice((PENDING, PAID))
    away = draft.address_other_than(customer.address)
    if form == "address_home":
        order = draft.place(customer, status, draft.lines(1, draft.profile.lines), away)
        return Target(form, customer, order.order_id, address=customer.address)
    order = draft.place(customer, status, draft.lines(1, draft.profile.lines), customer.address)
    product = stream.choice(order.lines).product_id
    _guard(draft, customer, product)
    return Target(form, customer, order.order_id, product, address=away)


def _cancel(status: str, form: str) -> Callable[[Draft, Customer], Target]:
    def place(draft: Draft, customer: Customer) -> Target:
        order = draft.place(customer, status, draft.lines(1, draft.profile.lines), customer.address)
        return Target(form, customer, order.order_id)

    return place


def _partial_refund(draft: Draft, customer: Customer) -> Target:
    order = draft.place(customer, DELIVERED, draft.lines(*draft.profile.refund_lines), customer.address)
    return Target("partial_refund", customer, order.order_id, draft.stream.choice(order.lines).product_id)


def _reserve_ship(draft: Draft, customer: Customer) -> Target:
    stream = draft.stream
    lines = draft.lines(1, draft.profile.lines, reserved=True)
    line = lines[0]
    missing = stream.between(1, line.quantity) if draft.profile.partly_reserved else line.quantity
    lines[0] = line._replace(reserved=line.quantity - missing)
    order = draft.place(customer, PAID, lines, customer.address)
    draft.needed[line.product_id] = draft.needed.get(line.product_id, 0) + missing
    return Target(
        "reserve_ship",
        customer,
        order.order_id,
        line.product_id,
        carrier=stream.choice(draft.profile.carriers),
    )


def _ship_reserved(draft: Draft, customer: Customer) -> Target:
    order = draft.place(customer, PAID, draft.lines(1, draft.profile.lines, reserved=True), customer.address)
    _guard(draft, customer, "")
    return Target(
        "ship_reserved", customer, order.order_id, carrier=draft.stream.choice(draft.profile.carriers)
    )


def _ticket_order(draft: Draft, customer: Customer) -> Target:
    status = draft.stream.choice((PENDING, PAID, DELIVERED))
    order = draft.place(customer, status, draft.lines(1, draft.profile.lines), customer.address)
    return Target("ticket_order", customer, order.order_id, topic=draft.stream.choice(draft.profile.topics))


def _ticket_customer(draft: Draft, customer: Customer) -> Target:
    return Target("ticket_customer", customer, topic=draft.stream.choice(draft.profile.topics))


PLACE: Mapping[str, Callable[[Draft, Customer], Target]] = MappingProxyType(
    {
        "address_change": _address_change,
        "cancel_pending": _cancel(PENDING, "cancel_pending"),
        "cancel_refund": _cancel(PAID, "cancel_refund"),
        "partial_refund": _partial_refund,
        "reserve_ship": _reserve_ship,
        "ship_reserved": _ship_reserved,
        "ticket_order": _ticket_order,
        "ticket_customer": _ticket_customer,
    }
)
"""Template -> function that puts its target into a draft."""


def steps(target: Target, world: World, address_fields: tuple[str, ...], free_text: bool) -> list[Step]:
    """The planned calls of one sub-request on the finished world."""
    customer_id = target.customer.customer_id
    by_order: Step = ("get_order", {"order_id": target.order_id}, (), "")
    by_name: Step = ("search_customers", {"query": target.customer.name}, (), customer_id)
    of_customer: Step = ("get_customer", {"customer_id": customer_id}, (0,), "")
    listing: Step = ("list_orders", {"customer_id": customer_id}, (0,), target.order_id)
    only_order = {"order_id": target.order_id}
    if target.form in ("address_home", "address_given"):
        arguments = only_order | dict(zip(address_fields, target.address, strict=True))
        reads = [by_order, of_customer] if target.form == "address_home" else [by_name, listing]
        return [*reads, ("update_shipping_address", arguments, (0, 1), "")]
    if target.form == "cancel_pending":
        return [by_order, ("cancel_order", only_order, (), "")]
    if target.form in ("cancel_refund", "partial_refund"):
        order = world.orders[target.order_id]
        refund: Step = ("issue_refund", only_order | _refund(target, order, world), (0,), "")
        return (
            [by_order, refund]
            if target.form == "partial_refund"
            else [by_order, ("cancel_order", only_order, (), ""), refund]
        )
    if target.form in ("reserve_ship", "ship_reserved"):
        ship = only_order | {"carrier": target.carrier}
        if target.form == "ship_reserved":
            return [by_name, listing, ("schedule_shipment", ship, (0, 1), "")]
        line = next(row for row in world.orders[target.order_id].lines if row.product_id == target.product_id)
        reserve = only_order | {"product_id": line.product_id, "quantity": line.quantity - line.reserved}
        stock: Step = ("check_inventory", {"product_id": line.product_id}, (0,), "")
        return [by_order, stock, ("reserve_stock", reserve, (0,), ""), ("schedule_shipment", ship, (), "")]
    ticket = {"topic": target.topic, "priority": target.customer.level}
    if free_text:
        ticket["summary"] = f"Question about {target.topic}"
    if target.form == "ticket_order":
        return [by_order, of_customer, ("create_ticket", only_order | ticket, (0, 1), "")]
    return [by_name, of_customer, ("create_ticket", {"customer_id": customer_id} | ticket, (0, 1), "")]


def _refund(target: Target, order: Order, world: World) -> dict[str, Any]:
    """`reason` stands before the amount: a small policy then copies the product first and finds its amount."""
    lines = [line for line in order.lines if target.product_id in ("", line.product_id)]
    return {
        "reason": world.products[lines[0].product_id].name,
        "amount": money(sum(line.amount for line in lines)),
    }


def slots(target: Target, world: World) -> dict[str, str]:
    """The words that a phrasing may use."""
    words = {
        "customer": target.customer.name,
        "order": target.order_id,
        "carrier": target.carrier,
        "topic": target.topic,
    }
    if target.product_id:
        words["product"] = world.products[target.product_id].name
    if target.address:
        street, *rest = target.address
        words["address"] = ", ".join([street, " ".join(rest)]) if rest else street
    return words

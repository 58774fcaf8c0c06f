"""A world in the making: rows are drawn, targets of sub-requests placed, confusable rows kept away.

Every sub-request has a customer of its own and, where it needs one, an order of its own, so sub-requests never
touch the same row except products, whose stock covers all of them. That makes their order irrelevant.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from study.backoffice.profile import POOL_CLASSES, IdPool, WorldProfile, residue_of
from study.backoffice.stream import Stream
from study.backoffice.world import (
    CANCELLED,
    DELIVERED,
    PAID,
    PENDING,
    SHIPPED,
    Address,
    Customer,
    Line,
    Order,
    Product,
    World,
)


@dataclass(slots=True)
class Draft:
    """Rows under construction.

    Attributes:
        profile: size and vocabulary.
        stream: the task's only source of chance.
        customers: final rows; the first ones are the targets of the sub-requests.
        products: rows whose stock is settled at the end.
        order_ids: ids not yet used.
        orders: orders so far.
        needed: units per product that the plan will reserve.
        guarded: customer -> products that no filler order of that customer may hold; "" forbids a held order.
    """

    profile: WorldProfile
    stream: Stream
    customers: list[Customer]
    products: list[Product]
    order_ids: list[str]
    orders: list[Order] = field(default_factory=list)
    needed: dict[str, int] = field(default_factory=dict)
    guarded: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def start(cls, profile: WorldProfile, stream: Stream, pool: str) -> Draft:
        """Draw customers, products and order ids.

        Args:
            profile: size and vocabulary.
            stream: the task's stream.
            pool: one of `POOL_CLASSES`, or `RESERVE`; partitioned ids and names come from this pool's class.
        """
        residue = residue_of(pool)
        ids = _ids(profile.customer_ids, stream, residue, profile.customers)
        names = _names(profile, stream, residue)
        homes = _addresses(profile, stream, profile.customers)
        customers = [
            Customer(
                key,
                name,
                name.lower().replace(" ", ".") + "@example.net",
                stream.choice(profile.levels),
                home,
            )
            for key, name, home in zip(ids, names, homes, strict=True)
        ]
        product_ids = _ids(profile.product_ids, stream, residue, profile.products)
        titles = (
            stream.sample(profile.product_names, profile.products) if profile.product_names else product_ids
        )
        products = [
            Product(key, title, stream.choice(profile.line_amounts), 0, 0)
            for key, title in zip(product_ids, titles, strict=True)
        ]
        return cls(
            profile, stream, customers, products, _ids(profile.order_ids, stream, residue, profile.orders)
        )

    def address_other_than(self, *taken: Address) -> Address:
        """A random address that differs from the given ones."""
        while True:
            address = _addresses(self.profile, self.stream, 1)[0]
            if address not in taken:
                return address

    def lines(
        self, fewest: int, most: int, *, reserved: bool = False, without: frozenset[str] = frozenset()
    ) -> list[Line]:
        """Random order lines with distinct products, reserved in full or not at all."""
        stream = self.stream
        products = [row for row in self.products if row.product_id not in without]
        lines = []
        for product in stream.sample(products, min(stream.between(fewest, most), len(products))):
            quantity = stream.choice(self.profile.quantities)
            amount = (
                product.price * quantity
                if self.profile.priced_lines
                else stream.choice(self.profile.line_amounts)
            )
            lines.append(Line(product.product_id, quantity, amount, quantity if reserved else 0))
        return lines

    def place(self, customer: Customer, status: str, lines: list[Line], address: Address) -> Order:
        """Add an order; a pending one is unpaid, every other one paid in full."""
        paid = 0 if status == PENDING else sum(line.amount for line in lines)
        order = Order(self.order_ids.pop(), customer.customer_id, status, tuple(lines), address, paid, 0)
        self.orders.append(order)
        return order

    def fill(self) -> None:
        """Add orders until all ids are used, none of which could be mistaken for a target."""
        stream = self.stream
        while self.order_ids:
            customer = stream.choice(self.customers)
            guard = self.guarded.get(customer.customer_id, set())
            if guard and self._count(customer) >= self.profile.page_size:
                continue  # the row that a plan looks for in a list is on the first page
            status = stream.choice((PENDING, PAID, PAID, SHIPPED, DELIVERED, DELIVERED, CANCELLED))
            held = status == PAID and "" not in guard and stream.below(2) == 0
            lines = self.lines(1, self.profile.lines, reserved=held, without=frozenset(guard))
            address = customer.address if stream.below(2) else self.address_other_than(customer.address)
            self.place(customer, status, lines, address)

    def _count(self, customer: Customer) -> int:
        return sum(order.customer_id == customer.customer_id for order in self.orders)

    def world(self) -> World:
        """Settle the stock and freeze the rows.

        Stock covers what orders hold, what the plan will reserve, and some units more.
        """
        held: dict[str, int] = {}
        for order in self.orders:
            for line in order.lines:
                held[line.product_id] = held.get(line.product_id, 0) + line.reserved
        low, high = self.profile.stock
        products = []
        for row in self.products:
            reserved = held.get(row.product_id, 0)
            spare = self.stream.between(low, high)
            stock = reserved + self.needed.get(row.product_id, 0) + spare
            products.append(row._replace(stock=stock, reserved=reserved))
        return World.of(self.customers, products, self.orders, self.profile.page_size)


def _ids(pool: IdPool, stream: Stream, residue: int, size: int) -> list[str]:
    if not pool.partitioned:
        return [f"{pool.prefix}{n}" for n in stream.distinct(pool.low, pool.high, size)]
    classes = len(POOL_CLASSES)
    first = pool.low + (residue - pool.low) % classes
    steps = stream.distinct(0, (pool.high - first) // classes, size)
    return [f"{pool.prefix}{first + classes * n}" for n in steps]


def _names(profile: WorldProfile, stream: Stream, residue: int) -> list[str]:
    if not profile.last_names:
        return stream.sample(profile.first_names, profile.customers)
    classes = len(POOL_CLASSES)
    names: dict[str, None] = {}
    while len(names) < profile.customers:
        first = stream.below(len(profile.first_names))
        start = (residue - first) % classes
        last = start + classes * stream.below((len(profile.last_names) - start + classes - 1) // classes)
        names[f"{profile.first_names[first]} {profile.last_names[last]}"] = None
    return list(names)


def _addresses(profile: WorldProfile, stream: Stream, size: int) -> list[Address]:
    if len(profile.address_fields) == 1:
        return [(token,) for token in stream.sample(profile.streets, size)]
    return [
        (f"{stream.between(2, 199)} {stream.choice(profile.streets)}", *stream.choice(profile.places))
        for _ in range(size)
    ]

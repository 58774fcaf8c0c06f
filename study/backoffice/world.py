"""A task's world: an immutable base shared by every episode of the task, and the overlay of one episode.

Rows are immutable, so a snapshot is three small copies and nothing that a reply shows can change the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple
from unicodedata import normalize

PENDING, PAID, SHIPPED, DELIVERED, CANCELLED = STATUSES = (
    "pending",
    "paid",
    "shipped",
    "delivered",
    "cancelled",
)

Address = tuple[str, ...]
Added = tuple[str, ...]


class Customer(NamedTuple):
    """A customer. `address` is the home address, its parts named by the profile."""

    customer_id: str
    name: str
    email: str
    level: str
    address: Address


class Product(NamedTuple):
    """A product. `price` in cents, `stock` and `reserved` in units; available = stock - reserved."""

    product_id: str
    name: str
    price: int
    stock: int
    reserved: int


class Line(NamedTuple):
    """An order line. `amount` in cents for the whole line, `reserved` of `quantity` units."""

    product_id: str
    quantity: int
    amount: int
    reserved: int


class Order(NamedTuple):
    """An order. `paid` and `refunded` in cents."""

    order_id: str
    customer_id: str
    status: str
    lines: tuple[Line, ...]
    address: Address
    paid: int
    refunded: int

    def held(self) -> bool:
        """Paid and reserved in full: ready to ship."""
        return self.status == PAID and all(line.reserved >= line.quantity for line in self.lines)


def canonical_id(text: str) -> str:
    """The one spelling of an id, for look-ups and event keys alike: NFC, trimmed, upper case."""
    stripped = text.strip()
    return stripped.upper() if stripped.isascii() else normalize("NFC", stripped).upper()


@dataclass(frozen=True, slots=True)
class World:
    """The base state of a task.

    Attributes:
        customers: by id, in the order of ids, as are the others.
        products: by id.
        orders: by id.
        orders_of: order ids of each customer, ascending.
        words: what a search looks at: case-folded words of each customer's name, and the e-mail.
        page_size: rows on a page of a list response.
    """

    customers: Mapping[str, Customer]
    products: Mapping[str, Product]
    orders: Mapping[str, Order]
    orders_of: Mapping[str, tuple[str, ...]]
    words: Mapping[str, tuple[str, ...]]
    page_size: int

    @classmethod
    def of(
        cls, customers: list[Customer], products: list[Product], orders: list[Order], page_size: int
    ) -> World:
        """Index rows into a world; every list response follows the order of ids."""
        held: dict[str, list[str]] = {row.customer_id: [] for row in customers}
        for order_id, customer_id in sorted((row.order_id, row.customer_id) for row in orders):
            held[customer_id].append(order_id)
        return cls(
            MappingProxyType({row.customer_id: row for row in sorted(customers)}),
            MappingProxyType({row.product_id: row for row in sorted(products)}),
            MappingProxyType({row.order_id: row for row in sorted(orders)}),
            MappingProxyType({key: tuple(ids) for key, ids in held.items()}),
            MappingProxyType(
                {
                    row.customer_id: (*row.name.casefold().split(), row.email.casefold())
                    for row in sorted(customers)
                }
            ),
            page_size,
        )


class State:
    """A base and one episode's overlay.

    Attributes:
        world: the base, shared.
        orders: replaced order rows by id.
        products: replaced product rows by id.
        added: rows created in this episode: ("refund", order, cents), ("reservation", order, product, quantity),
            ("shipment", order, carrier), ("ticket", customer, order, topic, priority); amounts as decimal text.
    """

    __slots__ = ("_before", "added", "orders", "products", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self.orders: dict[str, Order] = {}
        self.products: dict[str, Product] = {}
        self.added: list[Added] = []
        self._before: State | None = None

    def order(self, order_id: str) -> Order | None:
        """The current row of an order, None if there is none."""
        return self.orders.get(order_id) or self.world.orders.get(order_id)

    def product(self, product_id: str) -> Product | None:
        """The current row of a product, None if there is none."""
        return self.products.get(product_id) or self.world.products.get(product_id)

    def commit(
        self, *, order: Order | None = None, product: Product | None = None, added: Added | None = None
    ) -> None:
        """Apply one write as a whole and remember the state just before it, for stale reads."""
        self._before = self.copy()
        if order is not None:
            self.orders[order.order_id] = order
        if product is not None:
            self.products[product.product_id] = product
        if added is not None:
            self.added.append(added)

    def before_last_write(self) -> State:
        """The state just before the most recent committed write; this state if nothing was written."""
        return self if self._before is None else self._before

    def copy(self) -> State:
        """An independent state with the same rows; it remembers no earlier write."""
        other = State.__new__(State)
        other.world = self.world
        other.orders = self.orders.copy()
        other.products = self.products.copy()
        other.added = self.added.copy()
        other._before = None
        return other

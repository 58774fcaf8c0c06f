"""The knobs of the generator and the renderer as data: the world's size and vocabulary, and its language.

Three profiles are built in (`profiles`): `natural`, the paper's setting; `compact`, short word-level text over
closed pools for a policy of under a million parameters; and `drill`, the smallest, for tests. A profile's
digest stands in every episode row, so two registers made with different knobs can never be mistaken for each other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.errors import ConfigError

Results = Literal["json", "compact"]
"""The two forms of results."""

TEMPLATES = (
    "address_change",
    "cancel_pending",
    "cancel_refund",
    "partial_refund",
    "reserve_ship",
    "ship_reserved",
    "ticket_order",
    "ticket_customer",
)
TEMPLATE_WEIGHTS = (30, 20, 30, 30, 50, 30, 12, 6)
"""The paper's weights 3.0, 2.0, 3.0, 3.0, 5.0, 3.0, 1.2, 0.6 in tenths, in the order of `TEMPLATES`."""

COUNT_WEIGHTS = (20, 40, 40)
"""One, two or three sub-requests."""

POOL_CLASSES = ("train", "validation", "test", "diagnostic", "warmup")
"""Pools that must share no customer; where an id pool is partitioned, a pool draws from its residue class."""

RESERVE = "reserve"
"""Tasks kept back; they share the test pool's residue class, as a sixth class would change every other pool."""


def residue_of(pool: str) -> int:
    """The residue class that a pool's partitioned ids and names come from.

    Raises:
        ValueError: no such pool.
    """
    return POOL_CLASSES.index("test" if pool == RESERVE else pool)


@dataclass(frozen=True, slots=True)
class IdPool:
    """Ids `prefix + number`, number in [low, high].

    Attributes:
        partitioned: pools draw from disjoint residue classes of the number, modulo the number of pools.
    """

    prefix: str
    low: int
    high: int
    partitioned: bool = False


@dataclass(frozen=True, slots=True)
class WorldProfile:
    """Size and vocabulary of a task's world.

    Attributes:
        customers: customers in a world; at least three, as each sub-request has its own.
        products: products in a world.
        orders: orders in a world; at least three.
        page_size: rows on a page of a list response.
        order_ids: ids of orders; drawn anew for every task, like all ids.
        customer_ids: ids of customers.
        product_ids: ids of products.
        first_names: first names; alone if `last_names` is empty.
        last_names: last names; pools draw disjoint combinations.
        address_fields: names of the parts of an address, also parameters of update_shipping_address.
        streets: first part of an address: a street name, or a whole token if there is one part.
        places: (city, postal code) pairs for the other parts.
        product_names: names of products; if empty, a product's id is its name.
        line_amounts: prices in cents.
        priced_lines: an order line's amount is price times quantity; otherwise it is drawn from `line_amounts`.
        quantities: quantities on an order line.
        lines: most lines of an order.
        partly_reserved: reserve-and-ship orders may hold part of a line's quantity; otherwise none of it.
        refund_lines: (fewest, most) lines of an order with a partial refund.
        stock: (lowest, highest) units available beyond what the task needs.
        carriers: accepted by schedule_shipment.
        topics: accepted by create_ticket.
        levels: service levels of customers, the priorities of tickets.
        address_forms: forms of the address change: `home` (the address on file), `given` (spelled out).
        template_weights: integer weights in the order of `TEMPLATES`.
        count_weights: integer weights of one, two and three sub-requests.
    """

    customers: int
    products: int
    orders: int
    page_size: int
    order_ids: IdPool
    customer_ids: IdPool
    product_ids: IdPool
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    address_fields: tuple[str, ...]
    streets: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    product_names: tuple[str, ...]
    line_amounts: tuple[int, ...]
    priced_lines: bool
    quantities: tuple[int, ...]
    lines: int
    partly_reserved: bool
    refund_lines: tuple[int, int]
    stock: tuple[int, int]
    carriers: tuple[str, ...]
    topics: tuple[str, ...]
    levels: tuple[str, ...]
    address_forms: tuple[str, ...]
    template_weights: tuple[int, ...] = TEMPLATE_WEIGHTS
    count_weights: tuple[int, ...] = COUNT_WEIGHTS


@dataclass(frozen=True, slots=True)
class Language:
    """How requests and results are worded.

    Attributes:
        results: `json` (one object a result) or `compact` (a few words).
        requests: (form, phrasings with `{slot}` marks); a form is a template, address changes split by form.
        openings: words before the first sub-request; "" for none.
        joiners: words between sub-requests.
        closings: words after the last one.
        free_text: whether plans fill in reasons and summaries beyond what an argument needs.
    """

    results: Results
    requests: tuple[tuple[str, tuple[str, ...]], ...]
    openings: tuple[str, ...]
    joiners: tuple[str, ...]
    closings: tuple[str, ...]
    free_text: bool


@dataclass(frozen=True)
class Profile:
    """A world and a language under one name."""

    name: str
    world: WorldProfile
    language: Language

    def __post_init__(self) -> None:
        world = self.world
        if (
            world.customers < 3
            or world.orders < 3
            or world.products < max(world.lines, world.refund_lines[1])
        ):
            raise ConfigError(
                f"profile {self.name!r} is too small",
                expected="3 customers, 3 orders and as many products as an order has lines",
                found=(world.customers, world.orders, world.products),
            )
        if len(world.template_weights) != len(TEMPLATES) or len(world.count_weights) != len(COUNT_WEIGHTS):
            raise ConfigError(f"weights of profile {self.name!r}", expected="one per template and count")

    def digest(self) -> str:
        """SHA-256 of every knob; recorded with every episode."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return sha256_bytes(canonical_json(asdict(self)))

    def phrasings(self, form: str) -> tuple[str, ...]:
        """The phrasings of one form of sub-request.

        Raises:
            ConfigError: the language has none.
        """
        for name, texts in self.language.requests:
            if name == form:
                return texts
        raise ConfigError(f"profile {self.name!r} has no words for a sub-request", found=form)

"""The grade: the live end state against the expected one, field by field, never a replay of the calls.

Graded are orders (status, address, refunded, reserved units by line), products (reserved) and the created rows as
multisets without generated ids and free text. Success needs that every difference from the base is an expected one
and that none is missing, so a change of any other row is a failure too. Only rows in the overlay are looked at.

Reservations for one line are added up before they are compared. A reservation is a level: one unit twice and two units
once leave the same number in every field that a tool shows or a later write looks at, so no reader of the end state
could say what was wrong. Refunds, shipments and tickets are events that leave the house, and stay apart: two transfers
are not one, even of the same sum.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from study.backoffice.world import Added, State
from study.backoffice.writes import normal_address

GradedValue = str | int | tuple[str, ...]


class Canonical(NamedTuple):
    """A state relative to its base: equal iff the graded states are equal.

    Attributes:
        changes: (row id, field) -> value, for fields that differ from the base.
        added: created rows, sorted, repeats kept; reservations for one line are one row.
    """

    changes: dict[tuple[str, str], GradedValue]
    added: tuple[Added, ...]


class Difference(NamedTuple):
    """One graded field in which the end state is not the expected one; None stands for the base's value or no row.

    For a created row, `row` is the order (or customer) that it belongs to and `field` its kind.
    """

    row: str
    field: str
    expected: GradedValue | None
    found: GradedValue | None


class Grade(NamedTuple):
    """The grader's answer.

    Attributes:
        success: end state equals expected state.
        changed: the world differs from its base at all.
        differences: the differing fields, in a fixed order; empty iff success.
    """

    success: bool
    changed: bool
    differences: tuple[Difference, ...]


def canonical(state: State) -> Canonical:
    """A state's graded differences from its base."""
    changes: dict[tuple[str, str], GradedValue] = {}
    world = state.world
    for key, row in state.orders.items():
        base = world.orders[key]
        if row.status != base.status:
            changes[key, "status"] = row.status
        if row.refunded != base.refunded:
            changes[key, "refunded"] = row.refunded
        if row.address is not base.address:
            address = normal_address(row.address)
            if address != normal_address(base.address):
                changes[key, "address"] = address
        if row.lines is not base.lines:
            for new, old in zip(row.lines, base.lines, strict=True):
                if new.reserved != old.reserved:
                    changes[key, f"reserved {new.product_id}"] = new.reserved
    for key, product in state.products.items():
        if product.reserved != world.products[key].reserved:
            changes[key, "reserved"] = product.reserved
    added = state.added if len(state.added) < 2 else _levels(state.added)
    return Canonical(changes, tuple(sorted(added)))


def _levels(added: list[Added]) -> list[Added]:
    """Created rows with the reservations of one order and product as one row."""
    units: dict[Added, int] = {}
    others = []
    for row in added:
        if row[0] == "reservation":
            units[row[:3]] = units.get(row[:3], 0) + int(row[3])
        else:
            others.append(row)
    return others + [(*line, str(count)) for line, count in units.items()]


def grade(expected: Canonical, state: State) -> Grade:
    """Compare a live end state with the expected one."""
    found = canonical(state)
    changed = bool(found.changes or found.added)
    if found == expected:
        return Grade(True, changed, ())
    differences = [
        Difference(row, field, expected.changes.get((row, field)), found.changes.get((row, field)))
        for row, field in sorted(expected.changes.keys() | found.changes.keys())
        if expected.changes.get((row, field)) != found.changes.get((row, field))
    ]
    wanted, got = Counter(expected.added), Counter(found.added)
    differences += [Difference(row[1] or "-", row[0], row, None) for row in sorted((wanted - got).elements())]
    differences += [Difference(row[1] or "-", row[0], None, row) for row in sorted((got - wanted).elements())]
    return Grade(False, changed, tuple(differences))

"""The grader: differences by field, multisets of created rows, nothing else may change."""

from __future__ import annotations

from study.backoffice.grader import canonical, grade
from study.backoffice.profiles import NATURAL
from study.backoffice.tools import DEFINITIONS
from study.backoffice.toolset import toolset
from study.backoffice.world import State


def after(world, *calls):
    state = State(world)
    for name, arguments in calls:
        DEFINITIONS[name].execute(state, toolset(NATURAL)[name].check(arguments))
    return state


CANCEL = ("cancel_order", {"order_id": "O-1"})
TICKET = ("create_ticket", {"customer_id": "C-1", "topic": "billing", "priority": "urgent"})


def refund(amount):
    return ("issue_refund", {"order_id": "O-5", "amount": amount})


def test_equal_states_whatever_the_order_of_writes(make_world):
    world = make_world()
    expected = canonical(after(world, CANCEL, TICKET, refund(5)))
    result = grade(expected, after(world, refund("5.00"), TICKET, CANCEL))
    assert result == (True, True, ())


def test_each_difference_is_named(make_world):
    world = make_world()
    expected = canonical(after(world, CANCEL, TICKET))
    result = grade(expected, after(world, TICKET, refund(5)))
    assert not result.success
    assert [(row.row, row.field, row.expected, row.found) for row in result.differences] == [
        ("O-1", "status", "cancelled", None),
        ("O-5", "refunded", None, 900),
        ("O-5", "refund", None, ("refund", "O-5", "500")),
    ]


def test_created_rows_count(make_world):
    """A second equal ticket is one too many; two half refunds are not one whole."""
    world = make_world()
    twice = grade(canonical(after(world, TICKET)), after(world, TICKET, TICKET))
    assert [row.found for row in twice.differences] == [("ticket", "C-1", "", "billing", "urgent")]
    halves = grade(canonical(after(world, refund(10))), after(world, refund(5), refund(5)))
    assert not halves.success
    assert {row.field for row in halves.differences} == {"refund"}


def test_nothing_done(make_world):
    world = make_world()
    assert grade(canonical(after(world, CANCEL)), State(world))[:2] == (False, False)
    assert grade(canonical(State(world)), State(world)) == (True, False, ())


def test_a_change_taken_back_is_no_change(make_world):
    world = make_world()
    there = (
        "update_shipping_address",
        {"order_id": "O-1", "street": "x", "city": "y", "postal_code": "02139"},
    )
    back = (
        "update_shipping_address",
        {"order_id": "O-1", "street": "5 Elm St" + "reet", "city": "Boulder", "postal_code": "80302"},
    )
    assert grade(canonical(State(world)), after(world, there, back)) == (True, False, ())
    assert not grade(canonical(State(world)), after(world, there)).success

"""The scripted agents, written against a task's plan: what the paper's reference agents do, as far as it says.

`naive` plays the plan once, call by call, whatever comes back. `recovering` retries transient failures, waits out
rate limits, pages until the row it seeks is there, gives up a call that meets an outage, and after a timeout looks
whether the write took effect before it repeats it. Both know every id from the plan, so a lost read costs them
nothing; `grounded` behaves like `recovering` but uses only what it has read: it drops the calls whose reads failed.
An agent is a generator: it yields calls and is sent replies; when it returns, it has stopped without finish.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from study.backoffice.calls import Call
from study.backoffice.episode import Reply
from study.backoffice.tasks import PlannedCall, Task
from study.backoffice.tools import DEFINITIONS

Agent = Generator[Call, Reply, None]

FINISH = "finish"


def finish(task: Task) -> Agent:
    """End at once."""
    yield Call(FINISH, {})


def naive(task: Task) -> Agent:
    """Play the plan open loop: every planned call once, no retry, no wait, no further page."""
    for planned in task.plan:
        yield Call(planned.name, dict(planned.arguments))
    yield Call(FINISH, {})


def recovering(task: Task) -> Agent:
    """Play the plan and do whatever a fault needs to be overcome."""
    for planned in task.plan:
        yield from persist(planned)
    yield Call(FINISH, {})


def grounded(task: Task) -> Agent:
    """Like `recovering`, but a call whose needed reads failed is not made: its arguments would be invented."""
    known: list[bool] = []
    for planned in task.plan:
        if all(known[n] for n in planned.needs):
            known.append((yield from persist(planned)))
        else:
            known.append(False)
    yield Call(FINISH, {})


def persist(planned: PlannedCall) -> Generator[Call, Reply, bool]:
    """Make one planned call until it is answered or cannot be.

    Returns:
        Whether the call was answered (for a list: with the row that it seeks).
    """
    arguments = dict(planned.arguments)
    while True:
        reply = yield Call(planned.name, arguments)
        if reply.ok:
            offset = _next_page(planned, reply)
            if offset is None:
                return not planned.seeks or _seen(planned, reply)
            arguments["offset"] = offset
        elif reply.status == "rate_limited":
            yield Call("wait", {"seconds": reply.payload["error"]["retry_after"]})
        elif reply.status == "timeout":
            done = yield from took_effect(planned)
            if done:
                return True
        elif reply.status != "temporary_error":
            return False  # an outage lasts, and a refusal by a business rule will not change its mind


def _next_page(planned: PlannedCall, reply: Reply) -> int | None:
    """Where to go on looking, None if the row is there or the list has ended; a dropped list is read again."""
    if not planned.seeks or _seen(planned, reply):
        return None
    payload = reply.payload
    if DEFINITIONS[planned.name].rows not in payload:
        return int(payload["offset"])
    following: int | None = payload["next_offset"]
    return following


def _seen(planned: PlannedCall, reply: Reply) -> bool:
    rows = reply.payload.get(DEFINITIONS[planned.name].rows, ())
    key = "customer_id" if planned.name == "search_customers" else "order_id"
    return any(row[key] == planned.seeks for row in rows)


def took_effect(planned: PlannedCall) -> Generator[Call, Reply, bool]:
    """After a write timed out: read the row that it would have changed and look for the change.

    A row that shows the state which the write asks for counts, whoever brought it about.
    """
    wanted: dict[str, Any] = dict(planned.arguments)
    order_id, customer_id = wanted.get("order_id"), wanted.get("customer_id")
    if order_id is not None:
        look = PlannedCall("get_order", {"order_id": order_id}, planned.part, False)
    elif customer_id is not None:
        look = PlannedCall("get_customer", {"customer_id": customer_id}, planned.part, False)
    else:
        return False
    while True:
        reply = yield Call(look.name, dict(look.arguments))
        if reply.ok:
            seen = _shows(planned.name, wanted, reply.payload)
            if seen is not None:
                return seen
        elif reply.status == "rate_limited":
            yield Call("wait", {"seconds": reply.payload["error"]["retry_after"]})
        elif reply.status != "temporary_error":
            return False


def _shows(name: str, wanted: dict[str, Any], row: dict[str, Any]) -> bool | None:
    """Whether a row shows a write's effect; None if the field that would tell was dropped."""
    if name == "cancel_order":
        return row["status"] == "cancelled" if "status" in row else None
    if name == "schedule_shipment":
        return row["status"] == "shipped" if "status" in row else None
    if name == "issue_refund":
        return bool(row["refunded"])
    if name == "reserve_stock":
        if "items" not in row:
            return None
        return all(
            line["reserved"] >= line["quantity"]
            for line in row["items"]
            if line["product_id"] == wanted["product_id"]
        )
    if name == "create_ticket":
        return any(ticket["topic"] == wanted["topic"] for ticket in row["open_tickets"])
    if "address" not in row:
        return None
    address = row["address"]
    return bool(
        address == wanted.get("address")
        if isinstance(address, str)
        else all(wanted[key] == address[key] for key in address)
    )

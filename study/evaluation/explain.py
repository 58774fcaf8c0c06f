"""Why an episode failed, in sentences that its end state and its log bear out.

Whether a planned write happened is read from the end state, not from a reply: a reply can be a timeout that hides a
refusal or a success. Only what then caused it is read from the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from study.backoffice.episode import OK, CallRecord, Episode, Outcome
from study.backoffice.grader import Difference, GradedValue, canonical
from study.backoffice.log import UNANSWERED
from study.backoffice.schemas import BadArgument
from study.backoffice.tasks import PlannedCall, Task
from study.backoffice.tools import Values
from study.backoffice.toolset import Tool
from study.backoffice.world import Added, State, World
from study.backoffice.writes import normal_address, normal_text
from study.errors import SimulatorError

CREATED = ("refund", "reservation", "shipment", "ticket")
"""Kinds of rows that calls create."""
FREE_TEXT = ("reason", "summary")
"""Parameters that are neither kept nor graded."""


class Effect(NamedTuple):
    """What one planned write changes on the true state, apart from the stock that several writes may share.

    Attributes:
        call: the write.
        fields: (order id, field) that it sets.
        rows: created rows.
    """

    call: PlannedCall
    fields: frozenset[tuple[str, str]]
    rows: tuple[Added, ...]


def effects(task: Task) -> list[Effect]:
    """The effect of each planned write, found by executing the plan.

    Raises:
        SimulatorError: a planned call is refused: a bug.
    """
    state, found = State(task.world), []
    before = canonical(state)
    for call in task.plan:
        if not call.write:
            continue
        tool = task.tools[call.name]
        tool.run(state, _values(tool, call))
        after = canonical(state)
        fields = frozenset(
            key
            for key, value in after.changes.items()
            if before.changes.get(key) != value and key[0] in task.world.orders
        )
        rows = tuple((Counter(after.added) - Counter(before.added)).elements())
        found.append(Effect(call, fields, rows))
        before = after
    return found


def explain(task: Task, episode: Episode, outcome: Outcome) -> list[str]:
    """Why an episode failed: each planned write that did not happen, then what happened without being asked for."""
    if outcome.true_success:
        flipped = ["The end state is right; the grader's flip reports it as a failure."]
        return [] if outcome.observed_reward else flipped
    reasons: list[str] = []
    told: set[Difference] = set()
    for effect in effects(task):
        touched = {row for row in outcome.differences if _touches(effect, row)}
        if touched:
            reasons += _planned(effect.call, task, episode.records)
            told |= {row for row in touched if row.expected is not None}
    reasons += [_unwanted(row) for row in outcome.differences if row.found is not None and row not in told]
    if episode.ended_by == "budget":
        reasons.append(f"The call budget of {task.budget} ran out and the next call ended the episode.")
    if not episode.calls:
        reasons.append("No call was made.")
    return reasons or ["The end state differs in the fields listed above."]


def _touches(effect: Effect, row: Difference) -> bool:
    return (row.row, row.field) in effect.fields or row.expected in effect.rows


def _unwanted(row: Difference) -> str:
    if isinstance(row.found, tuple) and row.found and row.found[0] == row.field:
        what = f"A {row.field} ({show(row.field, row.found)}) was created"
    else:
        what = f"{row.row}: {row.field} became {show(row.field, row.found)}"
    if row.expected is not None:
        return f"{what}; {show(row.field, row.expected)} was expected."
    return f"{what} although the request does not ask for it."


def _values(tool: Tool, call: PlannedCall) -> Values:
    values = tool.check(dict(call.arguments))
    if isinstance(values, BadArgument):
        raise SimulatorError("a planned call has bad arguments", found=values)
    return values


def _graded(tool: Tool, values: Values) -> tuple[object, ...]:
    """Argument values as the grader compares them."""
    return tuple(
        normal_text(value) if param.kind in ("text", "postal") and isinstance(value, str) else value
        for param, value in zip(tool.params, values, strict=True)
        if param.name not in FREE_TEXT
    )


def happened(record: CallRecord) -> bool:
    """Whether a write was executed, whatever its reply said."""
    return OK in (record.status, record.beneath)


def _planned(planned: PlannedCall, task: Task, records: Sequence[CallRecord]) -> list[str]:
    """What became of a planned write whose effect is not in the end state as planned."""
    tool = task.tools[planned.name]
    values = _values(tool, planned)
    resource = tool.resource(values)
    what = f"{planned.name}({resource})" if resource else planned.name
    tries = [record for record in records if (record.tool, record.resource) == (planned.name, resource)]
    done = [record for record in tries if happened(record)]
    same = [
        row for row in done if row.values is not None and _graded(tool, row.values) == _graded(tool, values)
    ]
    if len(same) > 1:
        numbers = " and ".join(str(record.number) for record in same)
        return [f"The planned write {what} was made {len(same)} times, at calls {numbers}."]
    if same:
        return []  # it happened; what was done to the same row besides is told apart
    if done:
        return [f"The planned write {what} was made with other values, at call {done[-1].number}."]
    if not tries:
        return [f"The planned write {what} was never tried."]
    return [f"The planned write {what} {_cause(tries)}."]


def _cause(tries: Sequence[CallRecord]) -> str:
    last = tries[-1]
    never = "never took effect: it"
    if last.status == "service_unavailable":
        first = next(record for record in tries if record.status == "service_unavailable")
        return f"{never} met an outage at call {first.number}, which lasts for the episode"
    if last.status == "rate_limited":
        return f"{never} was blocked by a rate limit at call {last.number} and not repeated after it"
    if last.status == "temporary_error":
        return f"{never} failed temporarily at call {last.number} and was not repeated"
    if last.status in UNANSWERED:
        return f"{never} was refused at call {last.number} ({last.beneath}), which a timeout hid"
    return f"did not take effect: it was refused at call {last.number} ({last.status})"


def show(field: str, value: GradedValue | None) -> str:
    """A graded value in words: money with two decimals, created rows without their kind.

    Args:
        field: the graded field, or the kind of a created row.
        value: as in a `Difference`; None is no change or no row.
    """
    if value is None:
        return "none" if field in CREATED else "no change"
    if isinstance(value, tuple):
        parts = value[1:] if field in CREATED else value
        words = (_money(part) if field == "refund" and part.isdecimal() else part for part in parts)
        return (" " if field in CREATED else ", ").join(word for word in words if word)
    return _money(value) if field == "refunded" else str(value)


def _money(cents: str | int) -> str:
    return f"{int(cents) / 100:.2f}"


def base_value(world: World, row: str, field: str) -> GradedValue:
    """The value of a graded field before the episode."""
    if row in world.products:
        return world.products[row].reserved
    order = world.orders[row]
    if field.startswith("reserved "):
        product = field.removeprefix("reserved ")
        return next(line.reserved for line in order.lines if line.product_id == product)
    values: dict[str, GradedValue] = {
        "status": order.status,
        "refunded": order.refunded,
        "address": normal_address(order.address),
    }
    return values[field]

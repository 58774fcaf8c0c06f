"""The guards of a decision: which applied to which endpoints, and the sentence for each that did not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from prereg_kit.decision.presence import NO_INDEX
from prereg_kit.decision.verdict import Guard, GuardName

ORDER: tuple[GuardName, ...] = get_args(GuardName)


def summary(found: Iterable[Guard], *, indexed: bool) -> tuple[Guard, ...]:
    """One entry for each guard and reason, in the order of `GuardName`, with the endpoints in their order.

    Args:
        found: one guard for each endpoint that was measured.
        indexed: whether an index of runs was given.
    """
    listed = [Guard(name="counted-runs", applies=indexed, reason=None if indexed else NO_INDEX), *found]
    grouped: dict[tuple[GuardName, str | None], tuple[str, ...]] = {}
    for guard in listed:
        key = (guard.name, guard.reason)
        grouped[key] = tuple(dict.fromkeys((*grouped.get(key, ()), *guard.endpoints)))
    return tuple(
        Guard(name=name, applies=reason is None, endpoints=grouped[name, reason], reason=reason)
        for name, reason in sorted(grouped, key=lambda key: ORDER.index(key[0]))
    )


def sentences(guards: Sequence[Guard]) -> tuple[str, ...]:
    """What every output prints: one sentence for each reason why guards did not apply."""
    asleep: dict[str, list[Guard]] = {}
    for guard in guards:
        if guard.reason is not None:
            asleep.setdefault(guard.reason, []).append(guard)
    lines = []
    for reason, those in asleep.items():
        endpoints = dict.fromkeys(name for guard in those for name in guard.endpoints)
        named = ", ".join(dict.fromkeys(guard.name for guard in those))
        to = f" to {', '.join(endpoints)}" if endpoints else ""
        many = "s" if len(those) > 1 else ""
        verb = "do" if many else "does"
        lines.append(f"Guard{many} {named} {verb} not apply{to}: {reason}.")
    return tuple(lines)

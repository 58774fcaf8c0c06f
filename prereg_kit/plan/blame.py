"""Where each field of the plan in force comes from: the plan as frozen, or the amendment that set it last. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prereg_kit.plan.history import EffectivePlan

AS_FROZEN = "plan"


@dataclass(frozen=True)
class Origin:
    """One field of the plan in force.

    Attributes:
        field: slash path, as an amendment names it.
        value: as JSON carries it.
        origin: `plan`, or the id of the amendment that set it last.
    """

    field: str
    value: object
    origin: str


def blame(effective: EffectivePlan) -> tuple[Origin, ...]:
    """Every field that the plan in force says, in its order; defaults that no document states are left out."""
    tree = effective.plan.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return tuple(Origin(path, value, _origin(path, effective)) for path, value in _leaves("", tree))


def _origin(path: str, effective: EffectivePlan) -> str:
    """`changed` holds amendments in the order in which they were applied: the last one that covers the path rules."""
    found = AS_FROZEN
    for place, amendment in effective.changed.items():
        if path == place or path.startswith(place + "/"):
            found = amendment
    return found


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}/{key}" if path else str(key), inner)
    elif isinstance(value, list) and value and any(isinstance(each, dict | list) for each in value):
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}/{index}", inner)
    else:
        yield path, value

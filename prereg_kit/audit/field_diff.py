"""Two documents compared field by field, as a reader of the plan would: which field, from what, to what."""

from __future__ import annotations

from prereg_kit.errors import PreregError
from prereg_kit.plan.yaml_file import Tree, read

_MOST = 8
_SHOWN = 80


def changed_fields(before: bytes, after: bytes) -> dict[str, str]:
    """Field path -> "was A, now B", for at most eight fields; empty where a side is not YAML."""
    try:
        one, other = read(before, "before").value, read(after, "after").value
    except PreregError:
        return {}
    changes = _walk("", one, other)
    shown = dict(changes[:_MOST])
    if len(changes) > _MOST:
        shown["more"] = f"{len(changes) - _MOST} further fields"
    return {f"field {name}": text for name, text in shown.items()}


def _walk(path: str, one: Tree, other: Tree) -> list[tuple[str, str]]:
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in dict.fromkeys((*one, *other)):
            place = f"{path}/{key}" if path else str(key)
            if key not in one:
                found.append((place, f"added: {_text(other[key])}"))
            elif key not in other:
                found.append((place, f"removed: {_text(one[key])}"))
            else:
                found += _walk(place, one[key], other[key])
        return found
    return [] if one == other else [(path, f"was {_text(one)}, now {_text(other)}")]


def _text(value: Tree) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."

"""Labels in their one canonical order, whatever the order of the rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from prereg_kit.registers.cells.source import Label

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_SHOWN = 12
_LONGEST = 80


def text_of(label: Label) -> str:
    """A label as a plan would write it: true, false, digits or the text itself."""
    if label is None:
        return "(absent)"
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)


def shown(label: Label) -> str:
    """A label for a message: control characters are escaped, long texts are cut."""
    text = text_of(label)
    if not text.isprintable():
        text = text.encode("unicode_escape").decode("ascii")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def canonical_order(labels: Iterable[Label]) -> list[Label]:
    """Labels in order: by number if every one is a whole number (as text or not), else by code points.

    "2" comes before "10", and a register read from CSV gives the order that Parquet gives.
    """
    listed = list(labels)
    texts = [text_of(label) for label in listed]
    if all(_WHOLE.fullmatch(text) for text in texts):
        return [
            label for _, label in sorted(zip(map(int, texts), listed, strict=True), key=lambda pair: pair[0])
        ]
    return [label for _, label in sorted(zip(texts, listed, strict=True), key=lambda pair: pair[0])]


def listing(labels: Iterable[Label]) -> str:
    """A few labels in canonical order for a message, with the number left out."""
    ordered = canonical_order(labels)
    return ", ".join(shown(label) for label in ordered[:_SHOWN]) + (
        f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    )


def key_text(parts: Mapping[str, Label]) -> str:
    """A row's key for a message: `arm=paired, seed=0, task=task-007`."""
    return ", ".join(f"{shown(name)}={shown(label)}" for name, label in parts.items())

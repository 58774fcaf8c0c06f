"""Tables over closed sets: a table that lacks a member, or names a stranger, fails where it is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_args

Key = TypeVar("Key", bound=str)
Entry = TypeVar("Entry")


def table(members: Any, entries: Mapping[Key, Entry]) -> dict[Key, Entry]:  # noqa: ANN401 - a Literal type
    """The entries as a dictionary, in their order.

    Args:
        members: a `Literal` of texts, the closed set.
        entries: one entry for each member.

    Raises:
        TypeError: an entry is missing, or is of no member. The import of the table's module fails then.
    """
    wanted, found = set(get_args(members)), set(entries)
    if wanted != found:
        lacking, strangers = sorted(wanted - found), sorted(found - wanted)
        raise TypeError(f"a table of {sorted(wanted)} lacks {lacking} and has the strangers {strangers}")
    return dict(entries)

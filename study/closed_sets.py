"""Tables over a closed set: one entry for each member, checked when the module is imported.

A closed set is a `Literal`; code that branches on it ends in `assert_never`, which mypy checks. A mapping from its
members to values cannot be checked that way, so it is built here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from study.errors import StudyError

K = TypeVar("K", bound=str)
V = TypeVar("V")


def complete(what: str, members: Iterable[K], table: Mapping[K, V]) -> Mapping[K, V]:
    """A read-only table with exactly one entry for each member, in the order of the members.

    Args:
        what: the table in words, for the error.
        members: the closed set, usually `get_args` of a `Literal`.
        table: an entry for each member.

    Raises:
        StudyError: a member without an entry, or an entry for no member.
    """
    wanted = tuple(members)
    missing = [member for member in wanted if member not in table]
    strange = [key for key in table if key not in wanted]
    if missing or strange:
        raise StudyError(
            f"{what} is not complete",
            expected=f"one entry for each of {', '.join(wanted)}",
            found=f"missing {missing}, unknown {strange}",
            next_step="Give each member of the closed set its entry in this table.",
            code="incomplete-table",
        )
    return MappingProxyType({member: table[member] for member in wanted})

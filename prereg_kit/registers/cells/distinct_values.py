"""Invariants over rows: how many distinct values a column takes inside each group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells.labels import key_text
from prereg_kit.registers.cells.packed_keys import Field, Keys, Packer
from prereg_kit.registers.cells.selection import require_columns
from prereg_kit.registers.cells.source import Source, Where
from prereg_kit.registers.cells.walk import Part, Walk

_NAMED = 1000


@dataclass(frozen=True)
class GroupCount:
    """How many groups there are, with one distinct value and with several; the keys are of the first of each kind."""

    groups: int
    single: int
    several: int
    most: int
    first_single: str | None
    first_several: str | None
    rows_used: int
    rows_unused: int


def distinct_per_group(
    registers: Source, kind: str, *, where: Where, value: str, group: Sequence[str]
) -> GroupCount:
    """Count the distinct values of a column, or of the entries of a list column, in every group of rows.

    Args:
        registers: where the rows come from.
        kind: the kind of register.
        where: conditions on columns.
        value: a column, or a list column such as `schedule_seeds`.
        group: the columns whose equal values make a group.

    Raises:
        RegisterError: as in `cell_table`; `missing-value` for an empty list or a null entry.
    """
    rows = registers.rows(kind)
    require_columns(rows, (value, *group), "the endpoint's groups")
    listed = rows.columns[value] in ("texts", "integers", "booleans", "numbers")
    walk = Walk(
        rows, where, key=tuple(group) + (() if listed else (value,)), lists=(value,) if listed else ()
    )
    inner = Field(value)
    packer = Packer((*(Field(name) for name in group), inner), rows.size)
    used = 0
    for part in walk:
        used += part.size
        part.use()
        outer = [
            each.local(part.codes(each.column), walk.scan.levels[each.column]) for each in packer.fields[:-1]
        ]
        if not listed:
            packer.pack([*outer, inner.local(part.codes(value), walk.scan.levels[value])], part.size)
            continue
        lengths, entries = _entries(part, walk, value)
        spread = [each if isinstance(each, int) else np.repeat(each, lengths) for each in outer]
        packer.pack([*spread, inner.local(entries, walk.scan.levels[value])], len(entries))
    pairs = np.unique(packer.kept())
    of, often = np.unique(pairs >> inner.bits, return_counts=True)

    def first(groups: Keys) -> str | None:
        keys = [packer.unpack(int(each) << inner.bits)[:-1] for each in groups[:_NAMED]]
        texts = [
            key_text({part.column: part.labels(walk.scan.levels[part.column])[i]
                      for part, i in zip(packer.fields, key, strict=False)})
            for key in keys
        ]  # fmt: skip
        return min(texts, default=None)

    return GroupCount(
        groups=len(of), single=int((often == 1).sum()), several=int((often > 1).sum()), most=int(often.max()),
        first_single=first(of[often == 1]), first_several=first(of[often > 1]), rows_used=used,
        rows_unused=rows.size - used,
    )  # fmt: skip


def _entries(part: Part, walk: Walk, value: str) -> tuple[Keys, Keys]:
    lists = part.block.lists[value]
    chosen = np.arange(part.block.size) if part.rows is None else part.rows
    starts, ends = lists.offsets[:-1][chosen], lists.offsets[1:][chosen]
    lengths = (ends - starts).astype(np.int64)
    total = int(lengths.sum())
    places = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(starts, lengths)
    codes = lists.codes[places].astype(np.int64)
    wrong = np.flatnonzero(lengths == 0)
    if len(wrong) or int(codes.min(initial=0)) < 0:
        i = (
            int(wrong[0])
            if len(wrong)
            else int(np.searchsorted(np.cumsum(lengths), np.argmax(codes < 0), side="right"))
        )
        row = part.position(i)
        raise RegisterError(
            f"an empty list, or a missing entry, in {value}",
            where=walk.place(part.block, row, value),
            found=part.block.raw(value, row),
            code="missing-value",
        )
    return lengths, codes

"""A count over a count: rows with a flag among rows with another, or sums of two columns of a count register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from prereg_kit.registers.cells.constants import Constants
from prereg_kit.registers.cells.counts import whole_counts
from prereg_kit.registers.cells.keys import Field, Packer
from prereg_kit.registers.cells.labels import canonical_order, text_of
from prereg_kit.registers.cells.locate import located
from prereg_kit.registers.cells.repeats import settle
from prereg_kit.registers.cells.selection import literals
from prereg_kit.registers.cells.source import Rows, Source, ValueKind, Where
from prereg_kit.registers.cells.sums import Sums
from prereg_kit.registers.cells.walk import Walk
from prereg_kit.registers.formats import CONTEXTS, REPEATS

POOLED = frozenset({"run_id", "seed", "step", "row", "task", *REPEATS})
"""Columns over which a rate sums without being asked: they say which row was counted, not what was measured."""


@dataclass(frozen=True)
class Count:
    """A rate as two whole numbers; `per` splits both by a column (run_id by default).

    `rows_outside` counts rows with the numerator's flag that the denominator does not admit: they are not counted.
    """

    numerator: int
    denominator: int
    per: dict[str, tuple[int, int]] = field(default_factory=dict)
    rows_used: int = 0
    rows_unused: int = 0
    rows_outside: int = 0
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> Fraction | None:
        """The exact rate, or None where the denominator is 0 (undefined, never 0)."""
        return Fraction(self.numerator, self.denominator) if self.denominator else None


def count_rate(
    registers: Source,
    kind: str,
    *,
    where: Where,
    numerator: str,
    denominator: str | None = None,
    by: str | None = "run_id",
    key: Sequence[str] | None = None,
    repeats: Literal["refuse", "drop_exact"] = "refuse",
    pooled: Sequence[str] = (),
) -> Count:
    """Count rows, or sum counts, over runs, steps, groups and tasks, and over nothing else unless `where` says so.

    Args:
        registers: where the rows come from.
        kind: the kind of register. In `counts` both columns hold whole numbers, which are summed; elsewhere both
            are flags (true/false, 0/1).
        where: conditions on columns; a column given several values is pooled over them.
        numerator: the flag that is counted, among rows that have the
        denominator: flag; None admits every selected row (in `counts`: the column `episodes`).
        by: a column to split by, where the register has it.
        key: the columns that identify a row, or None for the register's default.
        repeats: what to do with rows of the same key and the same values.
        pooled: further columns to pool over, for instance a plan's own pairing column and repeated units.

    Raises:
        RegisterError: as in `cell_table`: `mixed` for rows of several conditions, arms, splits, ...;
            `impossible-count` for counts below 0, or more than they were counted among.
    """
    rows = registers.rows(kind)
    summed = kind == "counts"
    if summed and denominator is None:
        denominator = "episodes"
    value_kind: ValueKind = "number" if summed else "boolean"
    kinds = {name: value_kind for name in (numerator, denominator) if name is not None}
    split = by if by in rows.columns and by not in rows.lacking else None
    identifying = tuple(key) if key is not None else tuple(name for name in rows.key if name not in kinds)
    contexts = Constants(_contexts(rows, where, identifying, (*pooled, *kinds), declared=key is not None))
    first = Field(split) if split else Field("", fixed=("",))
    below = tuple(Field(name) for name in identifying if name != split)
    names = tuple(part.column for part in (first, *below) if part.column)
    walk = Walk(rows, where, key=names, values=kinds)
    packer = Packer((first, *below), rows.size)
    counted, admitted = Sums(), Sums()
    used = outside = 0
    for part in walk:
        _, locals_ = located(part, packer.fields, walk)
        keys = packer.pack(locals_, part.size)
        part.use()
        contexts.look(part)
        counted.reshape((1 << first.bits,))
        admitted.reshape((1 << first.bits,))
        cells = keys >> sum(each.bits for each in below)
        if summed:
            assert denominator is not None
            top, bottom = whole_counts(walk, part, numerator, denominator, least=0)
        else:
            top = part.numerators(numerator)
            bottom = part.numerators(denominator) if denominator else np.ones(part.size, dtype=np.int64)
            outside += int(((top != 0) & (bottom == 0)).sum())
            top = top * (bottom != 0)
        counted.add(cells, top, 1)
        admitted.add(cells, bottom, 1)
        used += part.size
    contexts.require(walk)
    notes: list[str] = []
    repeated = packer.repeated() if below else packer.kept()[:0]
    if len(repeated):
        corrections = settle(
            Walk(rows, where, key=names, values=kinds), packer, repeated, tuple(kinds), repeats
        )
        shift = sum(each.bits for each in below)
        for i, (packed, extra) in enumerate(
            zip(corrections.keys.tolist(), corrections.extra.tolist(), strict=True)
        ):
            bottom_once = int(corrections.values[denominator][i]) if denominator else 1
            top_once = int(corrections.values[numerator][i])
            counted.totals[packed >> shift] -= extra * (top_once if summed else top_once * bottom_once)
            admitted.totals[packed >> shift] -= extra * bottom_once
        used -= corrections.dropped
        notes.append(corrections.note)
    labels = first.labels(walk.scan.levels[split]) if split else []
    per = {
        text_of(label): (int(counted.totals[labels.index(label)]), int(admitted.totals[labels.index(label)]))
        for label in canonical_order(labels)
    }
    if outside:
        notes.append(f"{outside} rows have {numerator} but not {denominator}, and are not counted")
    return Count(
        int(counted.totals.sum()),
        int(admitted.totals.sum()),
        per,
        used,
        rows.size - used,
        outside,
        tuple(notes),
    )


def _contexts(
    rows: Rows, where: Where, identifying: Sequence[str], free: Sequence[str], *, declared: bool
) -> tuple[str, ...]:
    """The columns that must be constant: as in a cell table, those of a key that do not number rows."""
    several = {name for name, wanted in literals(where).items() if len(wanted) > 1}
    return tuple(
        name
        for name in identifying
        if name not in POOLED
        and name not in several
        and name not in free
        and (not declared or name in CONTEXTS)
    )

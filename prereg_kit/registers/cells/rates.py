"""A count over a count: rows with a flag among rows with another, or sums of two columns of a count register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.registers.cells.constant_columns import ConstantColumns
from prereg_kit.registers.cells.count_rows import whole_counts
from prereg_kit.registers.cells.exact_sums import Sums
from prereg_kit.registers.cells.labels import canonical_order, text_of
from prereg_kit.registers.cells.local_codes import located
from prereg_kit.registers.cells.packed_keys import Field, Keys, Packer
from prereg_kit.registers.cells.query import RateQuery, several_values
from prereg_kit.registers.cells.repeats import Repeats, find_repeats
from prereg_kit.registers.cells.source import Label, Rows, Source, ValueKind
from prereg_kit.registers.cells.walk import Part, Walk
from prereg_kit.registers.formats import CONTEXTS, REPEATS

POOLED = frozenset({"run_id", "seed", "step", "row", "task", *REPEATS})
"""Columns over which a rate sums without being asked: they say which row was counted, not what was measured."""


@dataclass(frozen=True)
class Count:
    """A rate as two whole numbers; `per` splits both by a column (run_id by default).

    `distinct` says whether the rows have key columns, so that a repeated row was found. `rows_outside` counts rows
    with the numerator's flag that the denominator does not admit: they are not counted.
    """

    numerator: int
    denominator: int
    per: dict[str, tuple[int, int]] = field(default_factory=dict)
    rows_used: int = 0
    rows_unused: int = 0
    rows_outside: int = 0
    notes: tuple[str, ...] = ()
    distinct: bool = True

    @property
    def rate(self) -> Fraction | None:
        """The exact rate, or None where the denominator is 0 (undefined, never 0)."""
        return Fraction(self.numerator, self.denominator) if self.denominator else None


@dataclass(frozen=True)
class _Columns:
    """What is counted among what: in `counts` whole numbers that are summed, elsewhere flags."""

    numerator: str
    denominator: str | None
    summed: bool

    @property
    def kinds(self) -> Mapping[str, ValueKind]:
        kind: ValueKind = "number" if self.summed else "boolean"
        return {name: kind for name in (self.numerator, self.denominator) if name is not None}


class _Tally:
    """Both counts by cell; a cell is a label of the column that the rate is split by."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns
        self.counted, self.admitted = Sums(), Sums()
        self.outside = 0

    def add(self, walk: Walk, part: Part, cells: Keys, size: int) -> None:
        """Add a part's rows to their cells, of which there are at most `size`."""
        self.counted.reshape((size,))
        self.admitted.reshape((size,))
        top, bottom = self._counts(walk, part)
        self.counted.add(cells, top, 1)
        self.admitted.add(cells, bottom, 1)

    def _counts(self, walk: Walk, part: Part) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        named = self._columns
        if named.summed:
            assert named.denominator is not None
            return whole_counts(walk, part, named.numerator, named.denominator, least=0)
        top = part.numerators(named.numerator)
        bottom = (
            part.numerators(named.denominator) if named.denominator else np.ones(part.size, dtype=np.int64)
        )
        self.outside += int(((top != 0) & (bottom == 0)).sum())
        return top * (bottom != 0), bottom

    def take_out(self, repeats: Repeats, shift: int) -> None:
        """Subtract what was counted too often; `shift` bits of a key number the rows of a cell."""
        named = self._columns
        tops = repeats.values[named.numerator]
        bottoms = repeats.values[named.denominator] if named.denominator else [Fraction(1)] * len(tops)
        cells = (repeats.keys >> shift).tolist()
        for cell, extra, top, bottom in zip(cells, repeats.extra.tolist(), tops, bottoms, strict=True):
            self.counted.totals[cell] -= extra * int(top if named.summed else top * bottom)
            self.admitted.totals[cell] -= extra * int(bottom)

    def per(self, labels: Sequence[Label]) -> dict[str, tuple[int, int]]:
        """Both counts by label, in canonical order."""
        places = {(type(label), label): i for i, label in enumerate(labels)}
        return {
            text_of(label): (
                int(self.counted.totals[places[type(label), label]]),
                int(self.admitted.totals[places[type(label), label]]),
            )
            for label in canonical_order(labels)
        }


def count_rate(registers: Source, kind: str, query: RateQuery) -> Count:
    """Count rows, or sum counts, over runs, steps, groups and tasks, and over nothing else unless `where` says so.

    Args:
        registers: where the rows come from.
        kind: the kind of register. In `counts` both columns hold whole numbers, which are summed; elsewhere both
            are flags (true/false, 0/1).
        query: which rows and columns.

    Raises:
        RegisterError: as in `cell_table`: `mixed` for rows of several conditions, arms, splits, ...;
            `impossible-count` for counts below 0, or more than they were counted among.
    """
    rows = registers.rows(kind)
    summed = kind == "counts"
    columns = _Columns(query.numerator, query.denominator or ("episodes" if summed else None), summed)
    identifying = _identifying(rows, query, columns)
    split = query.by if query.by in rows.columns and query.by not in rows.lacking else None
    first = Field(split) if split else Field("", fixed=("",))
    below = tuple(Field(name) for name in identifying if name != split)

    def reading() -> Walk:
        names = tuple(part.column for part in (first, *below) if part.column)
        return Walk(rows, query.where, key=names, values=columns.kinds)

    walk = reading()
    packer, tally = Packer((first, *below), rows.size), _Tally(columns)
    contexts = ConstantColumns(_contexts(query, identifying, tuple(columns.kinds)))
    used = 0
    for each in walk:
        part, codes = located(each, packer.fields, walk)
        keys = packer.pack(codes, part.size)
        part.use()
        contexts.look(part)
        tally.add(walk, part, keys >> _bits(below), 1 << first.bits)
        used += part.size
    contexts.require(walk)
    notes: list[str] = []
    repeated = packer.repeated() if below else packer.kept()[:0]
    if len(repeated):
        repeats = find_repeats(reading(), packer, repeated, query.repeats)
        tally.take_out(repeats, _bits(below))
        used -= repeats.dropped
        notes.append(repeats.note)
    if tally.outside:
        notes.append(
            f"{tally.outside} rows have {query.numerator} but not {columns.denominator}, and are not counted"
        )
    return Count(
        numerator=int(tally.counted.totals.sum()),
        denominator=int(tally.admitted.totals.sum()),
        per=tally.per(walk.labels(first) if split else []),
        rows_used=used,
        rows_unused=rows.size - used,
        rows_outside=tally.outside,
        notes=tuple(notes),
        distinct=bool(below),
    )


def _bits(fields: Sequence[Field]) -> int:
    return sum(each.bits for each in fields)


def _identifying(rows: Rows, query: RateQuery, columns: _Columns) -> tuple[str, ...]:
    if query.key is not None:
        return tuple(query.key)
    return tuple(name for name in rows.key if name not in columns.kinds)


def _contexts(query: RateQuery, identifying: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    """The columns that must be constant: as in a cell table, those of a key that do not number rows."""
    free = {*POOLED, *several_values(query.where), *query.pooled, *values}
    declared = query.key is not None
    return tuple(name for name in identifying if name not in free and (not declared or name in CONTEXTS))

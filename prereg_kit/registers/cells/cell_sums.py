"""One pass over the rows of an endpoint: integer sums per cell, and the defects that only rows can show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells import sparse
from prereg_kit.registers.cells.constant_columns import ConstantColumns
from prereg_kit.registers.cells.count_rows import whole_counts
from prereg_kit.registers.cells.exact_sums import Sums
from prereg_kit.registers.cells.layout import Layout
from prereg_kit.registers.cells.local_codes import located
from prereg_kit.registers.cells.packed_keys import Keys, Packer
from prereg_kit.registers.cells.query import CellQuery
from prereg_kit.registers.cells.repeats import Repeats, find_repeats
from prereg_kit.registers.cells.run_owners import RUN, RunOwners, names_runs
from prereg_kit.registers.cells.source import Label, Rows
from prereg_kit.registers.cells.value_span import ValueSpan
from prereg_kit.registers.cells.walk import Part, Walk

_MOST_CELLS = 1 << 26


@dataclass(frozen=True)
class CellSums:
    """Sums and counts of shape [arm, unit, axis, task, *averaged], in order of appearance along each axis."""

    layout: Layout
    sums: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    scale: int
    labels: list[list[Label]]
    averaged: dict[str, list[Label]]
    used: int
    total: int
    place: Place
    runs: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    span: ValueSpan | None = None


class _Totals:
    """Sums of values and numbers of episodes over cells of a padded shape that grows as levels appear."""

    def __init__(self, query: CellQuery, layout: Layout) -> None:
        self._query = query
        self._layout = layout
        self.sums, self.counts = Sums((1,) * len(layout.cells)), Sums((1,) * len(layout.cells))

    def add(self, walk: Walk, part: Part, keys: Keys) -> None:
        """Add a part's rows, whose packed keys are given."""
        shape = tuple(1 << each.bits for each in self._layout.cells)
        _require_room(shape, self._layout)
        self.sums.reshape(shape)
        self.counts.reshape(shape)
        cells = keys >> self._layout.bits_of_repeats
        query = self._query
        if query.episodes:
            successes, out_of = whole_counts(walk, part, query.value, query.episodes)
            self.sums.add(cells, successes, 1)
            self.counts.add(cells, out_of, 1)
        else:
            self.sums.add(cells, part.numerators(query.value), part.block.values[query.value].denominator)
            self.counts.add(cells, np.ones(part.size, dtype=np.int64), 1)

    def take_out(self, repeats: Repeats) -> None:
        """Subtract what was counted too often."""
        repeats.apply(self.sums, self._layout.repeats, self._query.value)
        repeats.apply(self.counts, self._layout.repeats, self._query.episodes)


def sum_cells(rows: Rows, layout: Layout, query: CellQuery) -> CellSums:
    """Sum the selected rows by cell.

    Raises:
        RegisterError: see `prereg_kit.registers.cells.table.cell_table`.
    """
    watched = names_runs(rows, layout.where, layout.columns)

    def reading() -> Walk:
        return Walk(
            rows, layout.where, key=layout.columns, required=(RUN,) if watched else (), values=query.values,
            missing=query.policy.missing_values, ranges={query.value: query.value_range},
        )  # fmt: skip

    walk = reading()
    packer, totals = Packer(layout.fields, rows.size), _Totals(query, layout)
    span = ValueSpan(query.value)
    constants, owners = ConstantColumns(layout.fixed), RunOwners(watched, *layout.dims[:2])
    used = 0
    hopeless = False
    for each in walk:
        part, codes = located(each, layout.fields, walk)
        if not part.size:
            continue
        used += part.size
        part.use()
        constants.look(part)
        if query.episodes is None and query.value_kind == "number":
            span.look(part)
        owners.look(part, codes[0], codes[1])
        keys = packer.pack(codes, part.size)
        hopeless = query.policy.needs_every_cell and sparse.hopeless(layout.cells, rows.size)
        if not hopeless:  # else the keys are kept, and say what is missing
            totals.add(walk, part, keys)
    if not used:
        raise walk.selector.nothing()
    constants.require(walk)
    owners.require(walk)
    if hopeless:
        labels = [walk.labels(each) for each in layout.cells]
        raise sparse.refusal(
            packer.kept() >> layout.bits_of_repeats, layout.cells, labels, Place(file=rows.files[0])
        )
    notes = [f"{walk.excluded} rows without a {query.value} were left out"] if walk.excluded else []
    repeats = _repeats(packer, reading, query)
    if repeats is not None:
        totals.take_out(repeats)
        used -= repeats.dropped
        notes.append(repeats.note)
    sizes = tuple(each.size for each in layout.cells)
    return CellSums(
        layout, totals.sums.trimmed(sizes), totals.counts.trimmed(sizes), totals.sums.denominator,
        [walk.labels(each) for each in layout.dims], {each.column: walk.labels(each) for each in layout.averaged},
        used, rows.size, Place(file=rows.files[0]), owners.names(walk), tuple(notes), span,
    )  # fmt: skip


def _repeats(packer: Packer, reading: Callable[[], Walk], query: CellQuery) -> Repeats | None:
    repeated = packer.repeated()
    if not len(repeated):
        return None
    return find_repeats(reading(), packer, repeated, query.policy.repeats)


def _require_room(shape: tuple[int, ...], layout: Layout) -> None:
    if math.prod(shape) > _MOST_CELLS:
        raise RegisterError(
            "more cells than a table can hold",
            expected=f"at most {_MOST_CELLS} cells (each dimension rounded up to a power of two)",
            found={each.column: each.size for each in layout.cells if each.column},
            next_step="Select fewer rows with `where`.",
            code="too-many-cells",
        )

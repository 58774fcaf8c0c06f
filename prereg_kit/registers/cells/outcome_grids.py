"""Diagnostic tables: the outcomes of one unit over schedules x samples, exact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.labels import canonical_order, key_text, text_of
from prereg_kit.registers.cells.local_codes import located
from prereg_kit.registers.cells.packed_keys import Field, Packer
from prereg_kit.registers.cells.query import OutcomeQuery
from prereg_kit.registers.cells.repeats import find_repeats
from prereg_kit.registers.cells.selection import require_columns
from prereg_kit.registers.cells.source import Ints, Label, Source
from prereg_kit.registers.cells.walk import Part, Walk

_SAFE = 1 << 62
_ALL = OutcomeQuery()

Cells = Mapping[Label, Mapping[Label, int]]
"""Schedule -> sample -> numerator."""


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Outcomes of one unit: `numerators / denominator`, shape [schedules, samples], int64 or Python integers."""

    numerators: npt.NDArray[Any]
    denominator: int


def outcome_tables(
    registers: Source, kind: str = "luck", query: OutcomeQuery = _ALL
) -> dict[str, dict[str, OutcomeTable]]:
    """Diagnostic tables: label of `each` -> unit -> outcomes over schedules x samples.

    Other identifying columns (step, condition, ...) must be constant within each label of `each`.

    Raises:
        RegisterError: as in `cell_table`; `unequal-cells` for schedules with different numbers of samples.
    """
    rows = registers.rows(kind)
    dims = query.dimensions
    require_columns(rows, dims, "a table of outcomes")
    others = tuple(name for name in rows.key if name not in (*dims, query.value))
    fields = tuple(Field(name) for name in dims)

    def reading() -> Walk:
        return Walk(
            rows, query.where, key=(*dims, *others), values={query.value: query.value_kind},
            ranges={query.value: query.value_range},
        )  # fmt: skip

    walk = reading()
    packer, collected = Packer(fields, rows.size), _Collected()
    constant = _ConstantWithin(query.each, others)
    for each in walk:
        part, codes = located(each, fields, walk)
        packer.pack(codes, part.size)
        part.use()
        collected.add(part.numerators(query.value), part.block.values[query.value].denominator)
        constant.look(walk, part)
    keys = packer.kept().copy()  # finding repeats sorts them
    repeated = packer.repeated()
    if len(repeated):
        find_repeats(reading(), packer, repeated, "refuse")
    labels = [walk.labels(part) for part in fields]
    named = ([labels[i][code] for i, code in enumerate(packer.unpack(key))] for key in keys.tolist())
    tables: dict[tuple[Label, Label], dict[Label, dict[Label, int]]] = {}
    for (one, two, three, four), number in zip(named, collected.numerators(), strict=True):
        tables.setdefault((one, two), {}).setdefault(three, {})[four] = number
    result: dict[str, dict[str, OutcomeTable]] = {}
    for one, two in _in_order(tables):
        place = Place(file=rows.files[0], key=key_text({query.each: one, query.unit: two}))
        grid = _grid(tables[one, two], query, place)
        result.setdefault(text_of(one), {})[text_of(two)] = OutcomeTable(grid, collected.scale)
    return result


class _Collected:
    """Exact values of all rows, in their order, over one denominator `scale`."""

    def __init__(self) -> None:
        self.scale = 1
        self._numbers: list[npt.NDArray[Any]] = []

    def add(self, numerators: npt.NDArray[Any], denominator: int) -> None:
        common = math.lcm(self.scale, denominator)
        self._numbers = [old * (common // self.scale) for old in self._numbers]
        self._numbers.append(numerators.astype(object) * (common // denominator))
        self.scale = common

    def numerators(self) -> list[int]:
        found: list[int] = np.concatenate(self._numbers).tolist()
        return found


class _ConstantWithin:
    """Columns that may take one value only within each label of another column."""

    def __init__(self, each: str, columns: tuple[str, ...]) -> None:
        self._each = each
        self._columns = columns
        self._taken: dict[tuple[int, str], int] = {}

    def look(self, walk: Walk, part: Part) -> None:
        """Note a part's rows.

        Raises:
            RegisterError: `mixed`.
        """
        for column in self._columns:
            for one, two in _pairs(part.codes(self._each), part.codes(column)):
                before = self._taken.setdefault((one, column), two)
                if before != two:
                    raise self._mixed(walk, column, one, (before, two))

    def _mixed(self, walk: Walk, column: str, one: int, both: tuple[int, int]) -> RegisterError:
        levels = walk.scan.levels
        key = f"{self._each}={text_of(levels[self._each].labels[one])}"
        return RegisterError(
            f"the selected rows mix several values of {column}",
            where=Place(file=walk.rows.files[0], field=column, key=key),
            found=[text_of(levels[column].labels[code]) for code in both],
            next_step=f"Name one {column} in the endpoint's `where`.",
            code="mixed",
        )


def _pairs(left: Ints | int, right: Ints | int) -> list[tuple[int, int]]:
    """The distinct pairs of codes of two columns, in order."""
    if isinstance(left, int) and isinstance(right, int):
        return [(left, right)]
    one, two = np.broadcast_arrays(np.asarray(left), np.asarray(right))
    return [(int(a), int(b)) for a, b in np.unique(np.stack([one.ravel(), two.ravel()], axis=1), axis=0)]


def _in_order(pairs: Iterable[tuple[Label, Label]]) -> list[tuple[Label, Label]]:
    """Pairs of labels in canonical order; that of the second labels is within each first one."""
    grouped: dict[Label, list[Label]] = {}
    for one, two in pairs:
        grouped.setdefault(one, []).append(two)
    return [(one, two) for one in canonical_order(grouped) for two in canonical_order(grouped[one])]


def _grid(cells: Cells, query: OutcomeQuery, place: Place) -> npt.NDArray[Any]:
    if len({len(line) for line in cells.values()}) > 1:
        raise RegisterError(
            f"{query.schedule}s with different numbers of {query.sample}s",
            where=place,
            found={text_of(label): len(line) for label, line in cells.items()},
            code="unequal-cells",
        )
    lines = (cells[label] for label in canonical_order(cells))
    grid = [[line[label] for label in canonical_order(line)] for line in lines]
    small = all(abs(number) < _SAFE for line in grid for number in line)
    return np.array(grid, dtype=np.int64 if small else object)

"""Rows that are wanted one by one: exact values with their keys, and diagnostic tables of outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.keys import Field, Packer
from prereg_kit.registers.cells.labels import canonical_order, key_text, text_of
from prereg_kit.registers.cells.locate import located
from prereg_kit.registers.cells.repeats import settle
from prereg_kit.registers.cells.selection import require_columns
from prereg_kit.registers.cells.source import Label, Source, ValueKind, Where
from prereg_kit.registers.cells.walk import Part, Walk

_SAFE = 1 << 62
_MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class ValueRow:
    """One exact value: `key` holds the key columns' labels as text (None where missing)."""

    key: Mapping[str, str | None]
    value: Fraction
    file: str
    row: int


def value_rows(
    registers: Source,
    kind: str,
    *,
    where: Where,
    value: str,
    columns: Sequence[str] = (),
    key: Sequence[str] | None = None,
) -> tuple[ValueRow, ...]:
    """The selected values with their keys, in canonical order. For registers of figures: at most a million rows.

    Args:
        registers: where the rows come from.
        kind: the kind of register, for instance probe or reported.
        where: conditions on columns.
        value: the column of numbers; texts are read as exact decimals, floats as their shortest decimal.
        columns: columns whose labels are wanted beside those of the key, where present.
        key: the columns that identify a row, or None for the register's default. They may lack a value.

    Raises:
        RegisterError: as in `cell_table`; `repeated-rows` or `conflicting-rows` for two rows of one key.
    """
    rows = registers.rows(kind)
    identifying = tuple(key) if key is not None else tuple(name for name in rows.key if name != value)
    require_columns(rows, tuple(key or ()), "the register's key")
    shown = tuple(dict.fromkeys((*identifying, *(name for name in columns if name in rows.columns))))
    walk = Walk(rows, where, coded=shown, values={value: "number"})
    found: list[ValueRow] = []
    seen: dict[tuple[str | None, ...], ValueRow] = {}
    for part in walk:
        if len(found) + part.size > _MOST_ROWS:
            raise RegisterError("more values than figures of a study can be", where=Place(file=part.block.file),
                                expected=f"at most {_MOST_ROWS} rows", code="too-many-rows")  # fmt: skip
        part.use()
        labels = {name: _labels(walk, part.codes(name), name, part.size) for name in shown}
        numbers, denominator = part.numerators(value), part.block.values[value].denominator
        for i in range(part.size):
            row = ValueRow(
                {name: labels[name][i] for name in shown}, Fraction(int(numbers[i]), denominator), part.block.file,
                part.block.first_row + part.position(i) + 1,
            )  # fmt: skip
            identity = tuple(row.key[name] for name in identifying)
            if identifying and identity in seen:
                raise _twice(row, seen[identity], identifying, value)
            seen[identity] = row
            found.append(row)
    ranks = {
        name: {
            label: i
            for i, label in enumerate(map(text_of, canonical_order({row.key[name] for row in found})))
        }
        for name in shown
    }
    return tuple(sorted(found, key=lambda row: tuple(ranks[name][text_of(row.key[name])] for name in shown)))


def _labels(walk: Walk, codes: Any, name: str, size: int) -> list[str | None]:  # noqa: ANN401 - an array or an int
    labels = walk.scan.levels[name].labels
    listed = [codes] * size if isinstance(codes, int) else codes.tolist()
    return [None if code < 0 or labels[code] is None else text_of(labels[code]) for code in listed]


def _twice(row: ValueRow, other: ValueRow, identifying: Sequence[str], value: str) -> RegisterError:
    same = row.value == other.value
    return RegisterError(
        "a duplicate row: the same key and the same value again"
        if same
        else f"two rows of one key differ in {value}",
        where=Place(file=row.file, field=value, key=key_text({name: row.key[name] for name in identifying})),
        expected="one row for each key",
        found=[f"{each.file} row {each.row}: {each.value}" for each in (other, row)],
        code="repeated-rows" if same else "conflicting-rows",
    )


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Outcomes of one unit: `numerators / denominator`, shape [schedules, samples], int64 or Python integers."""

    numerators: npt.NDArray[Any]
    denominator: int


def outcome_tables(
    registers: Source,
    kind: str = "luck",
    *,
    where: Where,
    value: str = "outcome",
    value_kind: ValueKind = "number",
    each: str = "run_id",
    unit: str = "task",
    schedule: str = "schedule",
    sample: str = "sample",
) -> dict[str, dict[str, OutcomeTable]]:
    """Diagnostic tables: label of `each` -> unit -> outcomes over schedules x samples.

    Other identifying columns (step, condition, ...) must be constant within each label of `each`.

    Raises:
        RegisterError: as in `cell_table`; `unequal-cells` for schedules with different numbers of samples.
    """
    rows = registers.rows(kind)
    dims = (each, unit, schedule, sample)
    require_columns(rows, dims, "a table of outcomes")
    others = tuple(name for name in rows.key if name not in (*dims, value))
    fields = tuple(Field(name) for name in dims)
    walk = Walk(rows, where, key=(*dims, *others), values={value: value_kind})
    packer = Packer(fields, rows.size)
    numbers: list[npt.NDArray[Any]] = []
    scale, taken = 1, dict[tuple[int, str], int]()
    for part in walk:
        _, locals_ = located(part, fields, walk)
        packer.pack(locals_, part.size)
        part.use()
        top, bottom = part.numerators(value).astype(object), part.block.values[value].denominator
        common = math.lcm(scale, bottom)
        numbers = [old * (common // scale) for old in numbers]
        numbers.append(top * (common // bottom))
        scale = common
        for name in others:
            _require_constant(walk, part, each, name, taken)
    keys, values = packer.kept().copy(), np.concatenate(numbers)
    repeated = packer.repeated()
    if len(repeated):
        settle(
            Walk(rows, where, key=(*dims, *others), values={value: value_kind}),
            packer,
            repeated,
            (value,),
            "refuse",
        )
    labels = [part.labels(walk.scan.levels[part.column]) for part in fields]
    tables: dict[tuple[Label, Label], dict[Label, dict[Label, int]]] = {}
    for key, number in zip(keys.tolist(), values.tolist(), strict=True):
        one, two, three, four = (labels[i][code] for i, code in enumerate(packer.unpack(key)))
        tables.setdefault((one, two), {}).setdefault(three, {})[four] = number
    result: dict[str, dict[str, OutcomeTable]] = {}
    for one in canonical_order({key[0] for key in tables}):
        for two in canonical_order({key[1] for key in tables if key[0] == one}):
            cells = tables[one, two]
            if len({len(line) for line in cells.values()}) > 1:
                raise RegisterError(
                    f"{schedule}s with different numbers of {sample}s",
                    where=Place(file=rows.files[0], key=key_text({each: one, unit: two})),
                    found={text_of(label): len(line) for label, line in cells.items()},
                    code="unequal-cells",
                )
            grid = [[line[label] for label in canonical_order(line)]
                    for line in (cells[label] for label in canonical_order(cells))]  # fmt: skip
            small = all(abs(number) < _SAFE for line in grid for number in line)
            numbers_ = np.array(grid, dtype=np.int64 if small else object)
            result.setdefault(text_of(one), {})[text_of(two)] = OutcomeTable(numbers_, scale)
    return result


def _require_constant(
    walk: Walk, part: Part, name: str, column: str, taken: dict[tuple[int, str], int]
) -> None:
    each, other = part.codes(name), part.codes(column)
    if isinstance(each, int) and isinstance(other, int):
        pairs = [(each, other)]
    else:
        left, right = np.broadcast_arrays(np.asarray(each), np.asarray(other))
        pairs = [
            (int(a), int(b)) for a, b in np.unique(np.stack([left.ravel(), right.ravel()], axis=1), axis=0)
        ]
    for one, two in pairs:
        before = taken.setdefault((one, column), two)
        if before != two:
            labels = walk.scan.levels
            raise RegisterError(
                f"the selected rows mix several values of {column}",
                where=Place(
                    file=walk.rows.files[0], field=column, key=f"{name}={text_of(labels[name].labels[one])}"
                ),
                found=[text_of(labels[column].labels[code]) for code in (before, two)],
                next_step=f"Name one {column} in the endpoint's `where`.",
                code="mixed",
            )

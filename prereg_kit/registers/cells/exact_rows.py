"""Rows that are wanted one by one: exact values with their keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.labels import canonical_order, key_text, text_of
from prereg_kit.registers.cells.selection import require_columns
from prereg_kit.registers.cells.source import Source, ValueRange, Where
from prereg_kit.registers.cells.walk import Walk

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
    value_range: ValueRange | None = None,
) -> tuple[ValueRow, ...]:
    """The selected values with their keys, in canonical order. For registers of figures: at most a million rows.

    Args:
        registers: where the rows come from.
        kind: the kind of register, for instance probe or reported.
        where: conditions on columns.
        value: the column of numbers; texts are read as exact decimals, floats as their shortest decimal.
        columns: columns whose labels are wanted beside those of the key, where present.
        key: the columns that identify a row, or None for the register's default. They may lack a value.
        value_range: between which numbers every value must lie, None for any.

    Raises:
        RegisterError: as in `cell_table`; `repeated-rows` or `conflicting-rows` for two rows of one key.
    """
    rows = registers.rows(kind)
    identifying = tuple(key) if key is not None else tuple(name for name in rows.key if name != value)
    require_columns(rows, tuple(key or ()), "the register's key")
    shown = tuple(dict.fromkeys((*identifying, *(name for name in columns if name in rows.columns))))
    walk = Walk(rows, where, coded=shown, values={value: "number"}, ranges={value: value_range})
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
    return tuple(_in_order(found, shown))


def _in_order(rows: Sequence[ValueRow], names: Sequence[str]) -> list[ValueRow]:
    ranks = {name: _ranks({row.key[name] for row in rows}) for name in names}
    return sorted(rows, key=lambda row: tuple(ranks[name][text_of(row.key[name])] for name in names))


def _ranks(labels: Collection[str | None]) -> dict[str, int]:
    return {text_of(label): i for i, label in enumerate(canonical_order(labels))}


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

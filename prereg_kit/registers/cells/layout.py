"""What each column of a register is to one endpoint: a dimension of its cells, averaged over, or to be constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prereg_kit.registers.cells.packed_keys import Field
from prereg_kit.registers.cells.query import CellQuery, literals, several_values
from prereg_kit.registers.cells.selection import matches, require_columns
from prereg_kit.registers.cells.source import Rows, Where
from prereg_kit.registers.formats import CONTEXTS, REPEATS


@dataclass(frozen=True)
class Layout:
    """The fields of a row's key.

    Attributes:
        dims: arm, pairing column, axis, cluster; a dimension that the endpoint lacks is a field without a column.
        averaged: columns that the plan averages over in as many words; every cell must have the same of them.
        repeats: columns that number the episodes of a cell.
        fixed: columns that identify a row and may therefore take one value only.
        where: the plan's conditions, with those that the arms and the axis add.
    """

    dims: tuple[Field, Field, Field, Field]
    averaged: tuple[Field, ...]
    repeats: tuple[Field, ...]
    fixed: tuple[str, ...]
    where: Where

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields, most significant first."""
        return (*self.dims, *self.averaged, *self.repeats)

    @property
    def cells(self) -> tuple[Field, ...]:
        """The fields that number a cell."""
        return (*self.dims, *self.averaged)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the key: those of the fields and the fixed ones."""
        return (*(part.column for part in self.fields if part.column), *self.fixed)

    @property
    def bits_of_repeats(self) -> int:
        """The lowest bits of a packed key, which number the episodes of one cell."""
        return sum(each.bits for each in self.repeats)


def lay_out(rows: Rows, query: CellQuery) -> Layout:
    """Sort the columns of a register by what they are to an endpoint.

    A key that the plan declares is taken as it stands: its columns that no format lists number repetitions.
    Without one, every text or whole-number column that no format lists must be constant over the selection.

    Raises:
        RegisterError: `absent-column`.
        UsageError: arms without an arm column, or two dimensions on one column.
    """
    named = query.dimensions
    require_columns(rows, named, "the endpoint's cells")
    averaged = _averaged(query, named)
    require_columns(rows, (*(query.key or ()), *averaged), "the register's key")
    repeats, fixed = _others(rows, query, (*named, *averaged))
    return Layout(
        dims=(
            _field(rows, query.arm, tuple(query.arms) or None),
            _field(rows, query.pairs),
            _field(rows, query.axis, query.axis_values),
            _field(rows, query.cluster),
        ),
        averaged=tuple(Field(name) for name in averaged),
        repeats=tuple(Field(name) for name in repeats),
        fixed=fixed,
        where={**_of_dimensions(query), **literals(query.where)},
    )


def _averaged(query: CellQuery, named: Sequence[str]) -> tuple[str, ...]:
    """Columns that the plan averages over, in as many words or by listing several values."""
    wanted = dict.fromkeys((*query.averaged, *several_values(query.where)))
    return tuple(name for name in wanted if name not in named and name != "run_id")


def _others(rows: Rows, query: CellQuery, taken: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The other columns of the key: those that number repetitions, and those that must be constant."""
    identifying = rows.key if query.key is None else tuple(query.key)
    rest = [name for name in identifying if name not in (*taken, *query.values, "run_id")]
    numbering = {name for name in rest if name in REPEATS or (query.key is not None and name not in CONTEXTS)}
    return (
        tuple(name for name in rest if name in numbering),
        tuple(name for name in rest if name not in numbering),
    )


def _field(rows: Rows, column: str | None, labels: Sequence[str] | None = None) -> Field:
    """A dimension: absent, with the labels that a rule names, or with those that are found."""
    if column is None:
        return Field("", fixed=("",))
    if labels is None:
        return Field(column)
    type_ = rows.columns[column]
    return Field(column, fixed=tuple(labels), match=lambda label, wanted: matches(label, str(wanted), type_))


def _of_dimensions(query: CellQuery) -> dict[str, tuple[str, ...]]:
    """The conditions that the arms and the points of an axis add."""
    added = ((query.arm, query.arms), (query.axis, query.axis_values))
    return {column: tuple(labels) for column, labels in added if column and labels}

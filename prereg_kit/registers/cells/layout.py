"""What each column of a register is to one endpoint: a dimension of its cells, averaged over, or to be constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prereg_kit.errors import UsageError
from prereg_kit.registers.cells.keys import Field
from prereg_kit.registers.cells.selection import literals, matches, require_columns
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


def lay_out(
    rows: Rows,
    where: Where,
    *,
    arm: str | None,
    arms: Sequence[str],
    pairs: str | None,
    axis: str | None,
    axis_values: Sequence[str] | None,
    cluster: str | None,
    key: Sequence[str] | None,
    averaged: Sequence[str],
    values: Sequence[str],
) -> Layout:
    """Sort the columns of a register by what they are to an endpoint.

    A key that the plan declares is taken as it stands: its columns that no format lists number repetitions.
    Without one, every text or whole-number column that no format lists must be constant over the selection.

    Raises:
        RegisterError: `absent-column`.
        UsageError: arms without an arm column, or two dimensions on one column.
    """
    if bool(arms) != (arm is not None):
        raise UsageError(
            "arms and their column go together", expected="both or neither", found=(arm, tuple(arms))
        )
    named = [name for name in (arm, pairs, axis, cluster) if name is not None]
    if len(set(named)) != len(named):
        raise UsageError("one column cannot be two dimensions of a cell table", found=named)
    require_columns(rows, named, "the endpoint's cells")
    asked = literals(where)
    several = [name for name, wanted in asked.items() if len(wanted) > 1]
    mean_over = tuple(dict.fromkeys(n for n in (*averaged, *several) if n not in named and n != "run_id"))
    identifying = tuple(key) if key is not None else rows.key
    require_columns(rows, (*(key or ()), *mean_over), "the register's key")
    rest = [n for n in identifying if n not in named and n not in mean_over and n not in (*values, "run_id")]
    repeats = [n for n in rest if n in REPEATS or (key is not None and n not in CONTEXTS)]

    def fixed_field(column: str | None, labels: Sequence[str] | None) -> Field:
        if column is None:
            return Field("", fixed=("",))
        if labels is None:
            return Field(column)
        type_ = rows.columns[column]
        return Field(
            column, fixed=tuple(labels), match=lambda label, wanted: matches(label, str(wanted), type_)
        )

    added = {
        column: tuple(labels) for column, labels in ((arm, arms), (axis, axis_values)) if column and labels
    }
    return Layout(
        dims=(
            fixed_field(arm, tuple(arms) or None),
            fixed_field(pairs, None),
            fixed_field(axis, axis_values),
            fixed_field(cluster, None),
        ),
        averaged=tuple(Field(name) for name in mean_over),
        repeats=tuple(Field(name) for name in repeats),
        fixed=tuple(name for name in rest if name not in repeats),
        where={**added, **asked},
    )

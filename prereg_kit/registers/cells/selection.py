"""The rows that an endpoint names: `where` compared by each column's type, absent values named with those present."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.plan.fields import exact
from prereg_kit.registers.cells.labels import listing, shown
from prereg_kit.registers.cells.query import literals
from prereg_kit.registers.cells.source import Block, Label, Levels, Mask, Rows, Scan, Where
from prereg_kit.registers.formats import ColumnType

TRUTH = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}
"""The only texts that are read as truth values."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def require_columns(rows: Rows, names: Sequence[str], purpose: str) -> None:
    """Refuse a column that the register, or one of its files, lacks.

    Raises:
        RegisterError: code `absent-column`; the columns present are named.
    """
    for name in names:
        if name not in rows.columns:
            raise RegisterError(
                f"no column {name!r}, which is needed for {purpose}",
                where=Place(file=rows.files[0], field=name),
                expected=f"one of the columns present: {', '.join(map(shown, sorted(rows.columns)))}",
                found=name,
                next_step=f"Name the column that the register uses, or export {name!r}.",
                code="absent-column",
            )
        if name in rows.lacking:
            raise RegisterError(
                f"this part of the register lacks the column {name!r}, which other parts have",
                where=Place(file=rows.lacking[name], field=name),
                next_step="Export the parts with the same columns.",
                code="absent-column",
            )


def require_plan_columns(rows: Rows, named: Sequence[tuple[str, str]]) -> None:
    """Refuse a register that lacks columns which a plan names: all of them at once, each with the plan's field.

    Args:
        rows: the register.
        named: (column, the field of the plan that names it).

    Raises:
        RegisterError: code `absent-column`; the field of the place is the first absent column.
    """
    absent = dict.fromkeys((column, plan_field) for column, plan_field in named if column not in rows.columns)
    if len(absent) < 2:  # one alone is refused where it is needed
        return
    said = "; ".join(f"{shown(column)} (named by `{plan_field}`)" for column, plan_field in absent)
    raise RegisterError(
        f"the register lacks {len(absent)} columns that the plan names: {said}",
        where=Place(file=rows.files[0], field=next(iter(absent))[0]),
        expected=f"columns that are present: {', '.join(map(shown, sorted(rows.columns)))}",
        found=[column for column, _ in absent],
        next_step="Change these fields of the plan to the register's own names (`null` for a cluster column "
        "that does not exist), or rename the columns. `prereg new --from FILE` writes a plan for a table.",
        code="absent-column",
    )


def matches(label: Label, literal: str, type_: ColumnType) -> bool:
    """Whether a level of a column is what a plan's literal text says."""
    if label is None:
        return False
    if isinstance(label, bool):
        return TRUTH.get(literal) is label
    if isinstance(label, int):
        return bool(_INTEGER.fullmatch(literal)) and int(literal) == label
    if label == literal:
        return True
    if type_ == "number":
        try:
            return label.isascii() and literal.isascii() and exact(label) == exact(literal)
        except ValueError:
            return False
    return literal in ("true", "false") and TRUTH.get(label) is TRUTH[literal] and not label.isdigit()


class Selector:
    """`where` compiled against one scan; remembers which levels occurred, so that an absent value can be named."""

    def __init__(self, rows: Rows, where: Where) -> None:
        """Check columns and literals against the register's types.

        Raises:
            RegisterError: `absent-column`, or `where-type` for a literal that the column's type cannot hold.
        """
        self._rows = rows
        self._wanted = literals(where)
        require_columns(rows, tuple(self._wanted), "`where`")
        self._tables: dict[str, Mask] = {}
        self._seen = {name: np.zeros(0, dtype=np.bool_) for name in self._wanted}
        for name, wanted in self._wanted.items():
            type_ = rows.columns[name]
            if not wanted:
                raise RegisterError(
                    f"`where` lists no value of {name!r}, so that no row can be selected",
                    where=Place(file=rows.files[0], field=name),
                    expected="at least one value",
                    next_step="List the values in the endpoint's `where`, or leave the column out.",
                    code="no-rows-selected",
                )
            for literal in wanted:
                fits = (type_ != "integer" or _INTEGER.fullmatch(literal)) and (
                    type_ != "boolean" or literal in TRUTH
                )
                if not fits:
                    raise RegisterError(
                        f"`where` asks column {name!r} for a value that it cannot hold",
                        where=Place(file=rows.files[0], field=name),
                        expected=f"a value of type {type_}",
                        found=literal,
                        code="where-type",
                    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be coded in the scan."""
        return tuple(self._wanted)

    def mask(self, block: Block, scan: Scan) -> Mask | bool:
        """The rows of a block that `where` names: an array, or True for all, or False for none."""
        result: Mask | bool = True if block.keep is None else block.keep
        for name, wanted in self._wanted.items():
            table = self._table(name, wanted, scan.levels[name])
            codes = block.codes[name]
            seen = self._seen[name]
            if isinstance(codes, int):
                hit: Mask | bool = bool(codes >= 0 and table[codes])
                if codes >= 0:
                    seen[codes] = True
            else:
                hit = table[codes]  # a missing value is code -1: the last entry, which is False
                seen[codes] = True
                seen[-1] = False
            result = hit if result is True else result if hit is True else _both(result, hit)
        return result

    def _table(self, name: str, wanted: tuple[str, ...], levels: Levels) -> Mask:
        table = self._tables.get(name)
        if table is None or len(table) != len(levels.labels) + 1:
            type_ = self._rows.columns[name]
            table = np.array(
                [any(matches(label, literal, type_) for literal in wanted) for label in levels.labels]
                + [False]
            )
            self._tables[name] = table
            seen = np.zeros(len(table), dtype=np.bool_)
            old = self._seen[name][:-1]
            seen[: len(old)] = old
            self._seen[name] = seen
        return table

    def present(self, name: str, scan: Scan) -> list[Label]:
        """The levels of a `where` column that occur in the register."""
        flags = self._seen[name][:-1]
        return [label for label, flag in zip(scan.levels[name].labels, flags, strict=False) if flag]

    def require_present(self, scan: Scan) -> None:
        """Refuse a value of `where` that no row has.

        Raises:
            RegisterError: code `absent-value`; the value and the values present are named.
        """
        for name, wanted in self._wanted.items():
            present = self.present(name, scan)
            type_ = self._rows.columns[name]
            for literal in wanted:
                if not any(matches(label, literal, type_) for label in present):
                    raise RegisterError(
                        f"no row has {name} = {literal}",
                        where=Place(file=self._rows.files[0], field=name),
                        expected=f"a value that is present: {listing(present) or 'none'}",
                        found=literal,
                        next_step="Add the rows, or correct the plan.",
                        code="absent-value",
                    )

    def nothing(self) -> RegisterError:
        """The error for a selection whose every value occurs, but never together."""
        asked = "; ".join(f"{name} = {' or '.join(wanted)}" for name, wanted in self._wanted.items())
        return RegisterError(
            f"no row has all of: {asked}" if asked else "no rows",
            where=Place(file=self._rows.files[0]),
            next_step="Each value occurs, but not in one row: add the rows, or correct the plan's `where`.",
            code="no-rows-selected",
        )


def _both(left: Mask | bool, right: Mask | bool) -> Mask | bool:
    if left is False or right is False:
        return False
    return np.logical_and(left, right)

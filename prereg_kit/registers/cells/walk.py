"""The selected rows of a register, block by block, with every refused value named by its row and key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.plan.fields import decimal_text, exact
from prereg_kit.registers.cells.labels import key_text
from prereg_kit.registers.cells.packed_keys import Field
from prereg_kit.registers.cells.query import MissingPolicy
from prereg_kit.registers.cells.selection import Selector, require_columns
from prereg_kit.registers.cells.source import (
    BAD,
    MISSING,
    MOST_COMMON,
    WIDE,
    Block,
    Ints,
    Label,
    Levels,
    Mask,
    Rows,
    Scan,
    ValueKind,
    ValueRange,
    Where,
)


@dataclass
class Part:
    """The rows of one block that are selected; `rows` are positions in the block, None for all of them."""

    block: Block
    rows: npt.NDArray[np.intp] | None

    @property
    def size(self) -> int:
        """Number of selected rows."""
        return self.block.size if self.rows is None else len(self.rows)

    def codes(self, name: str) -> Ints | int:
        """The codes of a column at the selected rows; an int where the block is constant."""
        codes = self.block.codes[name]
        return codes if isinstance(codes, int) or self.rows is None else codes[self.rows]

    def numerators(self, name: str) -> npt.NDArray[Any]:
        """The numerators of a value column at the selected rows."""
        numbers = self.block.values[name].numerators
        return numbers if self.rows is None else numbers[self.rows]

    def position(self, i: int) -> int:
        """The place in the block of the i-th selected row."""
        return i if self.rows is None else int(self.rows[i])

    def use(self) -> None:
        """Note that the rows enter a value."""
        if self.block.usage is not None:
            self.block.usage.take(self.block.first_row, self.block.size, self.rows)

    def narrowed(self, mask: Mask) -> Part:
        """The part with only those selected rows where `mask` is true."""
        kept = np.flatnonzero(mask)
        return Part(self.block, kept if self.rows is None else self.rows[kept])


class Walk:
    """One pass over the selected rows.

    Args:
        rows: the register.
        where: conditions on columns.
        key: columns that identify a row; a missing one is refused.
        coded: further columns to be coded, which may be missing.
        values: value columns and their kinds; a missing or impossible one is refused at selected rows only.
        lists: list columns.
        required: further columns to be coded of which a missing value is refused.
        missing: `exclude` leaves rows without a value out and counts them in `excluded`.
        ranges: value columns and the least and greatest value that a row may have.
    """

    def __init__(
        self,
        rows: Rows,
        where: Where,
        *,
        key: Sequence[str] = (),
        coded: Sequence[str] = (),
        values: Mapping[str, ValueKind] | None = None,
        lists: Sequence[str] = (),
        missing: MissingPolicy = "refuse",
        required: Sequence[str] = (),
        ranges: Mapping[str, ValueRange | None] | None = None,
    ) -> None:
        self.rows = rows
        self.key = tuple(key)
        self.required = tuple(required)
        self.selector = Selector(rows, where)
        self.values = dict(values or {})
        self._common = dict.fromkeys(self.values, 1)
        require_columns(rows, (*self.values, *lists), "the endpoint's value")
        names = tuple(dict.fromkeys((*self.selector.columns, *self.key, *self.required, *coded)))
        self.scan: Scan = rows.scan(names, self.values, tuple(lists))
        self.missing = missing
        self._ranges = dict(ranges or {})
        self.used = 0
        self.excluded = 0

    def __iter__(self) -> Iterator[Part]:
        """The non-empty parts, in the register's order.

        Raises:
            RegisterError: `missing-key`, `missing-value`, `bad-value`, `absent-value` or `no-rows-selected`.
        """
        for block in self.scan:
            mask = self.selector.mask(block, self.scan)
            if mask is False:
                continue
            part = Part(block, None if mask is True else np.flatnonzero(mask))
            if part.rows is not None and len(part.rows) == block.size:
                part = Part(block, None)
            for name in (*self.key, *self.required):
                self._require_key(part, name)
            for name in self.values:
                part = self._checked(part, name)
                self._require_range(part, name)
            self.used += part.size
            if part.size:
                yield part
        self.selector.require_present(self.scan)
        if not self.used:
            raise self.selector.nothing()

    def labels(self, field: Field) -> list[Label]:
        """The labels of a key's field by local code, as far as the pass has come."""
        levels = self.scan.levels.get(field.column)
        return field.labels(Levels() if levels is None else levels)

    def key_at(self, block: Block, row: int) -> dict[str, Label]:
        """The key of a block's row, for a message; a missing part is None."""
        parts: dict[str, Label] = {}
        for name in self.key:
            codes = block.codes[name]
            code = codes if isinstance(codes, int) else int(codes[row])
            parts[name] = None if code < 0 else self.scan.levels[name].labels[code]
        return parts

    def place(self, block: Block, row: int, name: str | None) -> Place:
        """Where a row stands: file, column, row number (data rows from 1) and key."""
        shown = key_text(self.key_at(block, row))
        return Place(
            file=block.file, field=name, key=f"{block.first_row + row + 1}" + (f" ({shown})" if shown else "")
        )

    def _require_key(self, part: Part, name: str) -> None:
        codes = part.codes(name)
        absent = codes < 0 if isinstance(codes, int) else None
        if absent is None and int(codes.min(initial=0)) >= 0:  # type: ignore[union-attr]
            return
        if absent is False or not part.size:
            return
        first = 0 if absent else int(np.argmax(codes < 0))
        raise RegisterError(
            f"a row without a value in the key column {name!r}",
            where=self.place(part.block, part.position(first), name),
            next_step="Every row must say which row it is: fill the column in.",
            code="missing-key",
        )

    def _checked(self, part: Part, name: str) -> Part:
        self._share(part, name)
        states = part.block.values[name].states
        if states is None:
            return part
        states = states if part.rows is None else states[part.rows]
        for state in (BAD, WIDE):
            bad = np.flatnonzero(states == state)
            if len(bad):
                raise self._refused(part, int(bad[0]), name, len(bad), state)
        absent = states == MISSING
        if not absent.any():
            return part
        if self.missing == "exclude":
            self.excluded += int(absent.sum())
            return part.narrowed(~absent)
        row = part.position(int(np.argmax(absent)))
        count = int(absent.sum())
        raise RegisterError(
            f"a missing {name}" + (f" (the first of {count} in this block of rows)" if count > 1 else ""),
            where=self.place(part.block, row, name),
            expected="a value: a missing outcome is neither a success nor a failure",
            found=part.block.raw(name, row),
            next_step="Fill it in, or mark the run as excluded for a reason that the plan lists.",
            code="missing-value",
        )

    def _require_range(self, part: Part, name: str) -> None:
        bounds = self._ranges.get(name)
        if bounds is None or not part.size:
            return
        denominator = part.block.values[name].denominator
        least, greatest = (bound * denominator for bound in bounds)
        numbers = part.numerators(name)
        if least <= int(numbers.min()) and int(numbers.max()) <= greatest:
            return
        outside = np.flatnonzero((numbers < math.ceil(least)) | (numbers > math.floor(greatest)))
        row = part.position(int(outside[0]))
        low, high = (decimal_text(bound) for bound in bounds)
        raise RegisterError(
            f"a {name} outside the endpoint's range (the first of {len(outside)} in this block of rows)",
            where=self.place(part.block, row, name),
            expected=f"a number from {low} to {high}, as the endpoint's `range` or `unit` says",
            found=part.block.raw(name, row),
            next_step="Bring all rows to one scale; two scales in one column are never subtracted.",
            code="out-of-range",
        )

    def _share(self, part: Part, name: str) -> None:
        """Keep the common denominator of all values so far within its bound."""
        denominator = part.block.values[name].denominator
        common = math.lcm(self._common[name], denominator)
        if common <= MOST_COMMON:
            self._common[name] = common
            return
        for i, top in enumerate(part.numerators(name).tolist()):
            own = Fraction(int(top), denominator).denominator
            self._common[name] = math.lcm(self._common[name], own)
            if self._common[name] > MOST_COMMON:
                raise self._refused(part, i, name, 1, WIDE)

    def _refused(self, part: Part, i: int, name: str, count: int, state: int) -> RegisterError:
        row = part.position(i)
        if state == WIDE:
            return RegisterError(
                f"a {name} too large or too fine to be exact",
                where=self.place(part.block, row, name),
                expected="numbers between -1e30 and 1e30 with at most sixty decimals, and a common denominator of all "
                f"values of at most {len(str(MOST_COMMON)) - 1} digits",
                found=part.block.raw(name, row),
                next_step="Round the values, or give them in another unit.",
                code="bad-value",
            )
        boolean = self.values[name] == "boolean"
        return RegisterError(
            f"a {name} that is not {'a truth value' if boolean else 'an exact number'}"
            + (f" (the first of {count} in this block of rows)" if count > 1 else ""),
            where=self.place(part.block, row, name),
            expected="true, false, True, False, 0 or 1" if boolean else "a whole number or a finite decimal",
            found=part.block.raw(name, row),
            next_step=_what_to_write(part.block.raw(name, row))
            if boolean
            else "Correct the row; nothing is guessed.",
            code="bad-value",
        )


def _what_to_write(value: object) -> str:
    """What a plan says where rows hold something else than true and false."""
    if str(value).strip().lower() in ("true", "false"):
        return "Spreadsheets write TRUE and FALSE: `prereg import` makes true and false of them, on record."
    try:
        number = exact(str(value).strip())
    except ValueError:
        return "Correct the row; nothing is guessed. `prereg import` lists what a file seems to hold."
    if number in (0, 1):
        return "Write 1 and 0 without decimals, or convert the file with `prereg import`."
    unit = (
        "`unit: fraction`"
        if 0 < number < 1
        else "its unit and range, for instance `unit: points, range: [0, 100]`"
    )
    return (
        "`unit: proportion`, the default, means true or false in every row. If rows hold numbers, write "
        f"{unit} in the endpoint."
    )

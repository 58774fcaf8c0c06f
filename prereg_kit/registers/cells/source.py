"""What the cells need from whoever reads registers: coded columns and exact values, block by block.

A coded column is whole numbers that index a growing list of labels, so that comparing, filtering and counting
never touches a text. A constant column of a block is one `int`, not an array. Values are exact: whole numerators
over one denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from prereg_kit.registers.formats import ColumnType

Where = Mapping[str, str | Sequence[str]]
"""Column -> the literal text, or texts, of a plan; compared by the column's type."""

Label = str | int | bool | None
"""A level of a coded column; None where a file lacks the column."""

ValueKind = Literal["boolean", "number"]
ValueRange = tuple[Fraction, Fraction]
"""The least and the greatest value that a row may have, both included."""
Ints = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]

OK, MISSING, BAD, WIDE = 0, -1, -2, -3
"""States of a value: there, absent (null, empty, NaN), not of the declared kind, or a number beyond the bounds of
`prereg_kit.plan.fields.exact` or of `MOST_COMMON`."""

MOST_COMMON = 10**300
"""The values of one endpoint have a common denominator of at most this size."""


@dataclass(frozen=True)
class Values:
    """Exact values of one column over a block: row i is `numerators[i] / denominator`, where `states[i]` is `OK`.

    `numerators` is int64, or object (Python integers) where int64 is too small; `states` is None if all are `OK`.
    """

    numerators: npt.NDArray[Any]
    denominator: int = 1
    states: npt.NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Lists:
    """A list column over a block: row i holds `codes[offsets[i]:offsets[i + 1]]`; a code of -1 is a null entry."""

    offsets: Ints
    codes: Ints


class Usage:
    """Which rows of one file entered the value of some endpoint: one byte a row, whoever asks and how often."""

    def __init__(self) -> None:
        self._flags: Mask = np.zeros(0, dtype=np.bool_)

    @property
    def count(self) -> int:
        """Number of rows used."""
        return int(self._flags.sum())

    def take(self, first: int, size: int, rows: npt.NDArray[np.intp] | None) -> None:
        """Note rows of a block that starts at row `first` of the file; `rows` are places in it, None for all."""
        if first + size > len(self._flags):
            grown = np.zeros(max(first + size, 2 * len(self._flags)), dtype=np.bool_)
            grown[: len(self._flags)] = self._flags
            self._flags = grown
        if rows is None:
            self._flags[first : first + size] = True
        else:
            self._flags[first + rows] = True

    def release(self, row: int) -> None:
        """Take a row of the file back, for instance a repeat that was dropped."""
        self._flags[row] = False


@dataclass(frozen=True)
class Block:
    """Consecutive rows of one file; `first_row` is the zero-based row in the file, `raw` is for error messages.

    `keep` masks rows that belong to runs which do not count; None keeps all. A code of -1 is a missing value.
    `usage` is told which rows were used, where somebody wants to know.
    """

    file: str
    first_row: int
    size: int
    codes: Mapping[str, Ints | int]
    values: Mapping[str, Values]
    lists: Mapping[str, Lists]
    raw: Callable[[str, int], object]
    keep: Mask | None = None
    usage: Usage | None = None


@dataclass
class Levels:
    """The labels of one coded column, in order of appearance over all files of a scan."""

    labels: list[Label] = field(default_factory=list)
    index: dict[tuple[type, Label], int] = field(default_factory=dict)

    def code(self, label: Label) -> int:
        """The code of a label, new or known; 1, True and "1" are three labels."""
        found = self.index.get((type(label), label))
        if found is None:
            found = self.index[type(label), label] = len(self.labels)
            self.labels.append(label)
        return found


class Scan(Protocol):
    """One pass over a register's rows; `levels` grows while blocks are drawn."""

    @property
    def levels(self) -> Mapping[str, Levels]:
        """The labels of each coded column so far."""
        ...

    def __iter__(self) -> Iterator[Block]:
        """The blocks, file by file in a fixed order."""
        ...


class Rows(Protocol):
    """All rows of one kind of register, over however many files."""

    @property
    def kind(self) -> str:
        """The kind asked for."""
        ...

    @property
    def declared(self) -> bool:
        """Whether the files say that they are of this kind."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """The files' names, for messages."""
        ...

    @property
    def size(self) -> int:
        """Number of rows, used or not."""
        ...

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns of any file and their types."""
        ...

    @property
    def lacking(self) -> Mapping[str, str]:
        """Columns that some files lack, with the first such file."""
        ...

    @property
    def key(self) -> tuple[str, ...]:
        """The default key: every column that identifies a row."""
        ...

    def scan(
        self, coded: Sequence[str], values: Mapping[str, ValueKind] | None = None, lists: Sequence[str] = ()
    ) -> Scan:
        """One pass over the named columns."""
        ...


class Source(Protocol):
    """Registers by kind."""

    def rows(self, kind: str) -> Rows:
        """The rows of one kind, or an error that names the kinds present."""
        ...

"""A table from elsewhere to a register: every step is named, and nothing is changed that a step does not name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from prereg_kit.errors import NotCheckedError, RegisterError, Where
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.plan.fields import exact
from prereg_kit.registers.file.csv_look import look
from prereg_kit.registers.formats import REPEATS

_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_POINT_ZERO = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})\.0+")
_DECIMAL = re.compile(r"[+-]?[0-9]+\.[0-9]+([eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_NUMBERED = re.compile(r"(.*?)[ _.-]?[0-9]+")
_TRUTH = {"true", "false"}
_FEW = 3


@dataclass(frozen=True)
class Column:
    """One column of the register: its type, its values, and what was done to it."""

    name: str
    type: str
    values: Sequence[str | int | float | bool | None]
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Conversion:
    """A table as it would be written.

    Attributes:
        source: the file that was read.
        source_sha256: of its bytes.
        rows: number of rows.
        steps: what was done to the file as a whole.
        columns: the columns, with what was done to each.
        warnings: what nobody can convert without knowing more: repeats without a number, wide tables.
    """

    source: Path
    source_sha256: str
    rows: int
    steps: tuple[str, ...]
    columns: tuple[Column, ...]
    warnings: tuple[str, ...]

    def parquet(self) -> bytes:
        """The exact bytes of the register; equal files give equal bytes."""
        types = {"integer": pa.int64(), "boolean": pa.bool_(), "number": pa.float64(), "text": pa.string()}
        table = pa.table({each.name: pa.array(each.values, type=types[each.type]) for each in self.columns})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", compression_level=3, write_page_checksum=True)
        found: bytes = sink.getvalue().to_pybytes()
        return found

    def record(self, out: Path, data: bytes | None) -> dict[str, object]:
        """The `prereg.import/1` object: what was read, what was done, what was written (`data`; None if nothing)."""
        return {
            "format": "prereg.import/1",
            "source": {"path": str(self.source), "sha256": self.source_sha256},
            "out": {"path": str(out), "sha256": None if data is None else sha256_bytes(data)},
            "rows": self.rows,
            "steps": list(self.steps),
            "columns": [{"name": c.name, "type": c.type, "steps": list(c.steps)} for c in self.columns],
            "warnings": list(self.warnings),
        }


def convert_csv(path: Path) -> Conversion:
    """Read a CSV file as spreadsheets write it, and name every step that makes a register of it.

    Raises:
        NotCheckedError: the file is absent.
        RegisterError: `csv-ragged`, `repeated-column`, `no-columns` or `no-rows`: nothing that can be mended here.
    """
    if not path.is_file():
        raise NotCheckedError("no such file", where=Where(file=str(path)), code="absent")
    data = path.read_bytes()
    found = look(data)
    names = tuple(name.strip() for name in found.names)
    _require_table(path, names, found.ragged())
    rows = found.rows()
    if not rows:
        raise RegisterError("no rows", where=Where(file=str(path)), code="no-rows")
    steps = (
        [] if found.encoding == "utf-8" else ["read as Windows-1252 (cp1252), since the bytes are no UTF-8"]
    )
    if found.delimiter != ",":
        steps.append(f"cells are separated by {found.delimiter!r}")
    if found.padded:
        steps.append("blanks around the names of columns were taken out")
    decimal_commas = found.delimiter != ","
    columns = tuple(
        _column(name, [row[i] for row in rows], decimal_commas=decimal_commas) for i, name in enumerate(names)
    )
    return Conversion(path, sha256_bytes(data), len(rows), tuple(steps), columns, _warnings(columns))


def _require_table(path: Path, names: tuple[str, ...], ragged: tuple[int, int] | None) -> None:
    if not names or names == ("",):
        raise RegisterError("no columns, and so no rows", where=Where(file=str(path)), code="no-columns")
    twice = [name for name, count in Counter(names).items() if count > 1 or not name]
    if twice:
        raise RegisterError(
            "two columns of one name, or a column without a name", where=Where(file=str(path), field=twice[0]),
            next_step="Name every column once.", code="repeated-column",
        )  # fmt: skip
    if ragged is not None:
        raise RegisterError(
            f"a row of {ragged[1]} cells under a header of {len(names)}",
            where=Where(file=str(path), key=str(ragged[0])),
            expected=f"{len(names)} cells in every row",
            next_step="Complete the row: which cell is missing cannot be told from here.",
            code="csv-ragged",
        )


def _column(name: str, cells: list[str], *, decimal_commas: bool) -> Column:
    steps: list[str] = []
    stripped = [cell.strip() for cell in cells]
    if stripped != cells:
        steps.append("blanks around values were taken out")
    there = {cell for cell in stripped if cell}
    if "" in stripped:
        steps.append(f"{stripped.count('')} empty cells are missing values")
    if decimal_commas and there and all(_COMMA.fullmatch(c) or _WHOLE.fullmatch(c) for c in there):
        if any("," in cell for cell in there):
            steps.append("decimal commas became points")
        stripped = [cell.replace(",", ".") for cell in stripped]
        there = {cell.replace(",", ".") for cell in there}
    type_, read = _typed(there, steps)
    return Column(name, type_, [read(cell) if cell else None for cell in stripped], tuple(steps))


Read = Callable[[str], str | int | float | bool]


def _typed(there: set[str], steps: list[str]) -> tuple[str, Read]:
    """The type of a column by all of its values, and how one is read."""
    if there and {cell.lower() for cell in there} <= _TRUTH:
        if not there <= {"true", "false", "True", "False"}:
            steps.append("TRUE and FALSE, as spreadsheets write them, became truth values")
        return "boolean", lambda cell: cell.lower() == "true"
    if there and all(_WHOLE.fullmatch(cell) for cell in there):
        return "integer", int
    if there and all(_WHOLE.fullmatch(c) or _POINT_ZERO.fullmatch(c) for c in there):
        steps.append("whole numbers written as decimals, such as 1.0, became whole numbers")
        return "integer", lambda cell: int(cell.partition(".")[0])
    if there and all(_WHOLE.fullmatch(c) or _DECIMAL.fullmatch(c) for c in there):
        if all(Fraction(repr(float(cell))) == exact(cell) for cell in there):
            return "number", float
        steps.append(
            "kept as text: some numbers have more digits than a float holds, and text is read exactly"
        )
    return "text", str


def _warnings(columns: Sequence[Column]) -> tuple[str, ...]:
    return (*_unnumbered(columns), *_wide(columns))


def _unnumbered(columns: Sequence[Column]) -> list[str]:
    """Rows that nothing tells apart."""
    keys = [each for each in columns if each.type in ("text", "integer") and set(each.values) != {0, 1}]
    if not keys or any(each.name in REPEATS for each in keys):
        return []
    often = Counter(zip(*(each.values for each in keys), strict=True))
    repeated = [key for key, count in often.items() if count > 1]
    if not repeated:
        return []
    named = ", ".join(f"{each.name}={value}" for each, value in zip(keys, repeated[0], strict=True))
    return [
        f"{len(repeated)} keys occur more than once ({named} first): if they are repetitions, number them in a column "
        f"called {' or '.join(REPEATS[:_FEW])}; if not, remove the repeats"
    ]


def _wide(columns: Sequence[Column]) -> list[str]:
    """Several columns of one measure."""
    stems: dict[str, list[str]] = {}
    for each in columns:
        match = _NUMBERED.fullmatch(each.name)
        if match is not None and match[1] and each.type != "text":
            stems.setdefault(match[1], []).append(each.name)
    return [
        f"the table seems wide: {', '.join(names[:_FEW])} look like one measure in {len(names)} columns; a register "
        "has one row for each measurement (for instance pandas.wide_to_long, or DataFrame.melt)"
        for names in stems.values()
        if len(names) > 1
    ]

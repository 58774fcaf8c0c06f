"""What a CSV file seems to be, where it is not what a register is: comma, UTF-8, a header line, even rows.

Nothing is converted here. A refusal names what was found and the verb that converts it in the open.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import RegisterError, Where

MARK = b"\xef\xbb\xbf"
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_CONVERT = "`prereg import {file} --out FILE.parquet --dry-run` says what it would convert; without --dry-run it does."


@dataclass(frozen=True)
class CsvLook:
    """How a file is written.

    Attributes:
        encoding: utf-8, or cp1252 (Windows, Western Europe) for bytes that are no UTF-8.
        delimiter: what separates the cells of the header.
        names: the header's cells as they stand.
        text: the file's text without its byte-order mark.
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    text: str

    @property
    def padded(self) -> bool:
        """Whether names of the header begin or end with blanks."""
        return any(name != name.strip() for name in self.names)

    def rows(self) -> list[list[str]]:
        """The cells of all rows after the header; empty lines are left out."""
        return [row for row in list(csv.reader(io.StringIO(self.text), delimiter=self.delimiter))[1:] if row]

    def ragged(self) -> tuple[int, int] | None:
        """The first data row, from 1, with another number of cells than the header, and that number."""
        return next(
            ((i, len(row)) for i, row in enumerate(self.rows(), 1) if len(row) != len(self.names)), None
        )


def look(data: bytes) -> CsvLook:
    """How some bytes are written, by their header.

    Raises:
        csv.Error: no CSV under any reading.
    """
    plain = data.removeprefix(MARK)
    try:
        encoding, text = "utf-8", plain.decode("utf-8")
    except UnicodeDecodeError:
        encoding, text = "cp1252", plain.decode("cp1252", "replace")
    first = text.splitlines()[0] if text else ""
    delimiter = "," if "," in first else next((each for each in _DELIMITERS if each in first), ",")
    if first.count(";") > first.count(","):
        delimiter = ";"
    names = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    return CsvLook(encoding, delimiter, tuple(names), text)


def refuse_header(path: Path, names: list[str]) -> None:
    """Refuse a header that another delimiter splits, or whose names are padded.

    Raises:
        RegisterError: `csv-delimiter` or `csv-header`.
    """
    convert = _CONVERT.format(file=path)
    one = names[0] if len(names) == 1 else ""
    mark = next((each for each in _DELIMITERS if each in one), None)
    if mark is not None:
        raise RegisterError(
            f"a CSV file separated by {_DELIMITERS[mark]}, as spreadsheets write it where the comma is a decimal sign",
            where=Where(file=str(path), line=1),
            expected="cells separated by commas, and decimal points",
            found=one[:100],
            next_step=convert,
            code="csv-delimiter",
        )
    padded = [name for name in names if name != name.strip()]
    if padded:
        raise RegisterError(
            "names with blanks around them, as `, ` between the cells of a header makes them",
            where=Where(file=str(path), field=padded[0]),
            expected=padded[0].strip(),
            found=padded[:5],
            next_step=f"Take the blanks out. {convert}",
            code="csv-header",
        )


def diagnosed(path: Path, cause: Exception) -> RegisterError:
    """What is wrong with a file that could not be read as CSV."""
    found = look(path.read_bytes())
    convert = _CONVERT.format(file=path)
    if found.encoding != "utf-8":
        line = 1 + next((i for i, each in enumerate(path.read_bytes().split(b"\n")) if not _is_utf8(each)), 0)
        return RegisterError(
            "bytes that are no UTF-8; the file seems to be Windows-1252 (cp1252), which spreadsheets write",
            where=Where(file=str(path), line=line),
            expected="UTF-8",
            found=str(cause)[:100],
            next_step=f"Save it as `CSV UTF-8`. {convert}",
            code="csv-encoding",
        )
    try:
        uneven = found.ragged()
    except csv.Error as error:
        uneven, cause = None, error
    if uneven is not None:
        row, cells = uneven
        return RegisterError(
            f"a row of {cells} cells under a header of {len(found.names)}",
            where=Where(file=str(path), key=str(row)),
            expected=f"{len(found.names)} cells in every row: {', '.join(found.names)[:200]}",
            found=f"{cells} cells",
            next_step="Complete the row, or put quotes around a cell that holds a comma.",
            code="csv-ragged",
        )
    return RegisterError(
        f"the file cannot be read as CSV: {str(cause).splitlines()[0][:300]}",
        where=Where(file=str(path)),
        next_step="Restore the file from where it came, or export it again.",
        code="corrupt",
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

"""One file, or one frame, of a register: its columns, its rows as Arrow batches, and the defects a file can have."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from prereg_kit.errors import RegisterError, Where
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.cells.source import Usage
from prereg_kit.registers.file import csv_look
from prereg_kit.registers.file.arrays import type_of
from prereg_kit.registers.file.floats import listed
from prereg_kit.registers.file.frames import table_of
from prereg_kit.registers.file.locate import Found
from prereg_kit.registers.formats import FORMAT_KEY, KINDS, Column, ColumnType, RegisterFormat, format_of

BATCH_ROWS = 1 << 18
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?|[nN]a[nN]|-?inf")


@dataclass(frozen=True)
class Part:
    """A source of rows.

    Attributes:
        file: its name, for messages.
        path: the Parquet file, None for what was read into memory.
        memory: the rows themselves where there is no path to stream from.
        schema: the Arrow schema.
        rows: number of rows.
        format: the format that the file names, None if it names none of ours.
        stem: the kind that the file's name suggests, where it names no format.
        shape: parquet, csv or frame.
        looks: what a CSV file's columns look like; only tells values from keys, casts nothing.
        partition: columns that stand in the names of its folders.
        sha256: of the file's bytes, "" for a frame.
        runs: the runs of the index that name this file, None outside an index.
        counted: those of them whose rows count.
        loose: no run of the open index names the file; `runs` are then all runs of the index.
        usage: which of its rows were used.
    """

    file: str
    schema: pa.Schema
    rows: int
    shape: str
    path: Path | None = None
    memory: pa.Table | None = None
    format: RegisterFormat | None = None
    stem: str | None = None
    looks: Mapping[str, ColumnType] = field(default_factory=dict)
    partition: dict[str, str | int] = field(default_factory=dict)
    sha256: str = ""
    runs: frozenset[str] | None = None
    counted: frozenset[str] = frozenset()
    loose: bool = False
    usage: Usage = field(default_factory=Usage, compare=False)

    @property
    def kind(self) -> str | None:
        """The declared kind, or the one that the file's name suggests."""
        return self.format.kind if self.format else self.stem

    @property
    def columns(self) -> dict[str, ColumnType]:
        """Columns that a register can use and their types, those in folder names included."""
        found: dict[str, ColumnType] = {
            n: "integer" if isinstance(v, int) else "text" for n, v in self.partition.items()
        }
        for each in self.schema:
            type_ = "text" if pa.types.is_null(each.type) else type_of(each.type)
            if type_ is not None:
                found[each.name] = type_
        return found

    def is_null(self, name: str) -> bool:
        """Whether a column inside the file has no type, because it has no value."""
        return name in self.schema.names and bool(pa.types.is_null(self.schema.field(name).type))

    def batches(self, names: Sequence[str], *, as_codes: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The rows of the named columns of the file (partition columns aside), in the file's order.

        Raises:
            RegisterError: `corrupt`, where pages do not match their checksums or cannot be decoded.
        """
        inside = [name for name in dict.fromkeys(names) if name in self.schema.names]
        if self.memory is not None:
            yield from self.memory.select(inside).to_batches(max_chunksize=BATCH_ROWS)
            return
        coded = [
            name for name in as_codes if name in inside and type_of(self.schema.field(name).type) == "text"
        ]
        with reading(self.file):
            assert self.path is not None
            source = pq.ParquetFile(
                readable(self.path), read_dictionary=coded, page_checksum_verification=True
            )
            with source:
                if inside:
                    yield from source.iter_batches(batch_size=BATCH_ROWS, columns=inside)
                    return
                for start in range(0, self.rows, BATCH_ROWS):
                    size = min(BATCH_ROWS, self.rows - start)
                    yield pa.record_batch({"": pa.nulls(size)})


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Translate pyarrow's errors, once, into ours.

    Raises:
        RegisterError: `corrupt`.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RegisterError(
            f"the file cannot be read: {first[:300]}",
            where=Where(file=file),
            next_step="Restore the file from where it came; its bytes are damaged, or not what its name says.",
            code="corrupt",
        ) from error


def open_part(found: Found, digest: str | None = None) -> Part:
    """Open a file: its schema, format and number of rows, and the defects that show before any row is used.

    Args:
        found: the file.
        digest: its SHA-256 where that was computed already.

    Raises:
        RegisterError: `corrupt`, `unknown-format`, `no-columns`, `format-columns`, `repeated-column`,
            `contradicts-folder`.
    """
    name = str(found.path)
    stem = found.path.stem if found.path.stem in KINDS and found.path.stem != "runs" else None
    digest = digest or sha256_file(found.path)
    if found.shape == "csv":
        table = _read_csv(found.path)
        part = Part(
            name,
            table.schema,
            table.num_rows,
            "csv",
            memory=table,
            stem=stem,
            sha256=digest,
            looks=_looks(table),
        )
    else:
        with reading(name), pq.ParquetFile(readable(found.path), page_checksum_verification=True) as source:
            schema, rows = source.schema_arrow, source.metadata.num_rows
            names = schema.names  # decoded here, so that a name that is not UTF-8 is found here
            if rows < 0:
                raise pa.ArrowInvalid(f"{rows} rows of {len(names)} columns")
        text = (schema.metadata or {}).get(FORMAT_KEY.encode())
        known = format_of(text.decode("utf-8", "replace"), name) if text is not None else None
        part = Part(name, schema, rows, "parquet", path=found.path, format=known, stem=stem, sha256=digest)
    _require_columns(part)
    return _partitioned(part, found)


def frame_part(kind: str, frame: Any) -> Part:  # noqa: ANN401 - see `frames.table_of`
    """A part from a data frame, an Arrow table, any object with the Arrow interface, or a mapping of columns.

    Raises:
        RegisterError: `mixed-types` for a column that holds, say, numbers and texts.
        UsageError: no table at all.
    """
    name = f"<frame {kind}>"
    table = table_of(frame, name)
    part = Part(name, table.schema.remove_metadata(), table.num_rows, "frame", memory=table, stem=kind)
    _require_columns(part)
    return part


def empty(part: Part) -> RegisterError:
    """The error for a part without rows."""
    return RegisterError(
        "no rows",
        where=Where(file=part.file),
        expected="at least one row",
        found=f"0 rows, {len(part.schema.names)} columns",
        next_step="Export the register again: an empty one decides nothing.",
        code="no-rows",
    )


def with_runs(part: Part, runs: frozenset[str], counted: frozenset[str]) -> Part:
    """The part as a sibling of runs in an index; folder names mean nothing there."""
    return replace(part, runs=runs, counted=counted, partition={})


def beside_index(part: Part, runs: frozenset[str], counted: frozenset[str]) -> Part:
    """The part as a file that was given together with an index: its rows must belong to runs of that index."""
    return replace(part, runs=runs, counted=counted, loose=True)


def readable(path: Path) -> str | BinaryIO:
    """What pyarrow opens: it takes names in UTF-8 only, so that any other file is opened for it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.open("rb")
    return str(path)


def _require_columns(part: Part) -> None:
    names = part.schema.names
    if not names:
        raise RegisterError("no columns, and so no rows", where=Where(file=part.file), code="no-columns")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RegisterError("two columns of one name", where=Where(file=part.file, field=twice[0]), found=twice,
                            code="repeated-column")  # fmt: skip
    if part.format is None or not part.rows:
        return
    for column in part.format.columns:
        if column.name not in names:
            if column.required:
                raise _unlike(part, column, "no such column")
        elif not _fits(part.schema.field(column.name).type, column):
            raise _unlike(part, column, str(part.schema.field(column.name).type))


def _fits(arrow: pa.DataType, column: Column) -> bool:
    if pa.types.is_null(arrow):
        return column.nullable
    found = type_of(arrow)
    return found == column.type or (found, column.type) in {("integer", "number"), ("integers", "numbers")}


def _unlike(part: Part, column: Column, found: str) -> RegisterError:
    assert part.format is not None
    return RegisterError(
        f"a {part.format.name} file without what the format says: {column.doc}",
        where=Where(file=part.file, field=column.name),
        expected=f"a column {column.name!r} of type {column.type}",
        found=found,
        next_step="Write registers with `prereg_kit.registers.file.write_register`, or drop the format's name.",
        code="format-columns",
    )


def _read_csv(path: Path) -> pa.Table:
    with reading(str(path)):
        try:
            with path.open(encoding="utf-8-sig", newline="") as handle:
                names = next(csv.reader(handle), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise csv_look.diagnosed(path, error) from error
        if not names:
            raise RegisterError("no columns, and so no rows", where=Where(file=str(path)), code="no-columns")
        csv_look.refuse_header(path, names)
        text = pa.dictionary(pa.int32(), pa.string())
        try:
            return pa.csv.read_csv(
                readable(path),
                parse_options=pa.csv.ParseOptions(newlines_in_values=True),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, text), strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid as error:
            raise csv_look.diagnosed(path, error) from error


def _looks(table: pa.Table) -> dict[str, ColumnType]:
    def look(values: set[str]) -> ColumnType:
        if all(_WHOLE.fullmatch(value) for value in values):
            return "integer"
        if values <= {"True", "False", "true", "false"}:
            return "boolean"
        return "number" if all(_DECIMAL.fullmatch(value) for value in values) else "text"

    return {
        name: look({each for each in column.unique().to_pylist() if each})
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _partitioned(part: Part, found: Found) -> Part:
    """Take the keys in the folders' names; one that contradicts the same column inside the file is refused."""
    outside: dict[str, str | int] = dict(found.partition)
    for name, value in found.partition.items():
        if name not in part.schema.names or not part.rows:
            continue
        inside = {each for batch in part.batches([name]) for each in listed(batch.column(0).unique())}
        wrong = [each for each in inside if not _agrees(value, each)]
        if wrong:
            raise RegisterError(
                f"the folder says {name}={value} and the rows inside say {name} = {wrong[0]!r}",
                where=Where(file=part.file, field=name),
                expected=f"{name}={value} in every row",
                found=wrong[0],
                next_step="Move the file to the folder it belongs in, or correct its rows.",
                code="contradicts-folder",
            )
        del outside[name]
    return replace(part, partition=outside)


def _agrees(outside: str, inside: object) -> bool:
    if isinstance(inside, bool):
        return outside in (str(inside), str(inside).lower())
    if isinstance(inside, int) and _WHOLE.fullmatch(outside):
        return int(outside) == inside
    return str(inside) == outside

"""Writing registers: the same columns give the same bytes, whole or not at all, never over an existing file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from prereg_kit.errors import RegisterError, UsageError, Where
from prereg_kit.foundation import durable
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.registers.file import floats
from prereg_kit.registers.file.arrays import type_of
from prereg_kit.registers.formats import FORMAT_KEY, FORMATS, Column, ColumnType, RegisterFormat

ROW_GROUP_ROWS = 1 << 20
_FILE = pa.struct(
    [("kind", pa.string()), ("path", pa.string()), ("sha256", pa.string()), ("rows", pa.int64())]
)
ARROW: dict[ColumnType, pa.DataType] = {
    "text": pa.string(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "number": pa.float64(),
    "texts": pa.list_(pa.string()),
    "integers": pa.list_(pa.int64()),
    "booleans": pa.list_(pa.bool_()),
    "numbers": pa.list_(pa.float64()),
    "files": pa.list_(_FILE),
}
_CASTS = {(each, each) for each in ARROW} | {
    ("integer", "number"), ("number", "integer"), ("integers", "numbers"), ("numbers", "integers"),
}  # fmt: skip


@dataclass(frozen=True)
class RegisterInfo:
    """A register that was written: its path, the SHA-256 of its bytes and its number of rows."""

    path: Path
    sha256: str
    rows: int


def write_register(
    path: Path, kind: str, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> RegisterInfo:
    """Write a register of a known format.

    Args:
        path: the new file; its folder must exist.
        kind: episodes, groups, luck, probe, counts or reported.
        columns: name -> sequence, NumPy array or Arrow array, all of one length; columns that the format lists
            come first in its order, further columns follow in the order given.
        metadata: further texts for the file's metadata, for instance who wrote it.

    Raises:
        RegisterError: `format-columns`, `missing-value`, `column-length`, `mixed-types`, `no-rows`.
        ArchiveError: the file exists.
        UsageError: an unknown kind.
    """
    if kind not in FORMATS or kind == "runs":
        raise UsageError("not a kind of register that is written row by row", expected="episodes, groups, luck, "
                         "probe, counts or reported", found=kind)  # fmt: skip
    data, rows = encoded(FORMATS[kind], columns, metadata or {}, str(path))
    durable.write_bytes(path, data)
    return RegisterInfo(path, sha256_bytes(data), rows)


def encoded(
    format_: RegisterFormat, columns: Mapping[str, Any], metadata: Mapping[str, str], file: str
) -> tuple[bytes, int]:
    """The exact bytes of a register and its number of rows; equal columns give equal bytes.

    Raises:
        RegisterError: see `write_register`.
    """
    arrays: dict[str, pa.Array] = {}
    for column in format_.columns:
        if column.name in columns:
            arrays[column.name] = _array(column.name, columns[column.name], ARROW[column.type], file)
            _require_values(column, arrays[column.name], file)
        elif column.required:
            raise RegisterError(
                f"a {format_.name} register needs the column {column.name!r}: {column.doc}",
                where=Where(file=file, field=column.name),
                expected=f"{column.type}",
                found=sorted(columns),
                code="format-columns",
            )
    for name, values in columns.items():
        if name not in arrays:
            arrays[name] = _array(name, values, None, file)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise RegisterError(
            "columns of different lengths", where=Where(file=file), found=lengths, code="column-length"
        )
    rows = next(iter(lengths.values()))
    if not rows:
        raise RegisterError(
            "no rows to write: an empty register decides nothing", where=Where(file=file), code="no-rows"
        )
    texts = {**{k: str(v) for k, v in metadata.items()}, FORMAT_KEY: format_.name}
    table = pa.table(arrays).replace_schema_metadata(dict(sorted(texts.items())))
    sink = pa.BufferOutputStream()
    pq.write_table(
        table, sink, row_group_size=ROW_GROUP_ROWS, version="2.6", compression="zstd", compression_level=3,
        use_dictionary=True, write_statistics=True, write_page_checksum=True, store_schema=True,
        data_page_version="1.0",
    )  # fmt: skip
    return sink.getvalue().to_pybytes(), rows


def _array(name: str, values: Any, type_: pa.DataType | None, file: str) -> pa.Array:  # noqa: ANN401
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not isinstance(values, pa.Array):
            plain = values if hasattr(values, "dtype") else list(values)
            values = pa.array(
                plain, type=type_ if type_ == ARROW["files"] else None
            )  # a type here would truncate 1.5
        found = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if type_ is not None and type_ != found.type:
            if (type_of(found.type), type_of(type_)) not in _CASTS and not pa.types.is_null(found.type):
                raise TypeError(f"{found.type} where {type_} belongs")
            found = floats.widened(found).cast(type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise RegisterError(
            f"values that do not fit the column: {str(error).splitlines()[0][:300]}",
            where=Where(file=file, field=name),
            expected=str(type_) if type_ is not None else "one type",
            code="mixed-types",
        ) from error
    if type_ is None and pa.types.is_null(found.type):
        raise RegisterError(
            "a column without any value", where=Where(file=file, field=name), code="missing-value"
        )
    return found


def _require_values(column: Column, array: pa.Array, file: str) -> None:
    if array.null_count and not column.nullable:
        first = array.is_null().index(True).as_py()
        raise RegisterError(
            f"a missing {column.name}",
            where=Where(file=file, field=column.name, key=str(first + 1)),
            expected=column.doc,
            next_step="Fill it in before the register is written.",
            code="missing-value",
        )


__all__: Sequence[str] = ("ARROW", "RegisterInfo", "encoded", "write_register")

"""A table from elsewhere becomes a register, with a record of the conversion beside it; or says what it would do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, Where
from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.durable import write_together
from prereg_kit.registers.file.convert import Conversion, convert_csv


@dataclass(frozen=True)
class Imported:
    """A conversion and the files that it made; none on a dry run."""

    conversion: Conversion
    record: dict[str, object]
    written: tuple[Path, ...]


def record_path(out: Path) -> Path:
    """Where the record of a conversion stands: beside the register."""
    return out.with_name(f"{out.name}.import.json")


def import_table(source: Path, out: Path, *, dry_run: bool = False) -> Imported:
    """Convert a CSV file to a register in Parquet.

    Args:
        source: the table, which is left as it is.
        out: the register; never overwritten.
        dry_run: write nothing.

    Raises:
        NotCheckedError: the source is absent.
        RegisterError: the table cannot be converted without knowing more.
        ArchiveError: `out` or its record exists.
    """
    conversion = convert_csv(source)
    beside = record_path(out)
    for path in (out, beside):
        if path.exists():
            raise ArchiveError(
                "the file exists and is never overwritten", where=Where(file=str(path)),
                next_step="Choose another name with --out.", code="exists",
            )  # fmt: skip
    if dry_run:
        return Imported(conversion, conversion.record(out, None), ())
    data = conversion.parquet()
    record = conversion.record(out, data)
    write_together({out: data, beside: readable_json(record)})
    return Imported(conversion, record, (out, beside))

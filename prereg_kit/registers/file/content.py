"""The plain columns of a register's file, for those who compare content and decide nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from prereg_kit.registers.file.parts import readable, reading


def columns_of(path: Path, run_id: str | None) -> dict[str, list[object]]:
    """Column name -> values in the file's order, of one run where `run_id` is given and the column exists.

    Raises:
        NotCheckedError, RegisterError: absent, damaged, not a Parquet file.
    """
    with reading(str(path)), pq.ParquetFile(readable(path), page_checksum_verification=True) as source:
        table = source.read()
        if run_id is not None and "run_id" in table.column_names:
            table = table.filter(pc.equal(table["run_id"], run_id))
        return {name: table[name].to_pylist() for name in table.column_names}

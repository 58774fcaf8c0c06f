"""Writing: the same bytes for the same columns, whole or not at all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prereg_kit.errors import ArchiveError, RegisterError, UsageError
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.file import write_register
from tests.prereg_kit.registers.file.by_hand import rows

# --- writing ------------------------------------------------------------------------------------------------------


def test_the_same_columns_give_the_same_bytes(tmp_path):
    one = write_register(tmp_path / "a.parquet", "episodes", rows())
    arrays = {
        name: pa.array(column) if name == "task" else np.array(column)
        for name, column in reversed(rows().items())
    }
    other = write_register(tmp_path / "b.parquet", "episodes", arrays)
    assert one.sha256 == other.sha256 == sha256_file(tmp_path / "a.parquet")
    assert one.rows == 24
    metadata = pq.read_schema(one.path).metadata
    assert metadata[b"format"] == b"prereg.episodes/1"
    with pytest.raises(ArchiveError):
        write_register(one.path, "episodes", rows())
    assert not list(tmp_path.glob("*.partial"))


def test_further_columns_and_metadata_are_kept(tmp_path):
    info = write_register(
        tmp_path / "e.parquet", "episodes", {"speed": [1.5] * 24, **rows()}, {"writer": "study"}
    )
    table = pq.read_table(info.path)
    assert table.column_names[-1] == "speed"
    assert table.schema.metadata[b"writer"] == b"study"


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"regime": None}, "format-columns", "regime"),
        ({"seed": ["x"] * 24}, "mixed-types", "seed"),
        ({"seed": [1.5] * 24}, "mixed-types", "seed"),
        ({"seed": [True] * 24}, "mixed-types", "seed"),
        ({"true_success": [2] * 24}, "mixed-types", "true_success"),
        ({"task": list(range(24))}, "mixed-types", "task"),
        ({"task": [None, *["t"] * 23]}, "missing-value", "task"),
        ({"true_success": [True] * 23}, "column-length", None),
        ({"extra": [None] * 24}, "missing-value", "extra"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_anything_is_written(tmp_path, change, code, field):
    columns = {name: column for name, column in {**rows(), **change}.items() if column is not None}
    with pytest.raises(RegisterError) as caught:
        write_register(tmp_path / "e.parquet", "episodes", columns)
    assert (caught.value.code, caught.value.where.field) == (code, field)
    assert not list(tmp_path.iterdir())


def test_nothing_to_write(tmp_path):
    with pytest.raises(RegisterError, match="no rows"):
        write_register(tmp_path / "e.parquet", "episodes", {name: [] for name in rows()})
    with pytest.raises(UsageError):
        write_register(tmp_path / "e.parquet", "runs", rows())

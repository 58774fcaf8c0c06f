"""Frames of any library with the Arrow interface are the same register as the mapping they were made of."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from prereg_kit.errors import RegisterError, UsageError
from prereg_kit.registers.cells import value_rows
from prereg_kit.registers.file import Registers
from tests.prereg_kit.registers.file.by_hand import WANTED, cells, rows


class Stream:
    """An object that has nothing but the interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Batch:
    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


def polars_categories():
    frame = pl.DataFrame(rows())
    return frame.with_columns(pl.col("arm").cast(pl.Categorical), pl.col("seed").cast(pl.Int8))


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(rows()), polars_categories(), Stream(pa.table(rows())), Batch(pa.record_batch(rows())),
        pd.DataFrame(rows()), pa.table(rows()), rows(),
    ],
    ids=["polars", "polars categories", "stream", "array", "pandas", "arrow", "mapping"],
)  # fmt: skip
def test_every_frame_gives_the_same_cells(frame):
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED


def test_narrow_floats_of_polars_are_their_shortest_decimals():
    frame = pl.DataFrame(
        {"task": ["a", "b"], "score": [0.1, 0.3]}, schema={"task": pl.String, "score": pl.Float32}
    )
    found = value_rows(Registers.from_frames({"episodes": frame}), "episodes", where={}, value="score")
    assert [str(row.value) for row in found] == ["1/10", "3/10"]


def test_a_row_index_of_pandas_is_no_column():
    frame = pd.DataFrame(rows(), index=range(100, 124))
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED


def test_what_is_no_table_is_named_with_what_to_do():
    with pytest.raises(UsageError) as caught:
        Registers.from_frames({"episodes": pl.DataFrame(rows()).lazy()})
    assert caught.value.found == "LazyFrame"
    assert "collect" in str(caught.value)
    with pytest.raises(UsageError):
        Registers.from_frames({"episodes": 7})
    with pytest.raises(RegisterError, match="mixed types"):
        Registers.from_frames({"episodes": {"task": ["a", 1]}})

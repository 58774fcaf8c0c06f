"""Sums stay exact beyond 62 bits and over parts of other scales."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from prereg_kit.registers.file import open_register
from tests.prereg_kit.registers.cells.by_hand import FIRST, episodes, frame, table


def test_sums_beyond_sixty_two_bits_stay_exact():
    rows = [{**row, "score": 2**61 + i} for i, row in enumerate(episodes(FIRST))]
    found = table(rows, value="score", value_kind="number")
    assert int(found.successes.sum()) == sum(row["score"] for row in rows)


def test_parts_with_other_numbers_of_places_add_up(tmp_path):
    rows = [{**row, "score": 0.25 if row["seed"] else 3.0} for row in episodes(FIRST)]
    for i, part in enumerate(([rows[0]], rows[1:9], rows[9:])):
        pq.write_table(pa.table(frame(part)), tmp_path / f"{i}.parquet")
    found = table(open_register([tmp_path]), value="score", value_kind="number")
    assert found.scale == 100
    assert found.successes.sum() == sum(row["score"] for row in rows) * 100

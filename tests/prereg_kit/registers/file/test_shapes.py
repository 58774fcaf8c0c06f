"""The same rows from every shape: one file, parts, partitioned folders, frames."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from prereg_kit.errors import RegisterError, UsageError
from prereg_kit.registers.cells import CellQuery, cell_table
from prereg_kit.registers.file import Registers, open_register, write_register
from tests.prereg_kit.registers.file.by_hand import ARMS, WANTED, cells, parquet, refused, rows

# --- reading ----------------------------------------------------------------------------------------------------


def test_the_same_rows_from_every_shape(tmp_path):
    written = write_register(tmp_path / "e.parquet", "episodes", rows())
    plain = parquet(tmp_path / "plain.parquet", rows(), row_group_size=5)
    dictionary = pa.table(rows()).set_column(7, "task", pa.array(rows()["task"]).dictionary_encode())
    pq.write_table(dictionary, tmp_path / "dictionary.parquet")
    pa.csv.write_csv(pa.table(rows()), tmp_path / "rows.csv")
    (tmp_path / "bom.csv").write_bytes(
        b"\xef\xbb\xbf" + (tmp_path / "rows.csv").read_bytes().replace(b"\n", b"\r\n")
    )
    for path in (
        written.path,
        plain,
        tmp_path / "dictionary.parquet",
        tmp_path / "rows.csv",
        tmp_path / "bom.csv",
    ):
        assert cells(open_register([path])) == WANTED, path


def test_a_folder_of_parts_in_any_split(tmp_path):
    table = pa.table(rows())
    for i in range(4):
        pq.write_table(table.slice(i * 6, 6), tmp_path / f"part-{3 - i}.parquet")
    (tmp_path / "README.md").write_text("not a register")
    (tmp_path / ".part-0.parquet.crc").write_text("x")
    (tmp_path / "_SUCCESS").write_text("")
    found = open_register([tmp_path])
    assert cells(found) == WANTED
    assert found.notes == (f"{tmp_path}: 1 other files were not read, {tmp_path / 'README.md'} first",)
    assert len(found.tables("episodes")) == 4


def partitioned(root: Path, inside: tuple[str, ...] = ()) -> Path:
    for arm in ARMS:
        for seed in (0, 1):
            part = rows((arm,), (seed,))
            kept = {
                name: column for name, column in part.items() if name not in ("arm", "seed") or name in inside
            }
            parquet(root / f"arm={arm}" / f"seed={seed}" / "part.parquet", kept)
    return root


@pytest.mark.parametrize("inside", [(), ("seed",), ("arm", "seed")])
def test_keys_in_folder_names_are_columns_also_where_they_are_inside_too(tmp_path, inside):
    found = open_register([partitioned(tmp_path / "tree", inside)])
    assert cells(found) == WANTED
    assert found.rows("episodes").columns["seed"] == "integer"
    alone = open_register([tmp_path / "tree" / "arm=paired" / "seed=1" / "part.parquet"])
    table = cell_table(alone, "episodes", CellQuery(where={"seed": "1"}, value="true_success", arm="arm", arms=("paired",),
                       pairs="seed", cluster="task"))  # fmt: skip
    assert table.successes.tolist() == [[[[2, 2, 2]]]]


def test_a_folder_that_contradicts_its_rows(tmp_path):
    parquet(tmp_path / "seed=1" / "x.parquet", {**rows(seeds=(9,))})
    error = refused(tmp_path)
    assert error.code == "contradicts-folder"
    assert "seed=1" in str(error)
    assert error.found == 9


def test_folder_names_that_only_look_like_numbers_stay_text(tmp_path):
    for name in ("007", "2"):
        part = {key: column for key, column in rows(seeds=(0,)).items() if key != "seed"}
        parquet(tmp_path / f"seed={name}" / "x.parquet", part)
    assert open_register([tmp_path]).rows("episodes").columns["seed"] == "text"


def test_empty_parts_beside_others_are_skipped_and_mentioned(tmp_path):
    parquet(tmp_path / "a.parquet", rows())
    parquet(tmp_path / "b.parquet", {name: pa.nulls(0) for name in rows()})
    found = open_register([tmp_path])
    assert cells(found) == WANTED
    assert "b.parquet: no rows; this part was skipped" in found.notes[0]


def test_a_frame_is_a_register():
    import pandas as pd

    frame = pd.DataFrame(rows())
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED
    frame["task"] = pd.Categorical(frame["task"], categories=["task-9", *sorted(set(frame["task"]))])
    frame["seed"] = frame["seed"].astype("Int64")
    frame["true_success"] = frame["true_success"].astype("boolean")
    frame["when"] = pd.Timestamp("2026-01-01")
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED
    frame["seed"] = frame["seed"].astype("float64")
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED
    with pytest.raises(UsageError):
        Registers.from_frames({"diary": rows()})
    with pytest.raises(RegisterError, match="no rows"):
        Registers.from_frames({"episodes": pd.DataFrame(rows()).head(0)})


def test_the_same_file_twice_is_read_once(tmp_path):
    path = parquet(tmp_path / "a.parquet", rows())
    assert cells(open_register([path, tmp_path])) == WANTED

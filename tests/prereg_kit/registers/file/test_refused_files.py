"""Files that hold no register, or not what they say, are refused by name."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prereg_kit.errors import NotCheckedError, RegisterError
from prereg_kit.registers.file import Registers, open_register, write_register
from prereg_kit.registers.formats import format_of
from tests.prereg_kit.registers.file.by_hand import PLAN, WANTED, cells, parquet, refused, rows


@pytest.mark.parametrize(
    ("name", "make", "code", "says"),
    [
        ("typed.parquet", lambda p: pq.write_table(pa.table(rows()).slice(0, 0), p), "no-rows", "no rows"),
        ("null.parquet", lambda p: pq.write_table(pa.table({"a": pa.nulls(0)}), p), "no-rows", "no rows"),
        ("none.parquet", lambda p: pq.write_table(pa.table({}), p), "no-columns", "no columns"),
        ("header.csv", lambda p: p.write_text("arm,seed\n"), "no-rows", "no rows"),
        ("nothing.csv", lambda p: p.write_text(""), "no-columns", "no columns"),
        ("zero.parquet", lambda p: p.write_bytes(b""), "not-a-register", "no rows"),
        ("text.parquet", lambda p: p.write_text("hello"), "not-a-register", "neither Parquet nor CSV"),
        ("cut.parquet", lambda p: p.write_bytes(b"PAR1" + b"\0" * 40), "corrupt", "cannot be read"),
        ("ragged.csv", lambda p: p.write_text("arm,seed\na,1\nb\n"), "csv-ragged", "a row of 1 cells"),
        ("latin.csv", lambda p: p.write_bytes(b"arm,seed\n\xe9,1\n"), "csv-encoding", "Windows-1252"),
        ("twice.csv", lambda p: p.write_text("arm,arm\na,1\n"), "repeated-column", "two columns"),
    ],
)
def test_files_that_hold_no_register_are_refused_by_name(tmp_path, name, make, code, says):
    path = tmp_path / name
    make(path)
    error = refused(path)
    assert error.code == code
    assert name in str(error)
    assert says in str(error)


def test_damaged_pages_are_found_by_their_checksums(tmp_path):
    data = rows(tasks=200, schedules=8)
    info = write_register(tmp_path / "e.parquet", "episodes", data)
    whole = bytearray(info.path.read_bytes())
    place = pq.read_metadata(info.path).row_group(0).column(9).data_page_offset + 60
    whole[place] ^= 1
    info.path.write_bytes(whole)
    error = refused(info.path)
    assert error.code == "corrupt"
    assert "e.parquet" in str(error)


def test_damaged_bytes_never_change_an_answer(tmp_path):
    data = write_register(tmp_path / "e.parquet", "episodes", rows()).path.read_bytes()
    path, rng, damaged = tmp_path / "x.parquet", random.Random(7), 0
    for _ in range(150):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            assert cells(open_register([path])) == WANTED
        except RegisterError as error:
            assert "x.parquet" in str(error)
            damaged += 1
    assert damaged > 75


def test_a_pointer_in_place_of_the_bytes(tmp_path):
    path = tmp_path / "e.parquet"
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{PLAN}\nsize 123\n")
    with pytest.raises(NotCheckedError, match="git lfs pull") as caught:
        open_register([path])
    assert caught.value.code == "lfs-pointer"
    assert caught.value.found == {"oid": f"sha256:{PLAN}", "size": "123"}
    with pytest.raises(NotCheckedError, match="no such file"):
        open_register([tmp_path / "absent"])


@pytest.mark.parametrize("text", ["prereg.episodes/2", "prereg.episodes/1.5", "prereg.diary/1", "prereg."])
def test_other_versions_of_our_formats_are_refused(tmp_path, text):
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table(rows()).replace_schema_metadata({"format": text}), path)
    error = refused(path)
    assert error.code == "unknown-format"
    assert error.found == text
    assert format_of("someone.else/7", "x") is None


def test_a_file_that_is_not_what_its_format_says(tmp_path):
    for columns, field in (
        ({**rows(), "true_success": ["x"] * 24}, "true_success"),
        ({name: column for name, column in rows().items() if name != "regime"}, "regime"),
    ):
        pq.write_table(
            pa.table(columns).replace_schema_metadata({"format": "prereg.episodes/1"}), tmp_path / "e.parquet"
        )
        error = refused(tmp_path / "e.parquet")
        assert (error.code, error.where.field) == ("format-columns", field)


def test_keys_of_mixed_types_are_refused(tmp_path):
    parquet(tmp_path / "a.parquet", rows(seeds=(0,)))
    parquet(tmp_path / "b.parquet", {**rows(seeds=(1,)), "seed": ["1"] * 12})
    error = refused(tmp_path)
    assert error.code == "mixed-types"
    assert error.where.field == "seed"
    assert "integer" in str(error)
    assert "b.parquet" in str(error)
    with pytest.raises(RegisterError, match="mixed types"):
        Registers.from_frames({"episodes": {**rows(), "task": [1, "2"] * 12}})


def test_a_part_that_lacks_a_column(tmp_path):
    parquet(tmp_path / "a.parquet", rows(seeds=(0,)))
    parquet(tmp_path / "b.parquet", {k: v for k, v in rows(seeds=(1,)).items() if k != "true_success"})
    error = refused(tmp_path)
    assert error.code == "absent-column"
    assert error.where.file.endswith("b.parquet")
    # a key column that only some parts have is a difference between the rows
    parquet(tmp_path / "b.parquet", {**rows(seeds=(1,)), "eval_set": ["noisy"] * 12})
    assert refused(tmp_path).code == "mixed"


def test_kinds_by_format_by_name_and_by_nothing(tmp_path):
    write_register(tmp_path / "e.parquet", "episodes", rows())
    pa.csv.write_csv(pa.table({"step": [1], "successes": [3], "episodes": [4]}), tmp_path / "counts.csv")
    parquet(tmp_path / "other.parquet", {"x": ["a"], "value": [1.5]})
    found = open_register([tmp_path])
    assert found.kinds == ("counts", "episodes")
    assert found.rows("counts").size == 1
    assert found.rows("probe").files == (str(tmp_path / "other.parquet"),)
    with pytest.raises(RegisterError, match="no probe register") as caught:
        open_register([tmp_path / "e.parquet"]).rows("probe")
    assert caught.value.found == ["episodes"]

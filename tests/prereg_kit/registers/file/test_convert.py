"""Tables as spreadsheets write them: refused with what they seem to be, and converted in the open."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prereg_kit.cli.main import cli
from prereg_kit.errors import ArchiveError, NotCheckedError, RegisterError
from prereg_kit.operations.import_table import import_table
from prereg_kit.registers.cells import CellQuery, cell_table, value_rows
from prereg_kit.registers.file import open_register

GERMAN = "arm;seed;task;score\r\nneu;0;Käse;66,8\r\nalt;0;Käse;61,25\r\n"


def test_semicolons_are_named_and_converted_with_their_decimal_commas(tmp_path):
    source, out = tmp_path / "r.csv", tmp_path / "r.parquet"
    source.write_bytes(GERMAN.encode("cp1252"))
    with pytest.raises(RegisterError) as caught:
        open_register([source])
    assert caught.value.code in ("csv-delimiter", "csv-encoding")
    source.write_text(GERMAN, encoding="utf-8-sig")
    with pytest.raises(RegisterError) as caught:
        open_register([source])
    assert caught.value.code == "csv-delimiter"
    assert "prereg import" in str(caught.value)
    done = import_table(source, out)
    assert [row.value for row in value_rows(open_register([out]), "episodes", where={}, value="score")] == [
        Fraction("61.25"), Fraction("66.8"),
    ]  # fmt: skip
    assert {column.name: column.type for column in done.conversion.columns} == {
        "arm": "text", "seed": "integer", "task": "text", "score": "number",
    }  # fmt: skip


def test_windows_bytes_are_named_and_read(tmp_path):
    source = tmp_path / "r.csv"
    source.write_bytes("arm,seed,task,score\nneu,0,a,1\nneu,0,Käse,2\n".encode("cp1252"))
    with pytest.raises(RegisterError) as caught:
        open_register([source])
    assert (caught.value.code, caught.value.where.line) == ("csv-encoding", 3)
    assert "1252" in str(caught.value)
    done = import_table(source, tmp_path / "r.parquet")
    assert list(done.conversion.columns[2].values) == ["a", "Käse"]
    assert "cp1252" in done.conversion.steps[0]


def test_a_row_of_another_length_is_named_and_never_mended(tmp_path):
    source = tmp_path / "r.csv"
    source.write_text('arm,task,score\nnew,"a, b",1\nold,a\n')
    for read in (lambda: open_register([source]), lambda: import_table(source, tmp_path / "r.parquet")):
        with pytest.raises(RegisterError) as caught:
            read()
        assert (caught.value.code, caught.value.where.key) == ("csv-ragged", "2")
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def test_blanks_after_commas_are_named_and_taken_out(tmp_path):
    source = tmp_path / "r.csv"
    source.write_text("arm, seed, score\nnew, 0, 1\n")
    with pytest.raises(RegisterError) as caught:
        open_register([source])
    assert (caught.value.code, caught.value.where.field) == ("csv-header", " seed")
    done = import_table(source, tmp_path / "r.parquet")
    assert [(c.name, c.type, list(c.values)) for c in done.conversion.columns] == [
        ("arm", "text", ["new"]), ("seed", "integer", [0]), ("score", "integer", [1]),
    ]  # fmt: skip


def test_truth_values_of_spreadsheets_and_whole_numbers_with_a_point(tmp_path):
    source, out = tmp_path / "r.csv", tmp_path / "r.parquet"
    source.write_text("arm,seed,task,ok\nnew,0.0,a,TRUE\nold,0.0,a,FALSE\n")
    query = CellQuery(value="ok", arm="arm", arms=("new", "old"), pairs="seed", cluster="task")
    with pytest.raises(RegisterError, match="prereg import"):
        cell_table(open_register([source]), "episodes", query)
    done = import_table(source, out)
    table = cell_table(open_register([out]), "episodes", query)
    assert (table.successes.tolist(), table.seeds) == ([[[[1]]], [[[0]]]], ("0",))
    assert [len(column.steps) for column in done.conversion.columns] == [0, 1, 0, 1]


def test_what_a_float_cannot_hold_and_ids_with_zeros_stay_text(tmp_path):
    source = tmp_path / "r.csv"
    source.write_text("task,score\n007,0.12345678901234567890\n008,\n")
    done = import_table(source, tmp_path / "r.parquet")
    assert [column.type for column in done.conversion.columns] == ["text", "text"]
    assert list(done.conversion.columns[0].values) == ["007", "008"]
    assert list(done.conversion.columns[1].values) == ["0.12345678901234567890", None]


def test_repeats_and_wide_tables_are_warned_of_and_left(tmp_path):
    source = tmp_path / "r.csv"
    source.write_text("arm,task,score_1,score_2\nnew,a,0.5,0.25\nnew,a,0.5,0.125\n")
    done = import_table(source, tmp_path / "r.parquet")
    repeats, wide = done.conversion.warnings
    assert "arm=new, task=a first" in repeats
    assert "schedule" in repeats
    assert "score_1, score_2" in wide
    assert done.conversion.rows == 2


def test_the_record_stands_beside_and_nothing_is_overwritten(tmp_path):
    source, out = tmp_path / "r.csv", tmp_path / "r.parquet"
    source.write_text("arm;score\nnew;1,5\n")
    dry = CliRunner().invoke(cli, ["import", str(source), "--out", str(out), "--dry-run"])
    assert (dry.exit_code, sorted(p.name for p in tmp_path.iterdir())) == (0, ["r.csv"])
    assert "decimal commas became points" in dry.output
    real = CliRunner().invoke(cli, ["import", str(source), "--out", str(out), "--json"])
    assert real.exit_code == 0
    record = json.loads((tmp_path / "r.parquet.import.json").read_text())
    assert json.loads(real.stdout) == record
    assert record["format"] == "prereg.import/1"
    for name, path in (("source", source), ("out", out)):
        assert record[name]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert pq.read_table(out).to_pylist() == [{"arm": "new", "score": 1.5}]
    with pytest.raises(ArchiveError):
        import_table(source, out)
    with pytest.raises(NotCheckedError):
        import_table(tmp_path / "none.csv", tmp_path / "x.parquet")

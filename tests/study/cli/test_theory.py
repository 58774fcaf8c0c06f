from __future__ import annotations

import hashlib
import json

import pytest
from click.testing import CliRunner

from prereg_kit.errors import ArchiveError, PreregError
from study.cli.theory import command

pytest.importorskip("matplotlib")
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_siblings_in_each_format_and_the_same_bytes_again(tmp_path, kind):
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    result = CliRunner().invoke(command, ["siblings", "--out", str(first), "--json"])
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    assert value["format"] == "study.theory.siblings/1"
    assert value["sha256"] == hashlib.sha256(first.read_bytes()).hexdigest()
    assert value["equal_draws"] == value["common_keys"]["shared"] > 0
    assert first.read_bytes().startswith(MAGIC[kind])
    assert CliRunner().invoke(command, ["siblings", "--out", str(second)]).exit_code == 0
    assert first.read_bytes() == second.read_bytes()


def test_the_map_is_written_with_its_boundary(tmp_path):
    out = tmp_path / "map.png"
    result = CliRunner().invoke(command, ["map", "--out", str(out), "--json"])
    value = json.loads(result.stdout)
    assert value["format"] == "study.theory.map/1"
    assert {row["success_rate"]: row["alignment"] for row in value["boundary"]}[0.5] == pytest.approx(0.16)
    assert out.read_bytes().startswith(MAGIC["png"])


def test_the_doses_rise_from_balanced_to_paired(tmp_path):
    out = tmp_path / "doses.svg"
    value = json.loads(CliRunner().invoke(command, ["doses", "--out", str(out), "--json"]).stdout)
    assert value["format"] == "study.theory.doses/1"
    rows = value["mean_centred"]
    assert [row["design"] for row in rows] == ["balanced", "separate", "blocks of 2", "blocks of 4", "paired"]
    assert [row["dose"] for row in rows][1:] == pytest.approx([0, 1 / 7, 3 / 7, 1])
    assert rows[-1]["orthogonal"] == pytest.approx(0.5)
    assert rows[-1]["aligned"] == pytest.approx(3.625)
    for row in rows:
        assert row["orthogonal"] == pytest.approx(1 - 0.5 * row["dose"])
        assert row["aligned"] == pytest.approx(1 + 2.625 * row["dose"])
    assert out.read_bytes().startswith(MAGIC["svg"])


def test_the_path_goes_to_stdout_and_the_words_to_stderr(tmp_path):
    out = tmp_path / "s.svg"
    result = CliRunner().invoke(command, ["siblings", "--out", str(out)])
    assert result.stdout == f"{out}\n"
    assert "common keys met the same draw" in result.stderr


def test_an_existing_file_is_never_overwritten(tmp_path):
    out = tmp_path / "s.svg"
    out.write_text("mine")
    result = CliRunner().invoke(command, ["siblings", "--out", str(out)])
    assert isinstance(result.exception, ArchiveError)
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    "arguments",
    [
        ["map", "--out", "x.gif"],
        ["map", "--out", "no-such-folder/x.png"],
        ["map", "--out", "x.png", "--flip-rate", "1"],
        ["map", "--out", "x.png", "--group-size", "1"],
        ["doses", "--out", "x.png", "--flip-rate", "2"],
        ["doses", "--out", "x.png", "--flip-rate", "0"],
    ],
)
def test_bad_arguments_leave_nothing_behind(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, PreregError)
    assert result.exception.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_probed_checkpoints_stand_on_the_map(tmp_path):
    import numpy as np

    from study.probe import evidence, outcome
    from tests.study.probe.made import probe

    rng = np.random.default_rng(4)
    made = probe(tmp_path, rng.normal(size=(6, 8, 5)), rng.integers(0, 2, size=(6, 8)))
    evidence.write(tmp_path / "e.npz", made)
    bare, out = tmp_path / "bare.png", tmp_path / "map.png"
    assert CliRunner().invoke(command, ["map", "--out", str(bare)]).exit_code == 0
    result = CliRunner().invoke(
        command, ["map", "--out", str(out), "--probe", str(tmp_path / "e.npz"), "--json"]
    )
    (point,) = json.loads(result.stdout)["measured"]
    found = outcome.figures(made)
    assert point["mask"] == pytest.approx(found.estimators["MC"].ratio_of_sides)
    assert point["alignment"] == pytest.approx(found.alignment.value)
    assert point["success_rate"] == found.success_rate
    assert out.read_bytes() != bare.read_bytes()
    other = CliRunner().invoke(
        command,
        ["map", "--out", str(tmp_path / "x.png"), "--group-size", "4", "--probe", str(tmp_path / "e.npz")],
    )
    assert other.exception.exit_code == 2
    flat = probe(tmp_path / "f", rng.normal(size=(2, 8, 5)), np.ones((2, 8), dtype=int))
    evidence.write(tmp_path / "flat.npz", flat)
    none = CliRunner().invoke(
        command, ["map", "--out", str(tmp_path / "x.png"), "--probe", str(tmp_path / "flat.npz")]
    )
    assert "no place on the map" in str(none.exception)
    assert not (tmp_path / "x.png").exists()

"""Evidence on disk: the same bytes again, and nothing else passes for it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from prereg_kit.errors import PreregError
from study.probe import evidence, outcome
from tests.study.probe.made import probe

ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(1)


@pytest.fixture
def made(tmp_path):
    rng = np.random.default_rng(1)
    return probe(tmp_path, rng.normal(size=(4, 8, 6)), rng.integers(0, 2, size=(4, 8)))


def rewritten(path, change):
    """The file again with one thing changed: `change` gets the dictionary of arrays."""
    with np.load(path) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    change(arrays)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    target = path.with_name("changed.npz")
    target.write_bytes(buffer.getvalue())
    return target


def test_equal_evidence_gives_equal_bytes_and_reads_back(made, tmp_path):
    path = tmp_path / "a.npz"
    digest = evidence.write(path, made)
    assert evidence.encoded(made) == path.read_bytes()
    again = evidence.read(path)
    assert again.record == made.record
    assert all((again.arrays[name] == made.arrays[name]).all() for name in made.arrays)
    assert len(digest) == 64
    assert outcome.figures(again, resamples=100) == outcome.figures(made, resamples=100)
    with zipfile.ZipFile(path) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_figures_recompute_without_torch_or_the_model(made, tmp_path):
    evidence.write(tmp_path / "a.npz", made)
    code = (
        "import sys; from study.cli.main import cli; cli(['probe', 'recompute', sys.argv[1], '--json'], standalone_mode=False);"
        "print([m for m in ('torch', 'transformers', 'trl', 'peft') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.npz")],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stderr.strip() == "[]"
    value = json.loads(done.stdout)
    assert value["format"] == "study.probe/1"
    ours = outcome.figures(made)
    assert value["figures"]["estimators"]["MC"]["paired"]["trace"] == pytest.approx(
        ours.estimators["MC"].paired.trace, rel=1e-12
    )
    assert value["figures"]["residual"] < 1e-12


def change_gram(arrays):
    arrays["gram"][0, 0, 0] += 1e-9


def change_rate(arrays):
    record = json.loads(arrays["record"].tobytes())
    record["spec"]["flip_rate"] = 0.2
    arrays["record"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)


def change_format(arrays):
    text = arrays["record"].tobytes().replace(b"study.probe.evidence/1", b"study.probe.evidence/2")
    arrays["record"] = np.frombuffer(text, dtype=np.uint8)


def drop_cross(arrays):
    del arrays["cross"]


def add_array(arrays):
    arrays["extra"] = np.zeros(3)


def consistent_but_short(arrays):
    from study.probe.evidence import array_record

    arrays["gram"] = arrays["gram"][:3]
    record = json.loads(arrays["record"].tobytes())
    record["arrays"]["gram"] = array_record(arrays["gram"]).model_dump(mode="json")
    arrays["record"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)


def not_finite(arrays):
    from study.probe.evidence import array_record

    arrays["gram"][0, 0, 0] = np.nan
    record = json.loads(arrays["record"].tobytes())
    record["arrays"]["gram"] = array_record(arrays["gram"]).model_dump(mode="json")
    arrays["record"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_gram, "not the one that the record lists"), (change_rate, "spec was changed"),
        (change_format, "not a record of this version"), (drop_cross, "other arrays"), (add_array, "other arrays"),
        (consistent_but_short, "does not fit the probe"), (not_finite, "not finite"),
    ],
)  # fmt: skip
def test_what_was_changed_is_refused(made, tmp_path, change, words):
    evidence.write(tmp_path / "a.npz", made)
    with pytest.raises(PreregError, match=words) as caught:
        evidence.read(rewritten(tmp_path / "a.npz", change))
    assert "changed.npz" in str(caught.value.where)


def test_a_pickle_in_the_file_is_never_loaded(made, tmp_path):
    evidence.write(tmp_path / "a.npz", made)

    def pickled(arrays):
        arrays["gram"] = np.array([{"a": 1}], dtype=object)

    with pytest.raises(PreregError, match="not evidence"):
        evidence.read(rewritten(tmp_path / "a.npz", pickled))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no zip at all", b"\x93NUMPY"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(PreregError) as caught:
        evidence.read(path)
    assert caught.value.exit_code == 2


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(PreregError, match="cannot be read"):
        evidence.read(tmp_path / "none.npz")

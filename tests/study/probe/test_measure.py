"""`study probe` from a run's folder to a verdict, killed and resumed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the study extra")
pytest.importorskip("trl", reason="needs the study extra")

from prereg_kit.errors import PreregError
from prereg_kit.registers.file import open_register, read_runs
from study.cli.probe import command
from study.errors import StudyError
from study.probe import evidence, outcome
from study.probe.units import Pieces
from tests.study.probe.made import Rows, origin, probe, sampled, spec

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[3]
OUTCOME = ("--kind", "outcome", "--tasks", "3", "--samples", "4")
TRANSITION = ("--kind", "transition", "--tasks", "2", "--samples", "4", "--schedules", "4")


def run(*arguments):
    return CliRunner().invoke(command, [str(word) for word in arguments])


def value(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def probed(trained_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("evidence")
    found = {}
    for kind, options in (("outcome", OUTCOME), ("transition", TRANSITION)):
        for step in ("base", "2"):
            found[kind, step] = value("--run", trained_run, "--checkpoint", step, *options, "--out", out)
    return found


def test_a_probe_says_what_it_measured(probed, trained_run):
    for (kind, step), said in probed.items():
        assert said["format"] == "study.probe/1"
        assert (said["spec"]["kind"], said["spec"]["checkpoint"]) == (kind, 0 if step == "base" else 2)
        assert (said["spec"]["condition"], said["spec"]["seed"], said["spec"]["study"]) == ("C4", 3, "tests")
        checks = said["record"]["checks"]
        assert checks["loop"] < 1e-10
        assert checks["hooks"] < 1e-10
        assert checks["finite_differences"] < 1e-6
        assert said["record"]["coordinates"] == 38016
        held = evidence.read(Path(said["evidence"]))
        assert held.record.spec.regime == {"outcome": "clean", "transition": "faults_p25"}[kind]
        register = Path(said["evidence"]).with_suffix(".parquet")
        rows = pq.read_table(register).to_pylist()
        assert {row["estimator"] for row in rows} >= {"MC", "SW"}
        assert {row["level"] for row in rows} == {kind}
    assert (
        probed["outcome", "base"]["spec"]["adapter_sha256"]
        != probed["outcome", "2"]["spec"]["adapter_sha256"]
    )


def test_recomputing_prints_the_same_figures(probed):
    for said in probed.values():
        again = value("recompute", said["evidence"])
        assert again == said


def test_settings_of_the_other_kind_are_refused(probed):
    for arguments in (("--flip-rate", 0.2), ("--eps", 0.1), ("--ddof", 0)):
        assert run("recompute", probed["transition", "2"]["evidence"], *arguments).exception.exit_code == 2
    assert run("recompute", probed["outcome", "2"]["evidence"], "--groups", 10).exception.exit_code == 2
    swept = value("recompute", probed["outcome", "2"]["evidence"], "--flip-rate", 0.3)
    assert swept["figures"]["flip_rate"] == 0.3


def test_the_same_probe_again_is_refused_and_elsewhere_it_writes_the_same_bytes(
    probed, trained_run, tmp_path
):
    said = probed["outcome", "2"]
    first = Path(said["evidence"])
    result = run("--run", trained_run, "--checkpoint", "last", *OUTCOME, "--out", first.parent)
    assert isinstance(result.exception, PreregError)
    assert "probed already" in str(result.exception)
    again = value("--run", trained_run, "--checkpoint", "2", *OUTCOME, "--out", tmp_path)
    assert Path(again["evidence"]).read_bytes() == first.read_bytes()
    assert list(tmp_path.glob("*.partial")) == []


def test_a_probe_that_was_killed_goes_on_and_gives_the_same_bytes(trained_run, tmp_path):
    arguments = [
        *("probe", "--run", trained_run, "--checkpoint", "2", "--kind", "outcome"),
        *("--tasks", "8", "--samples", "4", "--no-checks", "--json", "--out"),
    ]
    whole = value(*arguments[1:-2], "--out", tmp_path / "whole")
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    process = subprocess.Popen(
        [sys.executable, "-m", "study", *map(str, arguments), str(tmp_path / "cut")],
        cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "cut").glob("*.partial/unit-0001.npz")):
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert list((tmp_path / "cut").glob("*.npz")) == []
    (partial,) = (tmp_path / "cut").glob("*.partial")
    done = len(list(partial.glob("unit-*.npz")))
    assert 2 <= done < 8
    result = run(*arguments[1:], tmp_path / "cut")
    assert result.exit_code == 0, result.exception
    assert f"went on after {done} of 8 units" in result.stderr
    again = json.loads(result.stdout)
    assert again["figures"] == whole["figures"]
    assert Path(again["evidence"]).read_bytes() == Path(whole["evidence"]).read_bytes()


@pytest.mark.parametrize("keep", ["each", "running"])
@pytest.mark.parametrize("stop", [1, 2, 4])
def test_units_that_are_done_are_not_done_again(tmp_path, keep, stop):
    from study.probe.passes import Pass

    rng = np.random.default_rng(0)
    scores, successes = rng.normal(size=(5, 8, 6)), rng.integers(0, 2, size=(5, 8))
    asked = spec(tasks=5)
    whole = probe(tmp_path, scores, successes, keep=keep)
    pieces = Pieces(tmp_path / "cut.partial", asked)

    class Cut(Rows):
        def write(self, index, row):
            if index == stop * 8 + 3:
                raise KeyboardInterrupt
            return super().write(index, row)

    with pieces.held(), pytest.raises(KeyboardInterrupt):
        Pass(asked, sampled(successes), Cut(scores.reshape(-1, 6)), keep=keep).run(pieces)
    source = Rows(scores.reshape(-1, 6))
    work = Pass(asked, sampled(successes), source, keep=keep)
    with pieces.held():
        assert work.run(pieces) == stop
        found = work.evidence(pieces, origin(5))
    assert source.asked == list(range(stop * 8, 40))
    assert evidence.encoded(found) == evidence.encoded(whole)
    if keep == "running":  # no more than the last two totals lie on the disk
        assert ["vectors" in pieces.unit(unit) for unit in range(5)] == [False] * 4 + [True]


def test_pieces_of_another_probe_are_never_continued(tmp_path):
    with Pieces(tmp_path / "x.partial", spec()).held():
        pass
    with (
        pytest.raises(StudyError, match="another probe"),
        Pieces(tmp_path / "x.partial", spec(seed=1)).held(),
    ):
        pass


def test_two_processes_do_not_work_at_one_probe(tmp_path):
    with Pieces(tmp_path / "x.partial", spec()).held():
        with (
            pytest.raises(PreregError, match="another process") as caught,
            Pieces(tmp_path / "x.partial", spec()).held(),
        ):
            pass
        assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--run is missing"), (("--checkpoint", "2"), "--run is missing"),
        (("--run", "RUN", "--checkpoint", "2"), "--kind is missing"),
        (("--run", "RUN", "--checkpoint", "1,2", "--kind", "outcome"), "names one checkpoint"),
        (("--run", "RUN", "--checkpoint", "7", "--kind", "outcome"), "no complete checkpoint"),
        (("--run", "RUN", "--checkpoint", "2", "--kind", "outcome", "--schedules", "2"), "no schedule tells apart"),
        (("--run", "RUN", "--checkpoint", "2", "--kind", "transition", "--schedules", "3"), "need four schedules"),
        (("--run", "RUN", "--checkpoint", "2", "--kind", "transition", "--tasks", "17"), "number of tasks"),
        (("--run", "RUN", "--checkpoint", "2", "--kind", "outcome", "--flip-rate", "1"), "flip rate"),
    ],
)  # fmt: skip
def test_what_cannot_be_probed_is_said_before_anything_is_played(trained_run, tmp_path, arguments, words):
    words_of = [str(trained_run) if word == "RUN" else word for word in arguments]
    result = run(*words_of, "--out", tmp_path / "out")
    assert isinstance(result.exception, PreregError)
    assert words in str(result.exception)
    assert result.exception.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_registers_of_several_checkpoints_join_to_one_with_an_index(probed, tmp_path):
    files = [said["evidence"] for said in probed.values()]
    run_id = probed["outcome", "2"]["spec"]["run_id"]
    said = value("register", *files, "--trajectory", f"A={run_id}", "--out", tmp_path / "register")
    assert [Path(one["path"]).name for one in said["registers"]] == [
        "probe.parquet",
        "luck.parquet",
        "runs.parquet",
    ]
    rows = pq.read_table(tmp_path / "register" / "probe.parquet").to_pylist()
    assert {(row["level"], row["checkpoint"]) for row in rows} == {
        (k, s) for k in ("outcome", "transition") for s in (0, 2)
    }
    assert {row["trajectory"] for row in rows} == {"A"}
    luck = pq.read_table(tmp_path / "register" / "luck.parquet").to_pylist()
    assert len(luck) == 2 * 2 * 16
    assert {row["schedule"] for row in luck} == {12, 13, 14, 15}  # seed 3 plays 3K to 3K+K-1
    (line,) = read_runs(tmp_path / "register" / "runs.parquet")
    assert (line.run_id, line.study, line.seed) == (run_id, "tests", 3)
    assert open_register([tmp_path / "register" / "runs.parquet"]).kinds == ("luck", "probe")
    assert run("register", *files, "--out", tmp_path / "register").exception.exit_code == 1
    assert run("register", files[0], files[0], "--out", tmp_path / "x").exception.exit_code == 2
    for bad in ("A", "=x", f"A={run_id}x"):
        assert (
            run("register", files[0], "--trajectory", bad, "--out", tmp_path / "x").exception.exit_code == 2
        )
    assert not (tmp_path / "x").exists()


def test_the_registers_row_is_what_the_figures_say(tmp_path):
    from study.probe.register import rows_of

    rng = np.random.default_rng(0)
    made = probe(tmp_path, rng.normal(size=(12, 8, 6)), rng.integers(0, 2, size=(12, 8)))
    found = outcome.figures(made).estimators["MC"]
    row = rows_of(made, "B")[0]
    assert (row.estimator, row.level, row.trajectory, row.checkpoint) == ("MC", "outcome", "B", 50)
    assert (row.left, row.right, row.ratio) == (found.left, found.right, found.ratio)
    assert row.noise == found.ratio_interval.standard_error

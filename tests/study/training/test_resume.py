"""20 + 20 equals 40 in small: weights, optimizer and registers, bit for bit, also after a kill."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from prereg_kit.errors import ArchiveError
from study.errors import StudyError
from study.runs import record as run_record
from study.runs import spare
from study.runs.log import Log, attempts
from study.runs.provenance import Binding
from study.training import checkpoints
from study.training import train as joint
from study.training.run import Request, execute

pytestmark = pytest.mark.torch


@pytest.fixture
def coin(monkeypatch):
    """Every other rollout plays the plan and the rest finish, so that gradients are not zero; keyed by the seat."""
    from study.training.lockstep_player import LockstepPlayer

    real = LockstepPlayer.play

    def play(self, rollouts, step):
        wire = joint.step_zero.small_wire(SHARED["run"])
        for rollout in rollouts:
            wins = rollout.secret(0)[0] % 2
            task = rollout.environment.episode.task
            calls = [(call.name, dict(call.arguments)) for call in task.plan] if wins else []
            for name, arguments in [*calls, ("finish", {})]:
                for token in wire.written(name, arguments):
                    if not rollout.done:
                        rollout.own(token, -0.5)
        assert real is not None

    monkeypatch.setattr(LockstepPlayer, "play", play)


SHARED: dict = {}


def go(run, out: Path, store: Path, stop=4, resume=False, tell=lambda _: None):
    SHARED["run"] = run
    return execute(Request(run, out, store, None, "tests", stop, resume), tell)


def same(one: Path, other: Path):
    for name in ("groups.parquet", "episodes.parquet"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    a, b = (path / "checkpoints" / "checkpoint-4" for path in (one, other))
    for name in ("adapter_model.safetensors", "adapter_config.json", "optimizer.pt", "scheduler.pt"):
        assert (a / name).read_bytes() == (b / name).read_bytes(), name


@pytest.fixture
def whole(small_run, start, tmp_path, coin):
    run = small_run("C4", "independent", importance__mode="off")
    store = start(run).parent
    go(run, tmp_path / "whole", store)
    return run, store, tmp_path / "whole"


def test_two_halves_equal_one_run_bit_for_bit(whole, tmp_path):
    run, store, out = whole
    before = load_file(out / "checkpoints" / "checkpoint-2" / "adapter_model.safetensors")
    after = load_file(out / "checkpoints" / "checkpoint-4" / "adapter_model.safetensors")
    assert any(not torch.equal(before[name], after[name]) for name in after)  # it does learn something
    halves = tmp_path / "halves"
    assert go(run, halves, store, stop=2).status == "stopped"
    assert go(run, halves, store, resume=True).status == "completed"
    same(out, halves)
    assert [one.resumed_from for one in attempts(halves)] == [None, 2]
    record = run_record.read(halves)
    assert [one["status"] for one in record["attempts"]] == ["stopped", "completed"]


def test_a_stop_between_checkpoints_is_checkpointed_too(whole, tmp_path):
    run, store, out = whole
    odd = tmp_path / "odd"
    go(run, odd, store, stop=3)
    assert checkpoints.last_for(odd / "checkpoints", run.digest)[0] == 3
    go(run, odd, store, resume=True)
    same(out, odd)


@pytest.mark.parametrize("moment", [1, 3])
def test_a_failure_at_any_step_is_resumed_from_the_last_complete_checkpoint(whole, tmp_path, moment):
    run, store, out = whole
    broken = tmp_path / "broken"

    def fail(progress):
        if progress.step == moment and not progress.note:
            raise RuntimeError("the machine is gone")

    with pytest.raises(RuntimeError):
        go(run, broken, store, tell=fail)
    assert run_record.read(broken)["attempts"][0]["status"] == "failed"
    go(run, broken, store, resume=True)
    assert [one.resumed_from for one in attempts(broken)] == [None, 2 if moment > 2 else None]
    same(out, broken)


def test_two_runs_of_one_config_write_the_same_registers(whole, tmp_path):
    run, store, out = whole
    go(run, tmp_path / "again", store)
    same(out, tmp_path / "again")


def test_a_folder_with_a_run_is_never_started_over(whole):
    run, store, out = whole
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(ArchiveError, match="lies here already"):
        go(run, out, store)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_another_config_cannot_continue_a_run(whole, small_run):
    _, store, out = whole
    with pytest.raises(StudyError, match="another one"):
        go(small_run("C4", "paired", importance__mode="off"), out, store, resume=True)


def test_a_folder_with_something_else_is_left_alone(small_run, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    with pytest.raises(ArchiveError, match="not empty"):
        go(small_run(), tmp_path / "notes", tmp_path / "store")
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["mine.txt"]


def test_a_finished_run_resumes_to_nothing(whole):
    run, store, out = whole
    before = (out / "groups.parquet").read_bytes()
    result = go(run, out, store, resume=True)
    assert result.status == "completed" and result.done == 4
    assert (out / "groups.parquet").read_bytes() == before


@pytest.mark.slow
def test_kill_9_at_random_moments(tmp_path):
    """The real command, killed four times while it trains, ends with the registers of an undisturbed run."""
    command = [sys.executable, "-m", "study", "train", "--tier", "smoke", "--condition", "C2", "--arm", "paired",
               "--seed", "0", "--exploratory", "--step-zero", str(tmp_path / "step0")]  # fmt: skip
    root = Path(__file__).resolve().parents[3]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "--out", str(tmp_path / "calm")], cwd=root, env=environment, check=True)
    out = tmp_path / "killed"
    for wait in (0.0, 0.4, 0.9, 1.4):
        arguments = [*command, "--out", str(out), *(["--resume"] if (out / "run.json").exists() else [])]
        process = subprocess.Popen(arguments, cwd=root, env=environment)
        begun = time.monotonic()
        while not (out / "attempts").exists() and process.poll() is None and time.monotonic() - begun < 120:
            time.sleep(0.05)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "--out", str(out), "--resume"], cwd=root, env=environment, check=True)
    same(tmp_path / "calm", out)


CHANGED = {
    "another plan": ({"binding": Binding("other", "b" * 64, "c.json")}, "bound_by.sha256"),
    "no plan any more": ({"binding": None}, "bound_by"),
    "another study": ({"study": "elsewhere"}, "study"),
    "another torch": ({"versions": {"torch": "2.14.0"}}, "attempts.0.versions.torch"),
    "a package that was not there": ({"versions": {"vllm": "0.27.1"}}, "attempts.0.versions.vllm"),
    "another device": ({"device": "another processor"}, "attempts.0.device"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_resume_as_something_else_is_refused_and_changes_nothing(
    case, small_run, start, tmp_path, coin, monkeypatch
):
    from study.runs import provenance

    changes, field = CHANGED[case]
    run = small_run("C4", "independent", importance__mode="off")
    SHARED["run"] = run
    out, store = tmp_path / "run", start(run).parent
    binding = Binding("other", "a" * 64, "c.json")
    execute(Request(run, out, store, binding, "tests", 2, False), lambda _: None)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    versions = provenance.versions() | changes.get("versions", {})
    device = changes.get("device", provenance.processor())
    monkeypatch.setattr(provenance, "versions", lambda: versions)
    monkeypatch.setattr(provenance, "processor", lambda: device)
    asked = Request(run, out, store, changes.get("binding", binding), changes.get("study", "tests"), 4, True)
    with pytest.raises(StudyError, match="another one") as caught:
        execute(asked, lambda _: None)
    assert caught.value.where.field == field
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


PLACES = {
    "the log of rows": (lambda: Log, "append"),
    "a checkpoint": (lambda: checkpoints, "finalise"),
    "a register": (lambda: run_record, "write_register"),
    "the index": (lambda: run_record, "write_runs"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_full_disk_is_on_record_and_leaves_nothing_half_written(
    place, small_run, start, tmp_path, coin, monkeypatch
):
    """From the moment in which `place` is written the disk is full, until space is given back."""
    run = small_run("C4", "independent", importance__mode="off")
    out = tmp_path / "run"
    (owner, name), state = PLACES[place], {"full": False}
    real, write = getattr(owner(), name), run_record.write_bytes

    def breaks(*given, **options):
        if isinstance(given[0], Path) and name.startswith("write_"):
            given[0].write_bytes(b"half")  # what a real disk would have taken
        state["full"] = True
        raise full()

    def writes(path, data, **options):
        if state["full"] and (out / spare.NAME).exists():
            raise full()
        write(path, data, **options)

    monkeypatch.setattr(owner(), name, breaks)
    monkeypatch.setattr(run_record, "write_bytes", writes)
    with pytest.raises(OSError) as caught:
        go(run, out, start(run).parent)
    assert caught.value.errno == errno.ENOSPC
    (attempt,) = run_record.read(out)["attempts"]
    assert attempt["status"] == ("completed" if place == "the index" else "failed")
    left = [path.name for path in out.rglob(".*")]
    assert left == []
    monkeypatch.setattr(owner(), name, real)
    state["full"] = False
    assert go(run, out, start(run).parent, resume=True).status == "completed"
    assert (out / "runs.parquet").exists()


def test_what_a_killed_attempt_left_half_written_is_swept(whole):
    run, store, out = whole
    (out / ".groups.00000000.partial").write_bytes(b"half")
    (out / "checkpoints" / ".writing-00000000" / "checkpoint-2").mkdir(parents=True)
    go(run, out, store, resume=True)
    assert [path.name for path in out.rglob(".*")] == []

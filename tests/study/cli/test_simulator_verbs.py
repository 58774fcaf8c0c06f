"""`study play` and `study evaluate` as a user meets them: registers, refusals, exit codes, bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.file import open_register, read_runs
from study.cli.evaluate import command as evaluate_command
from study.cli.play import command as play_command
from study.evaluation.written import NO_PLAN

ROOT = Path(__file__).resolve().parents[3]
BASE = [
    "--policy",
    "recovering",
    "--regime",
    "clean",
    "--regime",
    "faults_p25",
    "--pool",
    "validation",
    "--tasks",
    "11",
    "--schedules",
    "2",
]


def run(command, *arguments):
    return CliRunner().invoke(command, [str(word) for word in arguments], catch_exceptions=True)


def evaluated(out, *more):
    result = run(evaluate_command, *BASE, "--out", out, *more)
    assert result.exit_code == 0, result.exception
    return result


def test_registers_and_index(tmp_path):
    out = tmp_path / "run"
    evaluated(out, "--condition", "S1", "--seed", 2)
    (row,) = read_runs(out / "runs.parquet")
    assert (row.condition, row.arm, row.seed, row.plan_digest, row.status) == (
        "S1",
        "recovering",
        2,
        NO_PLAN,
        "completed",
    )
    (sibling,) = row.registers
    assert (sibling.kind, sibling.path, sibling.rows) == ("episodes", "episodes.parquet", 44)
    assert sibling.sha256 == sha256_file(out / "episodes.parquet")
    assert row.config_digest
    open_register([out / "runs.parquet"])


def test_further_runs_join_the_index(tmp_path):
    evaluated(tmp_path)
    before = sha256_file(tmp_path / "episodes.parquet")
    evaluated(tmp_path, "--arm", "other")
    evaluated(tmp_path, "--seed", 1)
    runs = read_runs(tmp_path / "runs.parquet")
    assert [(row.arm, row.seed) for row in runs] == [("recovering", 0), ("other", 0), ("recovering", 1)]
    assert runs[1].registers[0].path == f"{runs[1].run_id}/episodes.parquet"
    assert sha256_file(tmp_path / "episodes.parquet") == before


def test_the_same_run_twice_is_refused_before_it_is_played(tmp_path):
    evaluated(tmp_path)
    result = run(evaluate_command, *BASE, "--out", tmp_path)
    assert result.exit_code == 1
    assert "registered here already" in str(result.exception)


def test_what_lies_there_without_a_row_in_the_index_is_left_alone(tmp_path):
    """A stranger's file, or what an interrupted call left: the run gets a folder of its own and is indexed."""
    (tmp_path / "episodes.parquet").write_bytes(b"evidence")
    evaluated(tmp_path)
    assert (tmp_path / "episodes.parquet").read_bytes() == b"evidence"
    (row,) = read_runs(tmp_path / "runs.parquet")
    assert row.registers[0].path == f"{row.run_id}/episodes.parquet"
    written = (tmp_path / row.registers[0].path).read_bytes()
    (tmp_path / "runs.parquet").unlink()  # killed between register and index, and called again
    evaluated(tmp_path)
    assert (tmp_path / row.registers[0].path).read_bytes() == written
    (tmp_path / "runs.parquet").unlink()
    (tmp_path / row.registers[0].path).write_bytes(b"evidence")
    again = run(evaluate_command, *BASE, "--out", tmp_path)
    assert again.exit_code == 1 and "never overwritten" in str(again.exception)
    assert (tmp_path / row.registers[0].path).read_bytes() == b"evidence"
    assert not list(tmp_path.rglob("*.partial"))


def test_the_first_place_may_be_taken_while_a_run_is_played(tmp_path, monkeypatch):
    from study.evaluation import evaluate as module

    play = module.evaluate

    def meanwhile(spec, **more):
        rows = play(spec, **more)
        monkeypatch.setattr(module, "evaluate", play)
        evaluated(tmp_path, "--seed", 5)
        return rows

    monkeypatch.setattr(module, "evaluate", meanwhile)
    evaluated(tmp_path)
    runs = read_runs(tmp_path / "runs.parquet")
    assert [(row.seed, "/" in row.registers[0].path) for row in runs] == [(5, False), (0, True)]
    open_register([tmp_path / "runs.parquet"])


def test_places_where_nothing_can_be_written_are_found_before_playing(tmp_path, monkeypatch):
    from study.evaluation import evaluate as module

    monkeypatch.setattr(module, "evaluate", lambda *a, **k: pytest.fail("played"))
    (tmp_path / "file").write_text("x")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "runs.parquet").symlink_to(tmp_path / "nowhere")
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "run.json").write_text("{}")
    for place in ("file/x", "linked", "training"):
        result = run(evaluate_command, *BASE, "--out", tmp_path / place)
        assert result.exit_code == 1, place
    assert "training run" in str(result.exception)


def test_a_killed_worker_is_said_and_no_worker_outlives_its_parent(tmp_path):
    started = subprocess.Popen(
        [sys.executable, "-m", "study", "evaluate", *BASE, "--tasks", "300", "--schedules", "400", "--workers", "2",
         "--out", str(tmp_path / "a")],
        cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip

    workers = wait_for(lambda: len(found := children(started.pid)) == 2 and found)
    os.kill(workers[0], signal.SIGKILL)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 3 and "worker process was killed" in said and "Traceback" not in said
    assert not (tmp_path / "a").exists()

    started = subprocess.Popen(
        [sys.executable, "-m", "study", "evaluate", *BASE, "--tasks", "300", "--schedules", "400", "--workers", "2",
         "--out", str(tmp_path / "a")],
        cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    workers = wait_for(lambda: len(found := children(started.pid)) == 2 and found)
    wait_for(lambda: all(threads_of(pid) > 1 for pid in workers))
    started.kill()
    started.wait()
    assert wait_for(lambda: not any(alive(pid) for pid in workers))


def test_an_interrupt_stops_the_workers_at_once(tmp_path):
    started = subprocess.Popen(
        [sys.executable, "-m", "study", "evaluate", *BASE, "--tasks", "300", "--schedules", "100000", "--workers", "2",
         "--out", str(tmp_path / "a")],
        cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - background jobs ignore it
    )  # fmt: skip
    # one chunk is a million episodes, minutes of work: whoever waits for it does not stop
    workers = wait_for(lambda: len(found := children(started.pid)) == 2 and found)
    wait_for(lambda: all(threads_of(pid) > 1 for pid in workers))
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=30)
    assert started.returncode == 130 and "Traceback" not in said
    assert wait_for(lambda: not any(alive(pid) for pid in workers))


def children(pid):
    """Worker processes of a process."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    words = path.read_text().split() if path.exists() else []
    return [int(word) for word in words if b"spawn_main" in Path(f"/proc/{word}/cmdline").read_bytes()]


def threads_of(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Threads:"):
            return int(line.split()[1])
    return 0


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_for(question, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_episodes_are_byte_identical_over_processes_hash_seeds_and_workers(tmp_path):
    digests = set()
    for name, hash_seed, workers in (("a", "0", "1"), ("b", "12345", "1"), ("c", "7", "2")):
        subprocess.run(
            [sys.executable, "-m", "study", "evaluate", *BASE, "--workers", workers, "--out", str(tmp_path / name)],
            cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True,
        )  # fmt: skip
        digests.add(sha256_file(tmp_path / name / "episodes.parquet"))
    assert len(digests) == 1


def test_groups(tmp_path):
    result = run(
        evaluate_command, "--policy", "recovering", "--regime", "grader_flips", "--pool", "validation", "--tasks", 10,
        "--schedules", 3, "--arm", "independent", "--group-size", 8, "--out", tmp_path, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    value = json.loads(result.stdout)
    assert next(iter(value)) == "format"
    assert value["summary"][0]["groups"] == value["summary"][0]["all_correct"] == 30
    assert 5 <= value["summary"][0]["spurious"] <= 28
    (row,) = read_runs(tmp_path / "runs.parquet")
    assert row.registers[0].kind == "groups"
    open_register([tmp_path / "runs.parquet"])


def test_a_plan_is_named_by_its_digest(tmp_path):
    plan = ROOT / "examples/scripted_agents/plan.yaml"
    evaluated(tmp_path / "a", "--plan", plan)
    evaluated(tmp_path / "b", "--plan-digest", "ab" * 32)
    assert read_runs(tmp_path / "a" / "runs.parquet")[0].plan_digest == sha256_file(plan)
    assert read_runs(tmp_path / "b" / "runs.parquet")[0].plan_digest == "ab" * 32
    assert (
        run(evaluate_command, *BASE, "--out", tmp_path / "c", "--plan-digest", "xyz").exception.exit_code == 2
    )
    assert (
        run(
            evaluate_command, *BASE, "--out", tmp_path / "c", "--plan", plan, "--plan-digest", "ab" * 32
        ).exception.exit_code
        == 2
    )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "change",
    [["--policy", "clever"], ["--pool", "moon"], ["--regime", "mist"], ["--tasks", "9999"], ["--arm", "a/b"]],
)
def test_names_that_do_not_exist(tmp_path, change):
    result = run(evaluate_command, *BASE, *change, "--out", tmp_path / "x")
    assert result.exception.exit_code == 2
    assert not (tmp_path / "x").exists()


def play(*more):
    return run(
        play_command, "--pool", "test", "--task", "3", "--regime", "faults_p25", "--policy", "naive", *more
    )


def test_play_shows_calls_faults_and_reasons():
    text = play().stdout
    for words in (
        "Request:",
        "Budget:",
        "fault: transient",
        "0 s 10 left",
        "What changed in the world",
        "Grade: failure",
        "Why",
        "was not repeated",
    ):
        assert words in text
    assert "\x1b[" not in text


def test_play_as_json():
    value = json.loads(play("--json").stdout)
    assert (next(iter(value)), value["format"]) == ("format", "study.play/1")
    assert value["true_success"] is False
    assert value["reasons"] and value["differences"]
    assert value["calls"][0]["drawn"] == "transient"
    again = json.loads(
        run(
            play_command,
            "--pool",
            "test",
            "--task",
            value["task"],
            "--regime",
            "faults_p25",
            "--policy",
            "naive",
            "--json",
        ).stdout
    )
    assert again == value


def test_play_the_compact_profile_and_other_schedules():
    first = play("--profile", "compact", "--schedule", "5", "--json")
    assert json.loads(first.stdout)["task"].startswith("compact-test")
    assert (
        json.loads(play("--schedule", "5", "--json").stdout)["schedule_seed"]
        != json.loads(play("--json").stdout)["schedule_seed"]
    )


def test_play_refuses_what_is_not_there():
    assert run(play_command, "--pool", "test", "--task", "test-9999").exception.exit_code == 2
    assert run(play_command, "--pool", "warmup", "--task", "0").exception.exit_code == 2


def test_a_register_names_its_spec_and_a_spec_its_pool_and_laws(tmp_path, monkeypatch):
    from study.backoffice.schedule import LAW
    from study.evaluation import spec as module

    evaluated(tmp_path)
    metadata = pq.read_schema(tmp_path / "episodes.parquet").metadata
    (row,) = read_runs(tmp_path / "runs.parquet")
    assert metadata[b"config_digest"].decode() == row.config_digest
    assert metadata[b"law"].decode() == LAW
    one = module.EvaluationSpec("naive", "natural", "test", ("grader_flips",), 3, 2, 0, "naive", "c")
    before = one.digest()
    # pinned: run ids of scripted runs must not change with the code
    assert before == "cbd1ac97111c9cec57687c61f9e6b8af08e80f79c2dab9efffce1a36fd6a2b1a"
    with monkeypatch.context() as patch:
        patch.setattr(module, "recorded_digest", lambda *_: "0" * 64)
        assert one.digest() != before
    real = module.regime_named
    with monkeypatch.context() as patch:
        patch.setattr(module, "regime_named", lambda name: replace(real(name), flip_rate=Fraction(1, 3)))
        assert one.digest() != before
    two = replace(one, checkpoints=((0, "a"), (5, "b")), policy="p")
    assert (one.episodes, two.episodes) == (6, 12)


def test_a_dangling_link_is_nobodys_place(tmp_path):
    from study.evaluation.spec import EvaluationSpec
    from study.evaluation.written import place_for

    spec = EvaluationSpec("naive", "natural", "test", ("clean",), 3, 2, 0, "naive", "c")
    (tmp_path / "episodes.parquet").symlink_to("nowhere")
    assert place_for(tmp_path, spec) == tmp_path / spec.label().run_id / "episodes.parquet"


@pytest.mark.parametrize(
    ("regimes", "schedules"), [(("challenge",), 1), (("clean", "challenge"), 4), (("clean",), 4)]
)
def test_the_usual_number_of_schedules(regimes, schedules):
    from study.cli.evaluation_options import spec_of

    names = ("tasks", "schedules", "seed", "arm", "condition", "profile")
    wanted = dict.fromkeys(names) | {"regimes": regimes, "pool": "test", "group_size": 0}
    assert spec_of("naive", None, wanted).schedules == schedules


def test_the_challenge_plays_one_schedule_beside_regimes_that_play_four(tmp_path):
    result = run(
        evaluate_command, "--policy", "naive", "--regime", "clean", "--regime", "challenge", "--pool", "test",
        "--tasks", 3, "--seed", 2, "--out", tmp_path, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    assert [row["episodes"] for row in json.loads(result.stdout)["summary"]] == [12, 3]
    table = pq.read_table(tmp_path / "episodes.parquet", columns=["regime", "schedule"]).to_pylist()
    assert {row["schedule"] for row in table if row["regime"] == "challenge"} == {2}
    assert {row["schedule"] for row in table if row["regime"] == "clean"} == {8, 9, 10, 11}


def test_several_schedules_of_the_challenge_alone_are_refused(tmp_path):
    result = run(
        evaluate_command, "--policy", "naive", "--regime", "challenge", "--pool", "test", "--schedules", 2,
        "--out", tmp_path / "o",
    )  # fmt: skip
    assert result.exception.exit_code == 2 and "no chance" in str(result.exception)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    "text", ["", "not a plan", "format: prereg.plan/2\n", "PAR1", "format: prereg.amendment/1\n"]
)
def test_a_file_that_is_no_plan_is_refused_before_anything_is_played(tmp_path, text):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    result = run(evaluate_command, *BASE, "--plan", path, "--out", tmp_path / "o")
    assert result.exception.exit_code in (1, 2) and "plan.yaml" in str(result.exception)
    assert not (tmp_path / "o").exists()


def test_certificates_are_for_the_pairs_that_an_evaluation_plays(tmp_path):
    from study.cli.certify import command as certify_command

    pairs = (
        "--pool",
        "test",
        "--regime",
        "faults_p25",
        "--regime",
        "challenge",
        "--tasks",
        6,
        "--schedules",
        3,
    )
    result = run(certify_command, *pairs, "--seed", 1, "--json")
    assert result.exit_code == 0, result.exception
    value = json.loads(result.stdout)
    assert value["format"] == "study.certify/1"
    played = run(evaluate_command, "--policy", "recovering", *pairs, "--seed", 1, "--out", tmp_path)
    assert played.exit_code == 0
    rows = pq.read_table(tmp_path / "episodes.parquet").to_pylist()
    keys = ("task", "regime", "schedule", "schedule_seed", "budget")
    assert [[row[key] for key in keys] for row in value["certificates"]] == [
        [row[key] for key in keys] for row in rows
    ]
    for found, row in zip(value["certificates"], rows, strict=True):
        assert found["solvable"] or not row["true_success"]
        assert len(found["witness"]) == (found["least_calls"] if found["solvable"] else 0)
    assert [row["pairs"] for row in value["summary"]] == [18, 6]


def test_a_certificate_of_no_pool_is_refused():
    from study.cli.certify import command as certify_command

    assert run(certify_command, "--pool", "moon", "--regime", "clean").exception.exit_code == 2
    assert run(certify_command, "--pool", "test", "--regime", "mist").exception.exit_code == 2

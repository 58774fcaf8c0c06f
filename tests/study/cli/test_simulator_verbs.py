"""`study play` and `study evaluate` as a user meets them: registers, refusals, exit codes, bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from prereg_kit.digest import sha256_file
from prereg_kit.register_file import open_register, read_runs
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
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray" / "episodes.parquet").write_bytes(b"evidence")
    assert run(evaluate_command, *BASE, "--out", tmp_path / "stray").exit_code == 1
    assert (tmp_path / "stray" / "episodes.parquet").read_bytes() == b"evidence"


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
    plan = tmp_path / "plan.yaml"
    plan.write_bytes(b"x\r\n")
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

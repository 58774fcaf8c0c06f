"""`study evaluate` and `study play` on checkpoints: the run's own rows come back, and nothing else passes for them."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the study extra")

from prereg_kit.digest import sha256_file
from prereg_kit.register_file import open_register, read_runs
from study import run_record
from study.cli.evaluate import command as evaluate
from study.cli.play import command as play
from study.cli.status import command as status
from study.config import step_zero_digest
from study.config_file import read_tier, resolve
from study.training.run import Request, execute

pytestmark = pytest.mark.torch


def tier():
    table = read_tier("smoke").model_dump()
    table["warm_start"] |= {"steps": 4, "refund_steps": 1, "short_steps": 1}
    table["optimisation"]["steps"] = 2
    table["checkpoint_every"] = 1
    table["evaluation"] |= {"every": 1, "test_tasks": 5, "test_schedules": 2, "batch": 16}
    return type(read_tier("smoke")).model_validate(table)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two arms of a seed, trained to their end."""
    root = tmp_path_factory.mktemp("home")
    for arm in ("paired", "independent"):
        run = resolve(tier(), condition="C2", arm=arm, seed=3)
        execute(Request(run, root / arm, root / "step0", None, "tests", 2, False), lambda _: None)
    return root


def run(command, *arguments):
    return CliRunner().invoke(command, [str(word) for word in arguments], catch_exceptions=True)


FINAL = [*("--pool", "test"), *("--tasks", 5), *("--schedules", 2), *("--regime", "faults_p25")]


def rows(path):
    return pq.read_table(path).to_pylist()


def test_a_checkpoint_evaluated_later_gives_the_rows_of_the_run(home, tmp_path):
    result = run(
        evaluate, "--policy", f"{home / 'paired'}@0,last", *FINAL, "--regime", "clean", "--out", tmp_path
    )
    assert result.exit_code == 0, result.exception
    found = rows(tmp_path / "episodes.parquet")
    assert [(row["step"], row["regime"]) for row in found] == [
        (step, regime) for step in (0, 2) for regime in ("faults_p25", "clean") for _ in range(10)
    ]
    own = {
        (row["step"], row["split"], row["regime"], row["task"], row["schedule"]): row
        for row in rows(home / "paired" / "episodes.parquet")
    }
    known = [
        row for row in found if (row["step"], row["regime"]) != (0, "clean")
    ]  # the run did not play those
    for row in known:
        twin = own[(row["step"], row["split"], row["regime"], row["task"], row["schedule"])]
        assert row | {"run_id": ""} == twin | {"run_id": ""}
    assert {row["schedule"] for row in found} == {6, 7}  # seed 3 plays 3K to 3K+K-1
    open_register([tmp_path / "runs.parquet"])
    (line,) = read_runs(tmp_path / "runs.parquet")
    assert (line.condition, line.arm, line.seed, line.study) == ("C2", "paired", 3, "tests")


def test_rows_do_not_depend_on_processes_and_arms_share_an_index(home, tmp_path):
    for name, workers in (("one", 1), ("two", 2)):
        for arm in ("paired", "independent"):
            result = run(
                evaluate, "--policy", f"{home / arm}@2", *FINAL, "--tasks", 9, "--workers", workers,
                "--out", tmp_path / name,
            )  # fmt: skip
            assert result.exit_code == 0, result.exception
    first, second = (read_runs(tmp_path / name / "runs.parquet") for name in ("one", "two"))
    assert [row.arm for row in first] == ["paired", "independent"]
    assert [row.registers for row in first] == [row.registers for row in second]


def test_labels_belong_to_the_run(home, tmp_path):
    for option, value in (("--arm", "x"), ("--seed", 0), ("--condition", "C4"), ("--profile", "natural")):
        result = run(
            evaluate, "--policy", f"{home / 'paired'}@2", *FINAL, option, value, "--out", tmp_path / "o"
        )
        assert result.exception.exit_code == 2 and option.strip("-") in str(result.exception)
    groups = run(
        evaluate, "--policy", f"{home / 'paired'}@2", *FINAL, "--group-size", 4, "--out", tmp_path / "o"
    )
    assert groups.exception.exit_code == 2 and "scripted" in str(groups.exception)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("step", ["3", "-1", "", "x", "2,", "1e0", "\N{SUPERSCRIPT TWO}"])
def test_steps_without_a_checkpoint(home, tmp_path, step):
    result = run(evaluate, "--policy", f"{home / 'paired'}@{step}", *FINAL, "--out", tmp_path / "o")
    assert result.exception.exit_code == 2
    assert "0, 1, 2, or last" in str(result.exception)
    assert not (tmp_path / "o").exists()


@pytest.fixture
def copied(home, tmp_path):
    shutil.copytree(home, tmp_path / "home")
    return tmp_path / "home"


def test_weights_that_were_changed_are_not_played(copied, tmp_path):
    weights = copied / "paired" / "checkpoints" / "checkpoint-2" / "adapter_model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    result = run(evaluate, "--policy", f"{copied / 'paired'}@2", *FINAL, "--out", tmp_path / "o")
    assert result.exception.exit_code == 2 and "0, 1, or last" in str(result.exception)


def test_a_store_that_vouches_for_other_weights_is_not_the_runs(copied, tmp_path):
    """The digests beside the weights are changed with them; the run's own record is not."""
    one = resolve(tier(), condition="C2", arm="paired", seed=3)
    folder = copied / "step0" / step_zero_digest(one)
    weights = folder / "adapter.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    record = json.loads((folder / "step_zero.json").read_bytes())
    record["files"]["adapter.safetensors"] = sha256_file(weights)
    (folder / "step_zero.json").write_text(json.dumps(record))
    result = run(evaluate, "--policy", f"{copied / 'paired'}@2", *FINAL, "--out", tmp_path / "o")
    assert result.exception.exit_code == 1 and "not the one that this run began from" in str(result.exception)
    request = Request(one, copied / "paired", copied / "step0", None, "tests", 2, True)
    again = Request(one, copied / "new", copied / "step0", None, "tests", 1, False)
    execute(request, lambda _: None)  # nothing is left to do, so nothing is loaded
    shutil.rmtree(copied / "paired" / "checkpoints" / "checkpoint-2")
    with pytest.raises(Exception, match="not the one that this run began from"):
        execute(request, lambda _: None)
    execute(again, lambda _: None)  # a new run may begin from any store, and says so
    shown = run(status, copied, "--json")
    warnings = json.loads(shown.stdout)["warnings"]
    assert len(warnings) == 1 and "did not begin from the same step-0 checkpoint" in warnings[0]


def test_a_checkpoint_of_another_config_is_refused(copied, tmp_path):
    path = copied / "paired" / "checkpoints" / "checkpoint-2" / "complete.json"
    record = json.loads(path.read_bytes())
    record["config_digest"] = "0" * 64
    path.write_text(json.dumps(record))
    result = run(evaluate, "--policy", f"{copied / 'paired'}@2", *FINAL, "--out", tmp_path / "o")
    assert "belongs to another config" in str(result.exception)


def test_play_shows_a_recorded_episode(home):
    result = run(
        play, "--policy", f"{home / 'independent'}@2", "--pool", "test", "--task", 4, "--schedule", 7,
        "--regime", "faults_p25", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    value = json.loads(result.stdout)
    (row,) = [
        row
        for row in rows(home / "independent" / "episodes.parquet")
        if (row["step"], row["split"], row["regime"], row["task"], row["schedule"])
        == (2, "test", "faults_p25", "compact-test-0004", 7)
    ]
    text = json.dumps(value)
    assert row["schedule_seed"] in text and f"{run_record.read(home / 'independent')['run_id']}@2" in text
    two = run(play, "--policy", f"{home / 'independent'}@0,2", "--pool", "test", "--task", 4)
    assert two.exception.exit_code == 2
    other = run(
        play, "--policy", f"{home / 'independent'}@2", "--pool", "test", "--task", 4, "--profile", "natural"
    )
    assert other.exception.exit_code == 2

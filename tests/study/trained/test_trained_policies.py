"""`study evaluate` and `study play` on checkpoints: the run's own rows come back, and nothing else passes for them."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from prereg_kit.errors import PreregError, UsageError
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.file import open_register, read_runs
from study.cli.evaluate import command as evaluate
from study.cli.evaluation_options import plan_of
from study.cli.play import command as play
from study.cli.status import command as status
from study.config.file import parse_run, read_tier, resolve
from study.errors import StudyError
from study.evaluation.written import NO_PLAN
from study.runs import record as run_record
from study.runs import step_zero_record
from study.runs.state import state_of
from study.trained.checkpoint_policy import Checkpoint, trained
from study.trained.language_model import load
from study.training.run import Request, execute

pytestmark = pytest.mark.torch
ROOT = Path("x")


def tier():
    table = read_tier("smoke").model_dump()
    table["world"]["profile"] = "compact"
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


def run(command, *arguments, **options):
    return CliRunner().invoke(command, [str(word) for word in arguments], catch_exceptions=True, **options)


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


@pytest.mark.parametrize(
    "step", ["3", "-1", "", "x", "2,", "1e0", "\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT TWO}", "9" * 5000]
)
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


def changed(path):
    """Flip a bit of a weights file; its new digest."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    return sha256_file(path)


def edit(path, change):
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))


def other_adapters(start, base):
    digest = changed(start / "adapter.safetensors")
    edit(start / "step_zero.json", lambda value: value["files"].update({"adapter.safetensors": digest}))


def other_base(start, base):
    digest = changed(base / "model.safetensors")
    edit(base / "base.json", lambda value: value["files"].update({"model.safetensors": digest}))
    edit(start / "step_zero.json", lambda value: value["base"]["files"].update({"model.safetensors": digest}))


def moved_names(start, base):
    """The base vouched for by a copy beside the adapters, so that its own record lists nothing."""
    shutil.copy(base / "model.safetensors", start / "model.safetensors")
    changed(base / "model.safetensors")
    edit(base / "base.json", lambda value: value.update(files={}))

    def move(value):
        value["files"].update(value["base"]["files"])
        value["base"]["files"] = {}

    edit(start / "step_zero.json", move)


def store_of(copied):
    one = resolve(tier(), condition="C2", arm="paired", seed=3)
    folder = step_zero_record.start_folder(one, copied / "step0")
    return one, folder, step_zero_record.base_folder(one, copied / "step0")


@pytest.mark.parametrize("attack", [other_adapters, other_base, moved_names])
def test_a_store_that_vouches_for_other_weights_is_not_the_runs(copied, tmp_path, attack):
    """The digests beside the weights are changed with them; the run's own record is not."""
    one, start, base = store_of(copied)
    attack(start, base)
    for step in ("0", "2"):
        result = run(evaluate, "--policy", f"{copied / 'paired'}@{step}", *FINAL, "--out", tmp_path / "o")
        assert result.exception.exit_code == 1
        assert "run began from" in str(result.exception) or "name its weights" in str(result.exception)
    request = Request(one, copied / "paired", copied / "step0", None, "tests", 2, True)
    execute(request, lambda _: None)  # nothing is left to do, so nothing is loaded
    shutil.rmtree(copied / "paired" / "checkpoints" / "checkpoint-2")
    with pytest.raises(StudyError):
        execute(request, lambda _: None)


def test_runs_that_began_apart_are_named_by_status(copied):
    one, start, base = store_of(copied)
    other_adapters(start, base)
    request = Request(one, copied / "new", copied / "step0", None, "tests", 1, False)
    execute(request, lambda _: None)  # a new run may begin from any store, and says so
    warnings = json.loads(run(status, copied, "--json").stdout)["warnings"]
    assert len(warnings) == 1 and "did not begin from the same step-0 checkpoint" in warnings[0]


def test_equal_weights_have_equal_run_ids_and_other_sampling_has_another(home, tmp_path):
    again = resolve(tier(), condition="C2", arm="paired", seed=3)
    execute(Request(again, tmp_path / "again", home / "step0", None, "tests", 2, False), lambda _: None)
    table = tier().model_dump()
    table["rollouts"]["temperature"] = 0.5
    cold = resolve(type(tier()).model_validate(table), condition="C2", arm="paired", seed=3)
    execute(Request(cold, tmp_path / "cold", home / "step0", None, "tests", 1, False), lambda _: None)
    ids = {}
    for name, policy in (
        ("own", f"{home / 'paired'}@0,2"),
        ("again", f"{tmp_path / 'again'}@0,2"),
        ("start", f"{home / 'paired'}@0"),
        ("cold", f"{tmp_path / 'cold'}@0"),
    ):
        result = run(
            evaluate,
            "--policy",
            policy,
            *FINAL,
            "--step-zero",
            home / "step0",
            "--out",
            tmp_path / "o" / name,
        )
        assert result.exit_code == 0, result.exception
        ids[name] = read_runs(tmp_path / "o" / name / "runs.parquet")[0]
    assert ids["own"].run_id == ids["again"].run_id
    assert ids["own"].registers == ids["again"].registers  # path, digest, rows
    assert ids["start"].run_id != ids["cold"].run_id


def renamed(folder):
    (folder / "checkpoint-2").rename(folder / "checkpoint-7")
    return "7"


def unlisted(folder):
    edit(folder / "checkpoint-2" / "complete.json", lambda value: value.update(files={}))
    changed(folder / "checkpoint-2" / "adapter_model.safetensors")
    return "2"


def other_spelling(folder):
    shutil.copytree(folder / "checkpoint-2", folder / "checkpoint-02")
    changed(folder / "checkpoint-2" / "adapter_model.safetensors")
    return "2"


def no_step(folder):
    edit(folder / "checkpoint-2" / "complete.json", lambda value: value.update(step=None))
    return "2"


def last_one_gone(folder):
    shutil.rmtree(folder / "checkpoint-2")
    return "last"


def beyond_the_run(folder):
    shutil.copytree(folder / "checkpoint-2", folder / "checkpoint-9")
    edit(folder / "checkpoint-9" / "complete.json", lambda value: value.update(step=9))
    return "9"


def below_the_start(folder):
    shutil.copytree(folder / "checkpoint-2", folder / "checkpoint--4")
    edit(folder / "checkpoint--4" / "complete.json", lambda value: value.update(step=-4))
    return "-4"


def a_name_that_no_file_has(folder):
    edit(folder / "checkpoint-2" / "complete.json", lambda value: value["files"].update({"a" * 300: "x"}))
    return "2"


@pytest.mark.parametrize(
    "attack",
    [
        renamed,
        unlisted,
        other_spelling,
        no_step,
        last_one_gone,
        beyond_the_run,
        below_the_start,
        a_name_that_no_file_has,
    ],
)
def test_a_checkpoint_is_what_its_record_and_its_name_say(copied, tmp_path, attack):
    step = attack(copied / "paired" / "checkpoints")
    result = run(evaluate, "--policy", f"{copied / 'paired'}@{step}", *FINAL, "--out", tmp_path / "o")
    assert result.exception.exit_code == 2 and "checkpoint" in str(result.exception)


def test_no_checkpoint_takes_the_place_of_the_start(copied):
    folder = copied / "paired" / "checkpoints"
    shutil.copytree(folder / "checkpoint-2", folder / "checkpoint-0")
    edit(folder / "checkpoint-0" / "complete.json", lambda value: value.update(step=0))
    (zero,) = trained(f"{copied / 'paired'}@0").checkpoints
    assert zero.adapter.parent.parent == copied / "step0"


def test_a_run_that_does_not_say_what_it_began_from_is_not_resumed(copied):
    one, _, _ = store_of(copied)
    shutil.rmtree(copied / "paired" / "checkpoints" / "checkpoint-2")
    edit(copied / "paired" / "run.json", lambda value: value["attempts"][-1].pop("step_zero"))
    request = Request(one, copied / "paired", copied / "step0", None, "tests", 2, True)
    with pytest.raises(StudyError, match="which weights it began from"):
        execute(request, lambda _: None)


def test_nothing_is_written_into_a_run(home, tmp_path):
    for place in ("x/../paired", "paired/attempts", "paired/checkpoints/checkpoint-2"):
        result = run(evaluate, "--policy", f"{home / 'paired'}@2", *FINAL, "--out", home / place)
        assert result.exit_code == 1 and "training run" in str(result.exception)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    result = run(evaluate, "--policy", f"{home / 'paired'}@2", *FINAL, "--out", tmp_path / "dangling")
    assert result.exit_code == 1 and "link leads nowhere" in str(result.exception)


def with_weights(copied, change):
    folder = copied / "paired" / "checkpoints" / "checkpoint-2"
    path = folder / "adapter_model.safetensors"
    change(path)
    digest = sha256_file(path)
    edit(folder / "complete.json", lambda value: value["files"].update({path.name: digest}))


def tensors(change):
    def apply(path):
        save_file({name: change(tensor) for name, tensor in load_file(path).items()}, path)

    return apply


def one_element(value):
    def put_in(tensor):
        tensor = tensor.clone()
        tensor.view(-1)[-1] = value
        return tensor

    return tensors(put_in)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (tensors(lambda t: t[:1].clone()), "do not fit"),
        (tensors(lambda t: t.mean()), "do not fit"),
        (tensors(lambda t: t.to(torch.int8)), "do not fit"),
        (tensors(lambda t: t * float("nan")), "no numbers"),
        (one_element(float("nan")), "no numbers"),
        (one_element(float("inf")), "no numbers"),
        (lambda path: path.write_bytes(b""), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:100]), "damaged"),
    ],
)
def test_weights_that_a_record_vouches_for_and_that_are_none(copied, change, said):
    with_weights(copied, change)
    result = run(play, "--policy", f"{copied / 'paired'}@2", "--pool", "test", "--task", 1)
    assert result.exception.exit_code == 1 and said in str(result.exception)
    assert "adapter_model.safetensors" in str(result.exception)


def test_weights_that_change_after_the_name_was_resolved_are_not_played(copied):
    found = trained(f"{copied / 'paired'}@2")
    changed(copied / "paired" / "checkpoints" / "checkpoint-2" / "adapter_model.safetensors")
    with pytest.raises(StudyError, match="not the recorded ones"):
        load(found, found.checkpoints[0], "clean")


def test_a_plan_that_did_not_bind_the_training_gets_no_rows(home, tmp_path):
    (tmp_path / "plan.yaml").write_bytes(
        (Path(__file__).parents[3] / "examples/scripted_agents/plan.yaml").read_bytes()
    )
    result = run(
        evaluate,
        "--policy",
        f"{home / 'paired'}@2",
        *FINAL,
        "--plan",
        tmp_path / "plan.yaml",
        "--out",
        tmp_path / "o",
    )
    assert result.exception.exit_code == 2 and "did not bind" in str(result.exception)
    stray = run(evaluate, "--policy", "naive", *FINAL, "--step-zero", tmp_path, "--out", tmp_path / "o")
    assert stray.exception.exit_code == 2
    device = run(evaluate, "--policy", "naive", *FINAL, "--plan", "/dev/zero", "--out", tmp_path / "o")
    assert device.exception.exit_code == 2


def test_more_episodes_than_fit_are_refused_at_once(home, tmp_path):
    result = run(
        evaluate, "--policy", f"{home / 'paired'}@2", *FINAL, "--schedules", 1 << 20, "--out", tmp_path / "o"
    )
    assert result.exception.exit_code == 2 and "1,000,000" in str(result.exception)


def test_a_run_is_found_from_inside_its_folder(home, monkeypatch):
    for place, name in ((home / "paired", ".@2"), (home / "paired" / "checkpoints", "..@2")):
        monkeypatch.chdir(place)
        result = run(play, "--policy", name, "--pool", "test", "--task", 1)
        assert result.exit_code == 0, result.exception


def put(*path):
    """Replace a value of run.json by another; the last of `path` is the value."""

    def change(value):
        *steps, last, new = path
        for step in steps:
            value = value[step]
        value[last] = new

    return change


HOSTILE = [
    *(
        put(field, new)
        for field in ("run_id", "config", "attempts", "study")
        for new in (None, 7, "\x1b[31m", [], {})
    ),
    *(put("attempts", 0, new) for new in (None, 7, {})),
    *(put("attempts", -1, "step_zero", new) for new in (None, 7, {}, {"files": {}})),
    *(put("attempts", -1, "step_zero", "files", new) for new in (None, [], {}, {"x": 1})),
    *(put("attempts", -1, "step_zero", "base", new) for new in (None, [], {}, {"files": None})),
    put("config_digest", "0" * 5000),
    put("exploratory", "no"),
    put("bound_by", {"plan": 1}),
    put("bound_by", {"plan": "p", "sha256": "a" * 64, "material": "m"}),  # and exploratory
    lambda value: value["attempts"].append(
        json.loads(json.dumps(value["attempts"][-1]).replace('safetensors": "', 'safetensors": "0'))
    ),
    lambda value: value.pop("config_digest"),
    lambda value: value.pop("attempts"),
]


@pytest.fixture(scope="module")
def harmed(home, tmp_path_factory):
    root = tmp_path_factory.mktemp("harmed")
    shutil.copytree(home, root / "home")
    return root / "home"


@pytest.mark.parametrize("change", HOSTILE, ids=range(len(HOSTILE)))
def test_a_record_that_is_none_is_refused_by_name_and_shown_by_status(harmed, home, change, tmp_path):
    path = harmed / "paired" / "run.json"
    path.write_bytes((home / "paired" / "run.json").read_bytes())
    edit(path, change)
    result = run(evaluate, "--policy", f"{harmed / 'paired'}@2", *FINAL, "--out", tmp_path / "o")
    assert isinstance(result.exception, PreregError), result.exception
    assert result.exception.exit_code in (1, 2) and "run.json" in str(result.exception)
    shown = json.loads(run(status, harmed, "--json").stdout)
    assert {row["folder"] for row in shown["runs"]} == {str(harmed / "paired"), str(harmed / "independent")}


@pytest.mark.parametrize("text", [b"", b"null", b"[" * 100_000, b"\xff", b"{"])
def test_a_record_that_is_no_json_is_refused_by_name(harmed, text, tmp_path):
    path = harmed / "paired" / "run.json"
    path.write_bytes(text)
    result = run(evaluate, "--policy", f"{harmed / 'paired'}@2", *FINAL, "--out", tmp_path / "o")
    assert result.exception.exit_code == 2 and "run.json" in str(result.exception)
    shown = run(status, harmed, env={"COLUMNS": "400"})
    assert shown.exit_code == 0 and "unreadable" in shown.stdout


def one_more_row(log):
    log.write_bytes(b'{"step": 2}\n' + log.read_bytes())


def no_number(log):
    log.write_bytes(b'{"step": Infinity}\n' + log.read_bytes())


def a_folder(log):
    log.unlink()
    log.mkdir()


def deep(log):
    log.with_name("attempt.json").write_text("[" * 200_000)


@pytest.mark.parametrize("harm", [one_more_row, no_number, a_folder, deep])
def test_a_damaged_log_is_a_row_of_status(copied, harm):
    (log,) = (copied / "paired" / "attempts").glob("*/episodes.jsonl")
    harm(log)
    assert run(status, copied, "--json").exit_code == 0
    shown = run(status, copied, env={"COLUMNS": "400"})
    assert shown.exit_code == 0 and "unreadable" in shown.stdout and "independent" in shown.stdout


def test_status_shows_no_terminal_codes(copied):
    (copied / "paired").rename(copied / "p\x1b[31m")
    edit(copied / "p\x1b[31m" / "run.json", lambda value: value.update(format="x"))
    assert "\x1b" not in run(status, copied, color=True).stdout


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


def test_a_policy_is_its_base_and_its_adapters():
    digests = {Checkpoint(0, ROOT, *pair).digest for pair in (("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"))}
    assert len(digests) == 4
    assert Checkpoint(0, ROOT, "a", "b").digest == Checkpoint(9, ROOT / "x", "a", "b").digest


def test_rows_have_the_plan_that_bound_the_training(home):
    found = replace(trained(f"{home / 'paired'}@0"), plan_sha256="a" * 64)
    assert plan_of(found, NO_PLAN) == plan_of(found, "a" * 64) == "a" * 64
    with pytest.raises(UsageError, match="did not bind"):
        plan_of(found, "b" * 64)


def test_status_looks_at_validation_and_at_the_youngest_log(copied):
    folder = copied / "paired"
    (log,) = (folder / "attempts").glob("*/episodes.jsonl")
    table = [json.loads(line) for line in log.read_text().splitlines()]
    for row in table:
        row["true_success"] = row["split"] == "validation"
    log.write_text("".join(json.dumps(row) + "\n" for row in table))
    assert state_of(folder)["evaluation"]["faults_p25"] == 1.0
    edit(folder / "run.json", lambda value: value["attempts"][-1].update(status="running"))
    logs = list((folder / "attempts").glob("*/*.jsonl"))
    assert len(logs) == 2 and state_of(folder)["state"] == "running"
    hour_ago = time.time() - 3600
    os.utime(logs[0], (hour_ago, hour_ago))
    assert state_of(folder)["state"] == "running"
    os.utime(logs[1], (hour_ago, hour_ago))
    assert state_of(folder)["state"] == "silent"


def test_steps_come_in_order(copied):
    """32 and 1 come the other way round in a set."""
    folder = copied / "paired" / "checkpoints"
    edit(
        copied / "paired" / "run.json", lambda value: value["config"]["tier"]["optimisation"].update(steps=40)
    )
    one = run_record.read(copied / "paired")
    digest = parse_run(json.dumps(one["config"]).encode(), "x").digest
    name = parse_run(json.dumps(one["config"]).encode(), "x").run_id
    edit(copied / "paired" / "run.json", lambda value: value.update(config_digest=digest, run_id=name))
    for step in (1, 32):
        if step == 32:
            shutil.copytree(folder / "checkpoint-2", folder / "checkpoint-32")
        edit(
            folder / f"checkpoint-{step}" / "complete.json",
            lambda value, step=step: value.update(step=step, config_digest=digest),
        )
    shutil.rmtree(folder / "checkpoint-2")
    assert [one.step for one in trained(f"{copied / 'paired'}@32,1,0").checkpoints] == [0, 1, 32]

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from prereg_kit.evidence.archive import freeze
from prereg_kit.registers.file import open_register, read_runs
from study.cli.status import command as status
from study.cli.train import command as train
from study.config.run_config import RunConfig

pytestmark = pytest.mark.torch
SMOKE = ["--tier", "smoke", "--condition", "C2", "--arm", "paired", "--seed", "0"]


def call(command, *arguments):
    return CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False)


def code(result):
    return getattr(result.exception, "exit_code", 0)


@pytest.fixture
def quick_tier(small_run, tmp_path):
    """The smoke tier with a warm start of four steps, as a file."""
    run: RunConfig = small_run()
    lines = []

    def write(name, table):
        plain = {
            key: value for key, value in table.items() if not isinstance(value, dict) and value is not None
        }
        lines.extend([f"[{name}]"] if name else [])
        lines.extend(f"{key} = {json.dumps(value)}" for key, value in plain.items())
        for key, value in table.items():
            if isinstance(value, dict):
                write(f"{name}.{key}" if name else key, value)

    write("", run.tier.model_dump())
    path = tmp_path / "quick.toml"
    path.write_text("\n".join(lines))
    return path


def test_a_config_is_written_with_its_own_digest(tmp_path):
    result = call(train, *SMOKE, "--write-config", tmp_path / "c.json")
    from prereg_kit.foundation.digest import sha256_file

    assert result.output.split()[0] == sha256_file(tmp_path / "c.json")
    assert code(call(train, *SMOKE, "--write-config", tmp_path / "c.json")) == 1  # never overwritten


def test_without_a_plan_a_run_must_say_that_it_explores(tmp_path):
    result = call(train, *SMOKE, "--plans", tmp_path, "--out", tmp_path / "run")
    assert code(result) == 2 and "--exploratory" in str(result.exception)
    assert not (tmp_path / "run").exists()


PLAN = """
format: prereg.plan/1
id: small
arms: {{column: arm, treatment: paired, reference: independent}}
materials: [{{path: c.json, sha256: {digest}}}]
endpoints: {{e: {{register: episodes, value: true_success}}}}
hypotheses: {{H1: {{statement: more, passes_if: {{difference: {{endpoint: e, above: 0}}}}}}}}
"""


def test_a_frozen_plan_binds_a_run_and_its_registers_are_indexed(tmp_path, quick_tier):
    choice = ["--tier", quick_tier, "--condition", "C2", "--arm", "paired", "--seed", "0"]
    digest = call(train, *choice, "--write-config", tmp_path / "c.json").output.split()[0]
    (tmp_path / "plan.yaml").write_text(PLAN.format(digest=digest))
    root = tmp_path / "home"
    root.mkdir()
    freeze((tmp_path / "plan.yaml").read_bytes(), "plan.yaml", root / "frozen" / "small")
    out, index = tmp_path / "registers" / "a", tmp_path / "registers" / "runs.parquet"
    result = call(
        train, *choice, "--plans", root, "--out", out, "--index", index, "--study", "small", "--json"
    )
    assert result.exception is None, result.exception
    value = json.loads(result.stdout)
    assert (value["format"], value["status"], value["exploratory"], value["indexed"]) == (
        "study.train/1",
        "completed",
        False,
        True,
    )
    (row,) = read_runs(index)
    from prereg_kit.foundation.digest import sha256_file

    assert row.plan_digest == sha256_file(tmp_path / "plan.yaml")
    assert (row.config_digest, row.study, row.status) == (digest, "small", "completed")
    assert sorted(sibling.kind for sibling in row.registers) == ["episodes", "groups"]
    assert {path.name for path in out.iterdir()} >= {
        "run.json",
        "checkpoints",
        "groups.parquet",
        "episodes.parquet",
        "runs.parquet",
        "curves.png",
    }
    opened = open_register([index], plan_digest=row.plan_digest)
    assert opened is not None

    shown = call(status, tmp_path / "registers", "--json")
    (state,) = json.loads(shown.stdout)["runs"]
    assert (state["state"], state["step"], state["steps"], state["exploratory"]) == ("completed", 4, 4, False)
    assert call(status, tmp_path / "registers").exception is None

    again = call(train, *choice, "--plans", root, "--out", out)
    assert code(again) == 1 and "lies here already" in str(again.exception)
    assert json.loads((out / "run.json").read_bytes())["attempts"][0]["status"] == "completed"


def test_status_of_nothing_and_of_something_unreadable(tmp_path):
    assert code(call(status, tmp_path)) == 3
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "run.json").write_text("{")
    (row,) = json.loads(call(status, tmp_path, "--json").stdout)["runs"]
    assert row["state"].startswith("unreadable")


def test_the_full_tier_is_examined_without_weights_and_says_what_is_missing(tmp_path):
    result = call(train, "--tier", "full", *SMOKE[2:], "--dry-run", "--json")
    value = json.loads(result.stdout)
    assert value["format"] == "study.dry-run/1"
    assert value["adapter"] == {"modules": 186, "coordinates": 33_638_400}
    assert len(set(value["sampling"]["first_group_seeds"])) == 8
    assert value["rows"] == 2400
    assert value["trainer"]["gradient_accumulation_steps"] == 96
    assert "<function=" in value["prompts"]["first"] and "get_order" in value["prompts"]["first"]
    assert value["memory_gib"]["accelerator needed"] > 30
    import torch

    if not torch.cuda.is_available():
        assert any("GPU" in one["what"] for one in value["problems"])
        refused = call(train, "--tier", "full", *SMOKE[2:], "--exploratory", "--out", tmp_path / "f")
        assert code(refused) == 3 and "pip install" in str(refused.exception)
        assert not Path(tmp_path / "f").exists()


def test_wrong_versions_are_said_at_once(monkeypatch, small_run):
    from study.errors import CannotStartError
    from study.training import preflight

    real = preflight.installed
    monkeypatch.setattr(preflight, "installed", lambda name: "1.11.0" if name == "trl" else real(name))
    with pytest.raises(CannotStartError, match=r"trl is 1\.11\.0, version 1\.12\.0 is needed"):
        preflight.require(small_run())
    monkeypatch.setattr(preflight, "installed", real)
    monkeypatch.setattr(preflight, "free_memory", lambda: 1 << 30)
    with pytest.raises(CannotStartError, match=r"1\.0 GiB of memory are free"):
        preflight.require(small_run())


@pytest.mark.parametrize(
    "arguments",
    [
        [*SMOKE, "--steps", "99", "--exploratory", "--out", "x"],
        [*SMOKE, "--exploratory"],
        ["--tier", "smoke", "--condition", "C0", "--arm", "paired", "--seed", "0", "--dry-run"],
        ["--tier", "nowhere", "--condition", "C2", "--arm", "paired", "--seed", "0", "--dry-run"],
    ],
)
def test_command_lines_that_make_no_sense_exit_2(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert code(call(train, *arguments)) == 2
    assert not list(tmp_path.iterdir())

"""The handed cases about plans and decisions (C05, C07, C29, C31), through the command."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from prereg_kit.cli.main import cli
from prereg_kit.errors import DocumentError, PreregError
from prereg_kit.plan import yaml_file

SHARED = Path(os.environ.get("PREREG_SHARED", Path(__file__).parents[2].parent / "shared"))
CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the handed cases are not beside this checkout")


def plan_of(rules: Path) -> str:
    """A neutral rules file in our language."""
    neutral = yaml_file.plain(yaml_file.read(rules.read_bytes(), rules.name).value)
    metric = {"success": "success"}[neutral["metric"]]
    parts = []
    for name, value in neutral["rule"].items():
        parts.append(
            {
                "mean_at_least": f"{{difference: {{endpoint: e, at_least: {value}}}}}",
                "every_seed_positive": "{every_seed: {endpoint: e, above: 0}}",
                "lower_bound_above": f"{{interval: {{endpoint: e, two_sided_level: {neutral['interval']['level']}, "
                f"method: {neutral['interval']['method']}, lower_above: {value}}}}}",
            }[name]
        )
    how = neutral["interval"]
    return f"""\
format: prereg.plan/1
id: neutral
arms: {{column: arm, treatment: {neutral["arms"]["treatment"]}, reference: {neutral["arms"]["control"]}}}
resampling: {{pairs: seed, clusters: task_id, engine: monte_carlo, resamples: {how["resamples"]}, seed: {how["rng_seed"]}, interval: {how["method"]}, level: {how["level"]}}}
endpoints:
  e: {{register: episodes, where: {{eval_set: {neutral["eval_set"]}}}, value: {metric}}}
hypotheses:
  {neutral["hypothesis"]}:
    passes_if: {{all: [{", ".join(parts)}]}}
"""


def decide(
    tmp_path: Path, case: str, register: str, rules: str = "rules.yaml"
) -> tuple[int, str, dict[str, Any]]:
    plan = tmp_path / "plan.yaml"
    plan.write_text(plan_of(CASES / case / rules))
    out = tmp_path / "out"
    arguments = [
        "decide",
        "--plan",
        str(plan),
        "--register",
        str(CASES / case / register),
        "--json",
        "--out",
        str(out),
    ]
    done = CliRunner().invoke(cli, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, PreregError), done.exception
        assert not (out / "verdicts.json").exists()
        return done.exception.exit_code, str(done.exception), {}
    verdicts = json.loads(done.stdout)
    assert json.loads((out / "verdicts.json").read_text()) == verdicts
    return 0, done.stdout, next(iter(verdicts["hypotheses"].values()))


def expected(case: str) -> dict[str, Any]:
    return json.loads((CASES / case / "expected.json").read_text())


@pytest.mark.parametrize("register", ["all_ones", "all_zeros", "opposite"])
def test_nothing_varies_and_the_interval_is_a_point_that_says_so(tmp_path: Path, register: str) -> None:
    code, text, verdict = decide(tmp_path, "C29", f"{register}.parquet")
    assert code == 0, text
    assert "NaN" not in text and "Infinity" not in text
    difference = 1.0 if register == "opposite" else 0.0
    assert verdict["interval"]["lower"] == verdict["interval"]["upper"] == difference
    assert verdict["interval"]["degenerate"] and verdict["interval"]["note"]
    assert verdict["outcome"] == ("pass" if difference else "fail")


def test_bca_is_refused_by_name(tmp_path: Path) -> None:
    code, text, _ = decide(tmp_path, "C29", "all_ones.parquet", "rules_bca.yaml")
    assert code == 1
    assert "bca" in text


def test_an_exact_tie_passes_at_least(tmp_path: Path) -> None:
    _, _, verdict = decide(tmp_path, "C31", "tie.parquet")
    assert (verdict["outcome"], Fraction(verdict["estimate"]["exact"])) == ("pass", Fraction(3, 100))
    assert verdict["estimate"]["value"] == 0.03


def test_an_exact_tie_fails_above(tmp_path: Path) -> None:
    _, _, verdict = decide(tmp_path, "C31", "lower_tie_one_task.parquet", "rules_ni.yaml")
    assert (verdict["outcome"], verdict["interval"]["lower_exact"]) == ("fail", "-3/100")


def test_two_thirds_is_not_067(tmp_path: Path) -> None:
    _, _, verdict = decide(tmp_path, "C31", "two_thirds.parquet", "rules_067.yaml")
    assert (verdict["outcome"], verdict["estimate"]["exact"]) == ("fail", "2/3")


@pytest.mark.parametrize(
    ("name", "lines"), [("dup_top.yaml", (2, 4)), ("dup_nested.yaml", (3, 5)), ("dup.json", ())]
)
def test_two_thresholds_under_one_key(name: str, lines: tuple[int, ...]) -> None:
    with pytest.raises(DocumentError, match="mean_at_least") as caught:
        yaml_file.read((CASES / "C05" / name).read_bytes(), name)
    assert all(str(line) in str(caught.value) for line in lines)
    assert caught.value.where.file == name


def test_a_merge_key_is_legal() -> None:
    document = yaml_file.read((CASES / "C05" / "merge_ok.yaml").read_bytes(), "merge_ok.yaml")
    assert document.value["rule"]["mean_at_least"] == "0.05"  # type: ignore[index,call-overload]


def test_names_dates_and_commit_ids_stay_text() -> None:
    values = expected("C07")["values"]
    read = yaml_file.plain(yaml_file.read((CASES / "C07" / "header.yaml").read_bytes(), "header.yaml").value)
    assert read == values

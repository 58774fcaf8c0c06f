"""The handed cases about registers (C21 to C33), through the library and through `prereg decide`.

The cases are read from the folder that PREREG_SHARED names, or from `shared/` beside the checkout.
"""

from __future__ import annotations

import json
import os
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from prereg_kit.errors import PreregError, RegisterError
from prereg_kit.registers.cells import CellQuery, Policy, cell_table
from prereg_kit.registers.file import open_register

SHARED = Path(os.environ.get("PREREG_SHARED", Path(__file__).parents[2].parent / "shared"))
CASES = SHARED / "cases"
NAMES = ("C21", "C23", "C25", "C27", "C33")

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the handed cases are not beside the checkout")


def runs() -> list:
    found = []
    for name in NAMES:
        path = CASES / name / "expected.json"
        if path.is_file():
            for i, run in enumerate(json.loads(path.read_text())["runs"]):
                found.append(pytest.param(name, run, id=f"{name}-{i}-{run['cmd'].split()[-1]}"))
    return found


def plan_of(case: str, rules: str, folder: Path) -> Path:
    """The neutral rule file in the plan language."""
    neutral = YAML(typ="safe", pure=True).load((CASES / case / rules).read_text())
    rule = neutral["rule"]
    clauses = []
    if "mean_at_least" in rule:
        clauses.append({"difference": {"endpoint": "success", "at_least": rule["mean_at_least"]}})
    if rule.get("every_seed_positive"):
        clauses.append({"every_seed": {"endpoint": "success", "above": 0}})
    plan = {
        "format": "prereg.plan/1",
        "id": neutral["hypothesis"],
        "arms": {
            "column": "arm",
            "treatment": neutral["arms"]["treatment"],
            "reference": neutral["arms"]["control"],
        },
        "resampling": {"pairs": "seed", "clusters": "task_id", "level": neutral["interval"]["level"]},
        "endpoints": {
            "success": {
                "register": "episodes",
                "where": {"eval_set": neutral["eval_set"]},
                "value": neutral["metric"],
            }
        },
        "hypotheses": {neutral["hypothesis"]: {"statement": "As handed.", "passes_if": {"all": clauses}}},
    }
    path = folder / "plan.yaml"
    path.write_text("\n".join(f"{key}: {json.dumps(value)}" for key, value in plan.items()) + "\n")
    return path


def command(monkeypatch, capsys, case: str, *words: str) -> tuple[int, str, str]:
    from prereg_kit.cli.main import main

    monkeypatch.chdir(CASES / case)
    monkeypatch.setattr(sys, "argv", ["prereg", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.parametrize(("case", "run"), runs())
def test_the_command_does_what_the_case_wants(case, run, tmp_path, monkeypatch, capsys):
    words = run["cmd"].split()
    rules, register = words[words.index("--rules") + 1], words[words.index("--register") + 1]
    plan = plan_of(case, rules, tmp_path)
    code, out, err = command(
        monkeypatch, capsys, case,
        "decide", "--plan", str(plan), "--register", register, "--out", str(tmp_path / "out"), "--json",
    )  # fmt: skip
    said = (out + err).lower()
    assert (code == 0) == (run["exit"] == "0"), said
    for text in run.get("output_mentions_all", ()):
        assert text.lower() in said
    for choices in run.get("output_mentions_any_of_each", ()):
        assert any(text.lower() in said for text in choices)
    for text in run.get("output_must_not_contain", ()):
        assert text.lower() not in said
    if code:
        assert not (tmp_path / "out").exists()
        assert not out
        return
    values = json.loads((CASES / case / "expected.json").read_text())["values"]
    wanted = values.get("reference") or values["reordered"]
    verdict = json.loads(out)["hypotheses"]["H2"]
    per_seed = [Fraction(verdict["per_seed"][seed]["exact"]) for seed in ("0", "1", "2")]
    assert [float(each) for each in per_seed] == pytest.approx(wanted["difference_by_seed"], abs=1e-12)
    assert verdict["estimate"]["value"] == pytest.approx(wanted["difference_mean"], abs=1e-12)
    if "passes" in wanted:
        assert verdict["outcome"] == ("pass" if wanted["passes"] else "fail")
        ends = [verdict["interval"]["lower"], verdict["interval"]["upper"]]
        assert ends == pytest.approx(wanted["difference_ci95"], abs=wanted["ci_tolerance"])
    if register == "parts":
        assert "b.parquet" in out


def table(case: str, name: str, **changes):
    asked = {
        "where": {"eval_set": "final_noisy"}, "value": "success", "arm": "arm", "arms": ("paired", "independent"),
        "pairs": "seed", "cluster": "task_id",
    }  # fmt: skip
    return cell_table(open_register([CASES / case / name]), "episodes", CellQuery(**{**asked, **changes}))


def refused(case: str, name: str, **changes) -> PreregError:
    with pytest.raises(RegisterError) as caught:
        table(case, name, **changes)
    return caught.value


def test_missing_outcomes_are_named_by_row_and_key():
    for name in ("missing.parquet", "missing.csv"):
        error = refused("C21", name)
        assert error.code == "missing-value"
        assert error.where.file.endswith(name)
        assert error.where.key.startswith("8 (")  # data rows are counted from 1
        for part in ("arm=paired", "seed=0", "task_id=task-007"):
            assert part in error.where.key


def test_a_word_that_is_no_truth_value_is_named_by_row_and_column():
    error = refused("C21", "yes.csv")
    assert (error.code, error.where.field, error.found) == ("bad-value", "success", "yes")
    assert error.where.key.startswith("13 (")


def test_repeats_are_counted_conflicts_named_and_dropped_only_on_request():
    error = refused("C23", "exact.parquet")
    assert error.code == "repeated-rows"
    assert error.problem.startswith("20 duplicate rows")
    dropped = table("C23", "exact.parquet", policy=Policy(repeats="drop_exact"))
    whole = table("C21", "reference.parquet")
    assert (dropped.successes == whole.successes).all()
    assert (dropped.episodes == whole.episodes).all()
    assert dropped.notes[0].startswith("20 exact repeats were dropped")
    error = refused("C23", "conflict.parquet", policy=Policy(repeats="drop_exact"))
    assert error.code == "conflicting-rows"
    for part in ("arm=paired", "seed=0", "task_id=task-040", "schedule=0"):
        assert part in error.where.key
    error = refused("C23", "run_twice.parquet")
    assert (error.code, error.found) == ("second-run", ["C2-paired-s2", "C2-paired-s2-retry"])


def test_the_folder_that_contradicts_its_rows_names_file_and_both_values():
    error = refused("C25", "contradiction")
    assert (error.code, error.where.field, error.found) == ("contradicts-folder", "seed", 9)
    assert error.where.file.endswith("arm=paired/seed=1/part.parquet")


def test_a_file_inside_the_tree_is_read_on_its_own():
    for tree in ("path_only", "both"):
        alone = table("C25", f"{tree}/arm=paired/seed=0/part.parquet", arms=("paired",))
        assert alone.seeds == ("0",)
        assert alone.rows_used == 50


def test_orphans_and_missing_cells_are_named():
    error = refused("C33", "seed_mismatch.parquet")
    assert error.code == "orphan-seeds"
    assert "seed 2 only in arm paired; seed 3 only in arm independent" in error.problem
    error = refused("C33", "task_missing.parquet")
    assert (error.code, error.where.key) == ("missing-cells", "arm=independent, seed=1, task_id=task-004")


def test_an_evaluation_set_that_is_not_there_is_named_with_those_that_are():
    error = refused("C27", "full.parquet", where={"eval_set": "challenge"})
    assert (error.code, error.found) == ("absent-value", "challenge")
    assert "final_noisy" in error.expected


def test_exact_ties_stay_exact():
    numerators, denominator = table("C31", "tie.parquet").numerators()
    gaps = (numerators[0] - numerators[1]).sum(axis=(1, 2))
    tasks = numerators.shape[3]
    assert [Fraction(int(gap), denominator * tasks) for gap in gaps] == [Fraction(3, 100)] * 3


def test_a_pointer_in_place_of_the_index_is_refused_by_name(monkeypatch, capsys):
    code, out, err = command(monkeypatch, capsys, "C11", "decide", "--register", "runs.parquet")
    assert code == 3
    assert not out
    pointer = dict(line.split(" ", 1) for line in (CASES / "C11" / "runs.parquet").read_text().splitlines())
    for text in ("runs.parquet", "Git LFS pointer", pointer["oid"], pointer["size"], "git lfs pull"):
        assert text in err

"""Guards do not sleep: a renamed column, a typo or an absent column leaves a rule undecided, or is printed."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from prereg_kit import decide, load_plan
from prereg_kit.cli.main import cli
from prereg_kit.decision.verdict import Guard, Verdicts
from prereg_kit.design.plan_check import check
from prereg_kit.errors import PlanError
from prereg_kit.operations.materials import compare
from prereg_kit.plan.file import read_plan
from prereg_kit.registers.file import add_run, sibling_of, write_register
from prereg_kit.registers.formats import RunRow
from prereg_kit.report import render
from tests.plans import small
from tests.prereg_kit.decision.test_decision import cell_rows

RULE = "{difference: {endpoint: success, above: 0}}"
HALF = Fraction(1, 2)
FOLDS = "runs: {planned: [{arm: [t, r], pair: [0, 1, 2]}]}\n"


def by_fold(rule: str = RULE, head: str = FOLDS, **more: str) -> str:
    """The small plan, its pairs told apart by the column `fold`."""
    return small(rule, head=head, **more).replace("{engine: auto}", "{engine: auto, pairs: fold}")


def rows(folds: int, column: str = "fold") -> pd.DataFrame:
    """Two tasks in each fold; the treatment is better by a half in each task."""
    return pd.DataFrame(cell_rows([[HALF, HALF]] * folds)).rename(columns={"seed": column})


def unplanned() -> pd.DataFrame:
    """Failures in a fourth fold."""
    return rows(4).query("fold == 3").assign(true_success=False)


def decided(text: str, frame: pd.DataFrame) -> Verdicts:
    return decide(text.encode(), {"episodes": frame}).verdicts


def guards(found: Verdicts, name: str) -> list[Guard]:
    return [guard for guard in found.guards if guard.name == name]


def codes(text: str) -> list[str]:
    return [finding.code for finding in check(load_plan(text.encode()).effective).findings]


def test_planned_pairs_are_missed_whatever_their_column_is_called() -> None:
    found = decided(by_fold(), rows(1))
    verdict = found.hypotheses["H1"]
    assert (verdict.outcome, verdict.reasons[0].code) == ("not_evaluable", "runs-missing")
    assert "1, 2" in verdict.reasons[0].message and "fold" in verdict.reasons[0].message
    whole = decided(by_fold(), rows(3))
    assert whole.hypotheses["H1"].outcome == "pass"
    assert [guard.applies for guard in guards(whole, "planned-pairs")] == [True]


def test_pairs_that_nobody_planned_are_not_counted_whatever_their_column_is_called() -> None:
    more = pd.concat([rows(3), unplanned()])
    found = decided(by_fold(), more)
    assert set(found.hypotheses["H1"].per_seed) == {"0", "1", "2"}
    assert found.hypotheses["H1"].estimate == decided(by_fold(), rows(3)).hypotheses["H1"].estimate
    assert any("folds 3 are not planned and not counted" in note for note in found.notes)


def test_a_left_out_pair_has_a_worst_and_a_best_case_whatever_its_column_is_called() -> None:
    """Two folds of +1/2 and a missing one: at worst (1/2 + 1/2 - 1)/3 = 0, at best 2/3."""
    head = FOLDS.replace("]}]}", "]}], missing: exclude_pair}")
    found = decided(by_fold(head=head), rows(2)).hypotheses["H1"]
    assert found.outcome == "pass" and found.stability is not None
    assert (found.stability.missing_worst, found.stability.missing_best) == ("fail", "pass")
    assert "fold pairs 2" in (found.stability.note or "")


def test_where_no_worst_case_is_known_the_missing_pairs_are_named_all_the_same() -> None:
    head = FOLDS.replace("]}]}", "]}], missing: exclude_pair}")
    text = by_fold(head=head).replace("value: true_success", "value: score, unit: points")
    found = decided(text, rows(2).assign(score=lambda frame: frame["true_success"] * 3))
    stability = found.hypotheses["H1"].stability
    assert stability is not None and "fold pairs 2 are planned and missing" in (stability.note or "")
    assert stability.missing_worst is None
    assert [guard.applies for guard in guards(found, "missing-pairs-bounded")] == [False]


def test_a_matrix_that_does_not_name_the_pairs_decides_nothing_and_is_not_frozen(tmp_path: Path) -> None:
    text = by_fold(head="runs: {planned: [{arm: [t, r], seed: [0, 1, 2]}]}\n")
    found = decided(text, rows(1))
    assert found.hypotheses["H1"].reasons[0].code == "runs-not-planned"
    assert found.hypotheses["H1"].outcome == "not_evaluable"
    assert "pair: [...]" in found.hypotheses["H1"].reasons[0].message
    assert codes(text) == ["pairs-unnamed"]
    (tmp_path / "plan.yaml").write_text(text)
    refused = CliRunner().invoke(cli, ["freeze", str(tmp_path / "plan.yaml"), "--root", str(tmp_path)])
    assert refused.exception is not None and not (tmp_path / "frozen/small").exists()


def test_a_block_names_its_pairs_once() -> None:
    with pytest.raises(PlanError, match="list the pairs under `seed`"):
        read_plan(small(RULE, head=FOLDS).encode(), "p")
    with pytest.raises(PlanError, match="the planned seeds; or pair"):
        read_plan(small(RULE, head="runs: {planned: [{arm: [t, r]}]}\n").encode(), "p")


def test_other_arms_of_a_renamed_column_do_not_count_as_missing_pairs() -> None:
    head = "runs: {planned: [{arm: [t, r], seed: [0, 1]}, {arm: other, seed: [0, 1, 2, 3]}]}\n"
    text = small(RULE, head=head).replace("arms: {", "arms: {column: model, ")
    found = decided(text, rows(2, "seed").rename(columns={"arm": "model"}))
    assert found.hypotheses["H1"].outcome == "pass"
    missing = decided(text, rows(1, "seed").rename(columns={"arm": "model"})).hypotheses["H1"]
    assert missing.reasons[0].code == "runs-missing" and "missing: 1 (" in missing.reasons[0].message


@pytest.mark.parametrize("arms", ["[tt, rr]", "[t, rr]"])
def test_a_typo_in_the_planned_arms_is_no_licence(arms: str) -> None:
    text = small(RULE, head=f"runs: {{planned: [{{arm: {arms}, seed: [0, 1, 2, 3, 4, 5, 6, 7, 8]}}]}}\n")
    found = decided(text, rows(2, "seed")).hypotheses["H1"]
    assert (found.outcome, found.reasons[0].code) == ("not_evaluable", "runs-not-planned")
    assert codes(text) == ["not-planned"]


def test_pairs_planned_for_one_arm_only_are_found() -> None:
    head = "runs: {planned: [{arm: t, seed: [0, 1, 2]}, {arm: r, seed: [0, 1]}]}\n"
    assert codes(small(RULE, head=head)) == ["not-planned"]


def test_endpoints_of_gaps_and_readings_are_compared_with_the_matrix_too() -> None:
    head = "runs: {planned: [{condition: A, arm: [t, r], seed: [0, 1, 2]}]}\n"
    two = (
        "  b: {register: episodes, where: {condition: B}, value: true_success}\n"
        "  gap: {kind: gap, of: b, minus: success}\n"
    )
    assert codes(small("{difference: {endpoint: gap, above: 0}}", endpoints=two, head=head)) == [
        "not-planned"
    ]
    reading = "    readings: {other: {replace: {success: b}}}\n"
    assert codes(small(RULE, reading, two, head)) == ["not-planned"]


def test_parts_of_a_plan_that_nothing_reads_are_found() -> None:
    planned = "runs: {planned: [{arm: [t, r], seed: [0, 1, 2]}]}\n"
    typo = planned + "registers: {episode: {repeats: drop_exact}}\n"
    assert codes(small(RULE, head=typo)) == ["unused"]
    assert codes(small(RULE, head=planned + "registers: {episodes: {key: []}}\n")) == ["empty-key"]
    known = "disclosures: [{id: D, kind: pilot, text: x, endpoint: success, seed: %s, arm: %s, value: 0.5}]\n"
    assert codes(small(RULE, head=planned + known % ("0", "t"))) == []
    assert codes(small(RULE, head=planned + known % ("9", "tt"))) == ["disclosure", "disclosure"]


MEAN = "  m: {kind: mean, register: episodes, where: {arm: t}, value: true_success}\n"
RATE = "  m: {kind: rate, register: episodes, where: {arm: t}, count: true_success}\n"
POOLED = "{estimate: {endpoint: m, at_least: 0.5}}"


@pytest.mark.parametrize("endpoint", [MEAN, RATE])
def test_means_and_rates_without_an_index_miss_planned_pairs_and_leave_others_out(endpoint: str) -> None:
    text = by_fold(POOLED, endpoints=endpoint)
    found = decided(text, rows(2)).hypotheses["H1"]
    assert (found.outcome, found.reasons[0].code) == ("not_evaluable", "runs-missing")
    more = decided(text, pd.concat([rows(3), unplanned()]))
    assert more.hypotheses["H1"].estimate is not None and more.hypotheses["H1"].estimate.exact == "1/2"
    assert any("folds 3 are not planned" in note for note in more.notes)


def test_a_rate_whose_rows_have_no_pairing_column_says_so() -> None:
    text = by_fold(POOLED, endpoints=RATE)
    found = decided(text, rows(3).drop(columns="fold").drop_duplicates(["arm", "task", "schedule"]))
    (guard,) = guards(found, "planned-pairs")
    assert not guard.applies and "no column fold" in (guard.reason or "")


def index_without_rows_of(folder: Path, lost: int, digest: str) -> Path:
    """An index that names runs of seeds 0 to 2 of both arms; the rows of one seed were never written."""
    frame = rows(3, "seed")
    columns: dict[str, list[Any]] = {
        "run_id": [f"{a}{s}" for a, s in zip(frame["arm"], frame["seed"], strict=True)],
        "condition": ["c"] * len(frame), "arm": list(frame["arm"]), "seed": list(frame["seed"]),
        "step": [1] * len(frame), "split": ["test"] * len(frame), "regime": ["clean"] * len(frame),
        "task": list(frame["task"]), "schedule": list(frame["schedule"]),
        "true_success": list(frame["true_success"]), "observed_reward": [0.0] * len(frame),
    }  # fmt: skip
    kept = [i for i, seed in enumerate(columns["seed"]) if seed != lost]
    written = write_register(
        folder / "episodes.parquet", "episodes",
        {name: [values[i] for i in kept] for name, values in columns.items()},
    )  # fmt: skip
    index = folder / "runs.parquet"
    for arm in "tr":
        for seed in range(3):
            held = () if seed == lost else (sibling_of(index, "episodes", written.path),)
            add_run(index, RunRow(f"{arm}{seed}", "s", digest, "c", arm, seed, registers=held))
    return index


def test_a_run_of_the_index_without_rows_is_a_missing_pair(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(small(RULE, head="runs: {planned: [{condition: c, arm: [t, r], seed: [0, 1, 2]}]}\n"))
    index = index_without_rows_of(tmp_path, 2, load_plan(plan).effective.digest)
    found = decide(plan, index).verdicts
    assert found.hypotheses["H1"].outcome == "not_evaluable"
    assert "2" in found.hypotheses["H1"].reasons[0].message
    assert all(guard.applies for guard in found.guards)


def test_guards_that_did_not_apply_stand_in_every_output() -> None:
    found = decided(small(RULE), rows(2, "seed").drop(columns="run_id"))
    asleep = {guard.name for guard in found.guards if not guard.applies}
    assert asleep == {
        "planned-runs",
        "planned-pairs",
        "counted-runs",
        "rows-agree-with-index",
        "one-run-per-cell",
    }
    for output in ("md", "html", "csv", "latex"):
        text = " ".join(render(found, output).split())
        assert "the plan names no runs" in text and "no column run" in text, output
    assert found.to_json()["guards"][0]["applies"] is False


def test_the_terminal_prints_guards_that_did_not_apply(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(small(RULE))
    rows(2, "seed").to_csv(tmp_path / "episodes.csv", index=False)
    call = ["decide", "--plan", str(tmp_path / "plan.yaml"), str(tmp_path / "episodes.csv")]
    output = CliRunner().invoke(cli, call).output
    assert "planned-pairs does not apply to success" in " ".join(output.split())


def test_a_renamed_condition_in_a_declared_key_is_said_to_be_averaged_over() -> None:
    more = pd.concat([rows(2, "seed").assign(setting=0), rows(2, "seed").assign(setting=1)])
    text = small(RULE, head="registers: {episodes: {key: [setting, arm, seed, task, schedule]}}\n")
    (guard,) = guards(decided(text, more), "unmixed")
    assert not guard.applies and "setting" in (guard.reason or "")
    named = text.replace("value: true_success", "where: {setting: 1}, value: true_success")
    assert [guard.applies for guard in guards(decided(named, more), "unmixed")] == [True]


def test_bound_files_are_compared_before_the_freeze_and_when_it_counts(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_bytes(b"one\n")
    digest = hashlib.sha256(b"one\n").hexdigest()
    text = small(RULE, head=f"materials: [{{path: pool.txt, sha256: {digest}}}]\n")
    (tmp_path / "plan.yaml").write_text(text)
    (tmp_path / "frozen").mkdir()
    register = tmp_path / "episodes.csv"
    rows(2, "seed").to_csv(register, index=False)

    def run() -> tuple[int, Verdicts]:
        found = CliRunner().invoke(
            cli, ["check", str(tmp_path / "plan.yaml"), "--root", str(tmp_path)], standalone_mode=False
        )
        return found.return_value, decide(tmp_path / "plan.yaml", register, root=tmp_path).verdicts

    code, same = run()
    assert code == 0 and [guard.applies for guard in guards(same, "materials")] == [True]
    (tmp_path / "pool.txt").write_bytes(b"two\n")
    code, other = run()
    assert code == 1 and any("MATERIAL ALTERED: pool.txt" in label for label in other.labels)
    frozen = CliRunner().invoke(cli, ["freeze", str(tmp_path / "plan.yaml"), "--root", str(tmp_path)])
    assert frozen.exception is not None and not (tmp_path / "frozen/small").exists()
    (tmp_path / "pool.txt").unlink()
    code, none = run()
    assert code == 1 and [guard.applies for guard in guards(none, "materials")] == [False]


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret", "a/../../b"])
def test_a_bound_path_out_of_the_repository_is_not_read(path: str, tmp_path: Path) -> None:
    text = small(RULE, head=f"materials: [{{path: {path}, sha256: {'0' * 64}}}]\n")
    (only,) = compare(load_plan(text.encode()).effective.plan, tmp_path)
    assert only.found is None


def test_points_that_the_plan_does_not_name_are_said_to_be_unguarded() -> None:
    text = small(
        "{at_every: {endpoint: s, below: 9}}",
        endpoints="  s: {kind: series, register: probe, axis: checkpoint, unit: x}\n",
    )
    found = decide(
        text.encode(), {"probe": pd.DataFrame({"checkpoint": [0, 1], "value": [1.0, 2.0]})}
    ).verdicts
    (guard,) = guards(found, "named-points")
    assert not guard.applies and "points" in (guard.reason or "")


def test_a_rate_that_cannot_tell_rows_apart_says_so() -> None:
    text = small(POOLED, endpoints=RATE, head="registers: {episodes: {key: []}}\n")
    found = decided(text, pd.concat([rows(3, "seed")] * 2))
    (guard,) = guards(found, "distinct-rows")
    assert not guard.applies and "repeated row" in (guard.reason or "")

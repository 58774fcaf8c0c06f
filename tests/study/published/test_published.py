"""The published study: its figures as registers, and its outcomes table line by line."""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path

import pandas as pd
import pytest

from prereg_kit import decide, load_plan
from prereg_kit.decision.verdict import Verdict, Verdicts
from prereg_kit.evidence.frozen_plans import amendments
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.report import load, render
from study.errors import StudyError
from study.published import tables
from study.published.make import count_rows, write_registers

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def verdicts() -> Verdicts:
    return decide(ROOT / "frozen/paired-rollouts", ROOT / "registers/runs.parquet").verdicts


# id: outcome, evidence, estimate to the printed digits, per-seed differences as printed (Tables 2, 3, 4, 7)
TABLE_2 = {
    "H1a-counts": ("pass", "recomputed", "0.558", {}),
    "H1a-luck": ("pass", "reported", None, {}),
    "H1a": ("pass", "reported", None, {}),
    "H1b[A]": ("pass", "reported", None, {}),
    "H1b[B]": ("pass", "reported", None, {}),
    "H2a": ("fail", "recomputed", "0.0370", {"0": "0.0539", "1": "-0.0016", "2": "0.0586"}),
    "H2b": ("fail", "recomputed", "0.0026", {"0": "0.0008", "1": "0.0203", "2": "-0.0133"}),
    "H3": ("pass", "recomputed", "0.0538", {"0": "0.0729", "1": "0.0156", "2": "0.0729"}),
    "H4": ("not_run", "recomputed", None, {}),
    "H5": ("pass", "reported", "0.0229", {"0": "0.0062", "1": "0.0100", "2": "0.0525"}),
    "H6": ("not_run", "recomputed", None, {}),
}
INTERVALS = {"H2a": (0.95, -0.0039, 0.0779), "H2b": (0.95, -0.0286, 0.0326), "H3": (0.95, -0.0104, 0.1215),
             "H5": (0.90, -0.0037, 0.0525)}  # fmt: skip


def printed(value: float, digits: str) -> bool:
    """Whether a number rounds to what was printed (half of the last printed place either way)."""
    places = len(digits.partition(".")[2])
    return abs(F(value) - F(digits)) <= F(1, 2 * 10**places) + F(1, 10**9)


@pytest.mark.parametrize("name", TABLE_2)
def test_the_outcomes_table_line_by_line(verdicts: Verdicts, name: str) -> None:
    outcome, evidence, estimate, seeds = TABLE_2[name]
    verdict = verdicts.hypotheses[name]
    assert (verdict.outcome, verdict.evidence) == (outcome, evidence)
    if estimate is not None:
        assert verdict.estimate is not None and printed(verdict.estimate.value, estimate)
    if seeds:
        assert {
            seed: printed(figure.value, seeds[seed]) for seed, figure in verdict.per_seed.items()
        } == dict.fromkeys(seeds, True)
    if name in INTERVALS:
        interval = verdict.interval
        assert interval is not None and interval.engine == "reported"
        assert (interval.level, interval.lower, interval.upper) == INTERVALS[name]
        assert verdict.interval_excludes_zero is False


def test_no_verdict_is_missing(verdicts: Verdicts) -> None:
    assert set(verdicts.hypotheses) == set(TABLE_2)


def test_the_means_are_exact(verdicts: Verdicts) -> None:
    exact = {
        name: v.estimate.exact
        for name, v in verdicts.hypotheses.items()
        if v.estimate and name.startswith(("H2", "H3", "H5"))
    }
    assert exact == {"H2a": "71/1920", "H2b": "1/384", "H3": "31/576", "H5": "11/480"}


def test_h2a_fails_by_its_second_seed_only(verdicts: Verdicts) -> None:
    clauses = {clause.words: clause.outcome for clause in verdicts.hypotheses["H2a"].clauses}
    assert list(clauses.values()) == ["pass", "fail", "pass"]
    assert [reason.message for reason in verdicts.hypotheses["H2a"].reasons] == [
        "seed 1: -0.0015625 is not above 0"
    ]


def test_h2b_fails_under_both_readings_and_only_one_is_primary(verdicts: Verdicts) -> None:
    verdict = verdicts.hypotheses["H2b"]
    ((name, reading),) = verdict.readings.items()
    assert (verdict.outcome, name, reading.outcome) == ("fail", "final-at-training-noise", "fail")
    finals = [v.clauses[2].estimate.exact for v in (verdict, reading)]  # type: ignore[union-attr]
    assert finals == ["17/1200", "3/200"]
    seeds = {seed: figure.exact for seed, figure in reading.clauses[2].per_unit.items()}
    assert seeds == {"0": "-1/800", "1": "11/400", "2": "3/160"}


def test_h1b_comes_from_the_amendment_on_both_trajectories(verdicts: Verdicts) -> None:
    for name, points in (("H1b[A]", 3), ("H1b[B]", 6)):
        verdict = verdicts.hypotheses[name]
        assert verdict.rule_from == "A1"
        assert [len(clause.per_unit) for clause in verdict.clauses] == [points, points]
        assert verdict.readings["stratified"].outcome == "pass"
    assert verdicts.hypotheses["H2a"].rule_from == "plan"


PREDICTIONS = {
    "P1": ("pass", {"independent": "pass", "paired": "pass"}),
    "P2": ("fail", {"auc_gap": "fail", "near_clean": "pass"}),
    "P3": ("not_run", {"expects": "not_run"}),
    "P4": ("pass", {"auc_gap": "pass", "final_gap": "pass"}),
    "P5": ("not_run", {"expects": "not_run"}),
    "P6": ("pass", {"expects": "pass"}),
    "P7": ("not_run", {"shrinks": "not_run", "positive": "not_run"}),
    "P8": ("not_run", dict.fromkeys(("c2", "c4", "above_independent", "below_paired"), "not_run")),
    "P9": ("fail", {"non_inferior": "pass", "small": "fail"}),
    "P10": ("not_run", {"expects": "not_run"}),
    "P12": ("fail", {"expects": "fail"}),
    "P13": (
        "pass",
        dict.fromkeys(
            ("factor_two", "lower_later_a", "lower_later_b", "transition_a", "transition_b"), "pass"
        ),
    ),
}


def test_predictions_are_scored_as_in_table_6(verdicts: Verdicts) -> None:
    found = {
        name: (p.outcome, {part: clause.outcome for part, clause in p.parts.items()})
        for name, p in verdicts.predictions.items()
    }
    assert found == PREDICTIONS
    assert {name: p.outcome for name, p in verdicts.predictions["P12"].readings.items()} == {
        "environment-2": "pass", "environment-3": "pass",
    }  # fmt: skip


def test_the_gate_and_the_ledger(verdicts: Verdicts) -> None:
    assert verdicts.gates["gate2"].holds is True
    statuses = [row.status for row in verdicts.ledger]
    assert {status: statuses.count(status) for status in set(statuses)} == {
        "included": 14,
        "excluded": 1,
        "not_run": 28,
    }
    (excluded,) = (row for row in verdicts.ledger if row.status == "excluded")
    assert (excluded.condition, excluded.arm, excluded.seed) == ("C4", "paired", "1")
    assert excluded.details["accelerator"] == "MI300X"


def test_banners_say_what_the_evidence_is_worth(verdicts: Verdicts) -> None:
    assert any("RETROSPECTIVE" in label for label in verdicts.labels)
    assert any("NOT TIMESTAMPED" in label for label in verdicts.labels)


def test_the_registers_are_what_the_script_writes(tmp_path: Path) -> None:
    plan = ROOT / "frozen/paired-rollouts/plan.yaml"
    list(write_registers(tmp_path, sha256_file(plan)))
    made, kept = (
        decide(ROOT / "frozen/paired-rollouts", folder / "runs.parquet").verdicts
        for folder in (tmp_path, ROOT / "registers")
    )
    assert made.hypotheses == kept.hypotheses
    assert made.ledger == kept.ledger


def test_every_published_area_under_a_curve_is_the_trapezoid_of_its_counts() -> None:
    """Table 9 prints the area beside the curve; a few of them by hand from the table."""
    printed_areas = {("gate1-c2-paired-s0", "faults_p25"): "0.6406", ("t1-c2-independent-s1", "faults_p25"): "0.6227",
                     ("t1-c4-paired-s2", "clean"): "0.8500", ("t1-c0-clean-s1-h100", "clean"): "0.8930",
                     ("t1-c2-paired-s2", "challenge"): "0.7250"}  # fmt: skip
    weights = dict(zip(tables.STEPS, (1, 2, 2, 2, 2, 1), strict=True))
    for (run, regime), area in printed_areas.items():
        rows = [
            r for r in count_rows() if (r["run_id"], r["regime"], r["split"]) == (run, regime, "validation")
        ]
        total = sum((F(r["successes"], r["episodes"]) * weights[r["step"]] for r in rows), F(0)) / 10
        assert len(rows) == 6
        assert printed(float(total), area), (run, regime, float(total))


@pytest.mark.parametrize(
    ("shown", "episodes", "places", "count"), [("0.570", 128, 3, 73), (".5", 200, 3, 100)]
)
def test_a_printed_share_stands_for_one_count(shown: str, episodes: int, places: int, count: int) -> None:
    assert tables.counts(shown, episodes, places) == count


def test_a_share_that_fits_no_count_or_several_is_refused() -> None:
    with pytest.raises(StudyError, match="one count"):
        tables.counts("0.571", 10, 3)
    with pytest.raises(StudyError, match="one count"):
        tables.counts("0.5", 1000, 1)


def test_steps_to_the_registered_threshold_are_those_of_table_7() -> None:
    """First crossing of 0.617 on noisy validation, linearly interpolated between evaluations."""
    plan = load_plan(ROOT / "frozen/paired-rollouts").effective
    text = plan.source.data.decode().replace(
        "  c2_final_noisy:\n",
        "  steps: {kind: steps_to_threshold, register: counts, value: successes, threshold: 0.617,\n"
        "    where: {condition: C2, split: validation, regime: faults_p25, quantity: true_success}}\n"
        "  c2_final_noisy:\n", 1,
    )  # fmt: skip
    text = text.replace(
        "passes_if: {every_seed: {endpoint: ext_auc, above: 0}}",
        "passes_if: {every_seed: {endpoint: steps, below: 0}}",
    )
    text = text.replace("id: paired-rollouts", "id: other", 1)
    frame = pd.read_parquet(ROOT / "registers/published/counts.parquet")
    rows = {"counts": frame[frame["run_id"] != tables.UNCOUNTED.run_id]}
    verdict: Verdict = decide(text.encode(), rows).verdicts.hypotheses["H6"]
    expected = {"0": "11.95-65.41", "1": "46.22-18.29", "2": "42.79-75.35"}
    for seed, pair in expected.items():
        paired, independent = pair.split("-")
        difference = verdict.clauses[0].per_unit[seed].value
        assert abs(difference - (float(paired) - float(independent))) < 0.011
    assert verdict.outcome == "fail"


def test_the_amendment_names_the_plan_in_the_repository() -> None:
    (source,) = amendments(ROOT)
    record = json.loads((ROOT / "frozen/paired-rollouts/freeze.json").read_text())
    assert f"amends: {record['document']['sha256']}" in source.data.decode()


def test_the_reports_in_the_repository_are_those_of_its_registers(verdicts: Verdicts) -> None:
    folder = ROOT / "reports/paired-rollouts"
    kept = load(folder / "verdicts.json")
    assert kept.hypotheses == verdicts.hypotheses
    assert kept.predictions == verdicts.predictions
    assert kept.ledger == verdicts.ledger
    for form in ("md", "html", "csv"):
        assert render(kept, form).encode() == (folder / f"outcomes.{form}").read_bytes()

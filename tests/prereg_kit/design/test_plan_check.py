"""`prereg check`: dry runs, planned runs, samples, and operating characteristics against reference values."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import ndtr

from prereg_kit import load_plan
from prereg_kit.cli.main import cli
from prereg_kit.decision.verdict import Reason
from prereg_kit.design.dry_rows import rows
from prereg_kit.design.matrix_check import planned_seeds
from prereg_kit.design.operating import operating_characteristics
from prereg_kit.design.plan_check import check
from prereg_kit.plan.endpoint import Selection
from prereg_kit.registers.file import Registers
from tests.plans import small
from tests.prereg_kit.decision.test_decision import ONE, cell_rows

ROOT = Path(__file__).parents[3]
RULE = (
    "{all: [{difference: {endpoint: success, at_least: 0.03}}, {every_seed: {endpoint: success, above: 0}}]}"
)
PLANNED = "runs: {planned: [{arm: [t, r], seed: [0, 1, 2]}]}\n"


def report(rule: str, **plan: str):
    return check(load_plan(small(rule, **plan).encode()).effective)


def test_a_sound_plan_has_no_findings() -> None:
    found = report(RULE, head=PLANNED)
    assert found.ok and found.seeds == 3
    assert check(load_plan(ROOT / "frozen/paired-rollouts").effective).ok


def test_the_starting_plan_has_placeholders_and_no_other_finding() -> None:
    found = check(load_plan(ROOT / "prereg_kit/plan/starting_plan.yaml").effective)
    assert {finding.code for finding in found.findings} == {"placeholder"}
    assert len(found.findings) == 3


def test_a_mean_of_true_and_false_is_a_proportion() -> None:
    text = small(RULE).replace("value: true_success", "value: true_success, unit: percent")
    assert [finding.code for finding in check(load_plan(text.encode()).effective).findings] == ["unit"]


def test_a_non_inferiority_rule_is_judged_at_its_margin() -> None:
    rule = "{interval: {endpoint: success, two_sided_level: 0.90, lower_above: -0.03}}"
    found = operating_characteristics(load_plan(small(rule).encode()).effective, "H1", 3)
    assert not isinstance(found, str)
    assert found.null == -0.03 and "worse by 0.03" in found.sentence
    both = report(RULE, more="  H2: {passes_if: %s}\n  H3: {passes_if: %s}\n" % (rule, RULE))
    assert both.family is not None and set(both.family.each) == {"H1", "H3"}


def test_a_plan_without_runs_is_checked_at_three_seeds_and_says_so_without_a_finding() -> None:
    found = report(RULE)
    assert found.ok and found.seeds == 3
    assert any("names no runs" in note for note in found.notes)


def test_the_number_of_seed_pairs_is_that_of_the_matrix() -> None:
    plan = load_plan(
        small(RULE, head="runs: {planned: [{arm: [t, r], seed: [0, 1, 2, 3, 4]}]}\n").encode()
    ).effective.plan
    assert planned_seeds(plan)[0] == 5


# pass probabilities of "mean >= 0.03 and every one of three positive", by (true effect, between-seed sd)
REFERENCE = {
    (0.0, 0.02): 0.004, (0.0, 0.03): 0.033, (0.0, 0.04): 0.064, (0.0, 0.05): 0.086,
    (0.03, 0.02): 0.482, (0.03, 0.03): 0.427, (0.03, 0.04): 0.375, (0.03, 0.05): 0.332,
    (0.06, 0.02): 0.992, (0.06, 0.03): 0.913, (0.06, 0.04): 0.787, (0.06, 0.05): 0.670,
}  # fmt: skip


def test_reference_operating_characteristics() -> None:
    cells = {
        (row["effect"], round(row["seed_sd"], 6)): row["pass"]
        for row in report(RULE, head=PLANNED).characteristics[0].rows()
        if row["seeds"] == 3
    }
    for place, expected in REFERENCE.items():
        assert cells[place] == pytest.approx(expected, abs=0.005), place


def test_reference_values_given_a_disclosed_first_difference() -> None:
    head = (
        PLANNED
        + "disclosures: [{id: D1, kind: pilot, text: seen, endpoint: success, seed: 0, difference: 0.048}]\n"
    )
    effective = load_plan(small(RULE, head=head).encode()).effective
    found = operating_characteristics(effective, "H1", 3)
    assert not isinstance(found, str)
    given = {round(c.seed_sd, 3): c.passing for c in found.conditional if c.effect == 0}
    assert given[0.03] == pytest.approx(0.135, abs=0.01)
    assert given[0.04] == pytest.approx(0.177, abs=0.01)
    assert "disclosed" in found.sentence


def test_the_binding_clause_and_the_needed_effect() -> None:
    found = operating_characteristics(load_plan(small(RULE).encode()).effective, "H1", 3)
    assert not isinstance(found, str)
    assert found.binding is not None and "0.03" in found.binding
    assert found.effect_80 is not None and 0.045 < found.effect_80 < 0.055
    assert "passes in 3." in found.sentence


def test_more_seeds_make_every_seed_positive_harder() -> None:
    found = operating_characteristics(
        load_plan(small("{every_seed: {endpoint: success, above: 0}}").encode()).effective, "H1", 3
    )
    assert not isinstance(found, str)
    null = {c.seeds: c.passing for c in (*found.cells, *found.curve) if c.effect == 0}
    for seeds, share in null.items():
        assert share == pytest.approx(0.5**seeds, abs=0.01)


def test_runs_that_the_matrix_does_not_plan_are_found() -> None:
    head = "runs: {planned: [{condition: A, arm: [t, r], seed: [0, 1]}]}\n"
    text = small(RULE, head=head).replace("value: true_success", "where: {condition: B}, value: true_success")
    (finding,) = check(load_plan(text.encode()).effective).findings
    assert (finding.code, finding.hypothesis) == ("not-planned", "H1")
    assert finding.witness["condition"] == "B"


def test_an_interval_on_counts_cannot_be_evaluated() -> None:
    text = small("{interval: {endpoint: success, lower_above: 0}}").replace(
        "register: episodes, value: true_success", "register: counts, value: successes"
    )
    finding = check(load_plan(text.encode()).effective).findings[0]
    assert finding.code == "not-evaluable"
    assert "no tasks to resample" in finding.message


def test_a_metric_that_is_constant_on_the_sample_can_never_fire() -> None:
    rows = [{**row, "true_success": True} for row in cell_rows(ONE)]
    effective = load_plan(small(RULE).encode()).effective
    (finding,) = check(effective, Registers.from_frames({"episodes": pd.DataFrame(rows)})).findings
    assert (finding.code, finding.witness["difference"]) == ("constant", 0.0)
    assert check(effective, Registers.from_frames({"episodes": pd.DataFrame(cell_rows(ONE))})).ok


def test_a_sample_with_a_defect_is_a_finding_with_the_defect() -> None:
    rows = cell_rows(ONE)[:-1]
    found = check(
        load_plan(small(RULE).encode()).effective, Registers.from_frames({"episodes": pd.DataFrame(rows)})
    )
    assert [finding.code for finding in found.findings] == ["sample-refused"]


BROKEN = """\
format: prereg.plan/1
id: broken
arms: {treatment: t, reference: r}
endpoints: {d: {register: episodes, value: true_success}}
hypotheses:
  H:
    outcomes:
      win: {difference: {endpoint: d, above: 0.01}}
      loss: {difference: {endpoint: d, below: -0.01}}
"""


def test_the_command_exits_one_with_findings_and_prints_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(BROKEN)
    done = CliRunner().invoke(cli, ["check", str(path), "--json"], standalone_mode=False)
    assert done.return_value == 1
    found = json.loads(done.stdout)
    assert (found["format"], found["ok"]) == ("prereg.check/1", False)
    (finding,) = found["findings"]
    assert (finding["code"], finding["hypothesis"]) == ("gap", "H")
    assert set(finding["witness"]["per_seed"]) == {"0", "1", "2"}
    assert {"effect", "seed_sd", "seeds", "pass", "fail", "inconclusive"} <= set(
        found["characteristics"]["H"][0]
    )


def test_freeze_refuses_a_plan_with_findings_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(BROKEN)
    done = CliRunner().invoke(cli, ["freeze", str(path), "--root", str(tmp_path)])
    assert done.exit_code != 0
    assert not (tmp_path / "frozen").exists()


def test_pictures_are_drawn_for_every_simulated_rule(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(small(RULE))
    done = CliRunner().invoke(
        cli, ["check", str(path), "--figures", str(tmp_path / "figures")], standalone_mode=False
    )
    assert done.return_value == 0
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == ["H1-map.svg", "H1-seeds.svg"]


ENDPOINTS = {
    "one seed": "{register: episodes, value: true_success, where: {seed: 0}}",
    "two seeds": "{register: episodes, value: true_success, where: {seed: [4, 7]}}",
    "two tasks": "{register: episodes, value: true_success, where: {task: [a, b]}}",
    "two splits": "{register: episodes, value: true_success, where: {split: [test, validation]}}",
    "numbers that are none": "{register: episodes, value: true_success, where: {a: ², b: '--1', c: [1, x]}}",
    "steps": "{register: episodes, value: true_success, where: {step: [0, 9]}, over: {column: step, weights: {0: 1}}}",
}


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
def test_conditions_on_what_an_endpoint_crosses_are_no_defect(endpoint: str) -> None:
    rule = "{interval: {endpoint: e, lower_above: 0}}"
    assert report(rule, endpoints=f"  e: {endpoint}\n").findings == ()


@pytest.mark.parametrize(
    ("endpoint", "rule"),
    [
        ("kind: series, register: probe, value: ratio, unit: ratio, axis: checkpoint",
         "at_every: {endpoint: e, over: checkpoint, below: 1}"),
        ("kind: series, register: probe, value: ratio, unit: ratio, axis: checkpoint, relative_to: 1, where: {seed: 3}",
         "at_every: {endpoint: e, over: checkpoint, below: 1}"),
        ("kind: luck_share, register: luck, unit: share", "estimate: {endpoint: e, at_least: 0.1}"),
        ("kind: rate, register: groups, count: spurious, among: all_correct, where: {arm: t, step: [0, 20]}",
         "rate: {endpoint: e, at_most: 0.1}"),
        ("kind: mean, register: episodes, value: true_success, where: {arm: t, seed: [3, 4]}",
         "estimate: {endpoint: e, at_least: 0.1}"),
        ("kind: steps_to_threshold, register: episodes, value: true_success, threshold: 0.5, where: {seed: [1, 2]}",
         "every_seed: {endpoint: e, below: 0}"),
        ("kind: distinct, register: groups, value: schedule_seeds, group: [run_id, row], where: {row: [2, 3]}",
         "invariant: {endpoint: e, each_group_has: one_value}"),
    ],
)  # fmt: skip
def test_every_kind_of_endpoint_is_measured_on_its_own_columns(endpoint: str, rule: str) -> None:
    assert report(f"{{{rule}}}", endpoints=f"  e: {{{endpoint}}}\n").findings == ()


def test_a_declared_key_is_part_of_the_invented_rows() -> None:
    head = "registers: {episodes: {key: [arm, seed, task, visit, site]}}\n"
    assert report(RULE, head=head).findings == ()


def test_a_series_with_two_values_at_one_point_cannot_be_evaluated() -> None:
    endpoint = "  e: {kind: series, register: probe, value: ratio, unit: ratio, axis: checkpoint, where: {seed: [0, 1]}}\n"
    (finding,) = report("{at_every: {endpoint: e, over: checkpoint, below: 1}}", endpoints=endpoint).findings
    assert (finding.code, "two values at one checkpoint" in finding.message) == ("not-evaluable", True)


def test_lists_of_conditions_give_rows_of_every_value() -> None:
    text = small(
        RULE,
        endpoints="  e: {register: episodes, value: true_success, where: {split: [a, b], task: [x, y], seed: 5}}\n",
    )
    plan = load_plan(text.encode()).effective.plan
    endpoint = plan.endpoints["e"]
    assert isinstance(endpoint, Selection)
    found = list(rows(plan, endpoint, "typical", 3))
    assert len(found) == 2 * 2 * 2 * 2  # arms, splits, tasks, schedules
    assert {(row["split"], row["task"], row["seed"]) for row in found} == {
        (s, t, 5) for s in "ab" for t in "xy"
    }
    assert list(rows(plan, endpoint, "no rows", 3)) == []


LOWER = (
    "{all: [{difference: {endpoint: success, at_most: -0.03}}, {every_seed: {endpoint: success, below: 0}}]}"
)


def test_a_rule_where_lower_is_better_has_the_figures_of_its_mirror_image() -> None:
    """The draws are antithetic, so that both shares are estimates of one number from mirrored studies."""
    up, down = (
        operating_characteristics(load_plan(small(rule).encode()).effective, "H1", 5)
        for rule in (RULE, LOWER)
    )
    assert not isinstance(up, str) and not isinstance(down, str)
    assert (up.direction, down.direction, down.null) == (1, -1, 0.0)
    for one, other in zip(up.cells, down.cells, strict=True):
        assert (one.effect, one.seed_sd) == (-other.effect, other.seed_sd)
        assert abs(one.passing - other.passing) < 5 * (one.error + other.error) + 1e-9
    assert up.effect_80 is not None and down.effect_80 is not None
    assert down.effect_80 == pytest.approx(-up.effect_80, abs=0.002)


@pytest.mark.parametrize("deviation", [0.02, 0.1])
def test_the_power_figures_follow_the_sd_that_is_given_and_say_where_it_comes_from(deviation: float) -> None:
    """`difference >= 0.03` at a true 0.06: the mean of n pairs lies above with Phi(0.03 sqrt(n) / sd)."""
    plan = load_plan(small("{difference: {endpoint: success, at_least: 0.03}}", head=PLANNED).encode())
    (found,) = check(plan.effective, sd=deviation).characteristics
    assert (found.sd, found.sd_source) == (deviation, "as given")
    (cell,) = [c for c in found.cells if c.effect == 0.06 and c.seed_sd == deviation]
    assert cell.passing == pytest.approx(ndtr(0.03 * 3**0.5 / deviation), abs=0.01)
    fewest = next(n for n in range(2, 65) if ndtr(0.03 * n**0.5 / deviation) >= 0.8)
    assert abs((found.pairs_80[0.06] or 0) - fewest) <= 1
    assert found.pairs_80[0.03] is None


def test_a_plan_or_a_pilot_says_how_much_pairs_vary_and_otherwise_nobody_does() -> None:
    rule = "{difference: {endpoint: success, at_least: 0.03}}"
    stated = small(rule, head="variance: {success: {sd: 0.07, source: the pilot of May}}\n")
    (planned,) = check(load_plan(stated.encode()).effective).characteristics
    assert planned.sd == 0.07 and "the pilot of May" in planned.sentence
    rows_ = Registers.from_frames({"episodes": pd.DataFrame(cell_rows(ONE))})
    (piloted,) = check(load_plan(stated.encode()).effective, pilot=rows_).characteristics
    assert piloted.sd == pytest.approx(statistics.stdev([0.25, 0, 0.75])) and "3 pairs" in piloted.sentence
    (unknown,) = check(load_plan(small(rule).encode()).effective).characteristics
    assert unknown.sd_source is None and "nobody has said" in unknown.sentence
    free = check(load_plan(small("{every_seed: {endpoint: success, above: 0}}").encode()).effective)
    assert "counted in standard deviations" in free.characteristics[0].sentence


def test_a_rule_that_no_rows_can_decide_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that gives no interval stands for a kind of endpoint that has none."""
    reason = Reason(code="no-engine", message="no interval of success")
    monkeypatch.setattr("prereg_kit.decision.evaluator.Evaluator.interval", lambda *_: reason)
    rule = "{estimate: {endpoint: success, lower_above: 0}}"
    (finding,) = check(load_plan(small(rule, head=PLANNED).encode()).effective).findings
    assert finding.code == "not-evaluable" and "no interval of success" in finding.message

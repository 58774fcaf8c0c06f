"""From rows to verdicts, on small registers whose right answers are worked by hand or by brute force."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from prereg_kit import decide
from prereg_kit.decision.verdict import Verdict, Verdicts
from prereg_kit.errors import RegisterError
from tests.plans import small

EPISODES = 2  # rows per cell, so that a cell mean of 1/2 exists


def cell_rows(differences: list[list[F]], tasks: list[str] | None = None) -> list[dict[str, Any]]:
    """Rows whose cell differences (treatment minus reference) are the given multiples of 1/2."""
    rows = []
    for seed, line in enumerate(differences):
        for index, difference in enumerate(line):
            task = tasks[index] if tasks else f"t{index}"
            successes = {"t": 2 * max(difference, F(0)), "r": 2 * max(-difference, F(0))}
            for arm, count in successes.items():
                for schedule in range(EPISODES):
                    rows.append({"run_id": f"{arm}{seed}", "arm": arm, "seed": seed, "task": task,
                                 "schedule": schedule, "true_success": schedule < count})  # fmt: skip
    return rows


def verdict(rule: str, rows: list[dict[str, Any]], **plan: str) -> Verdict:
    return verdicts(rule, rows, **plan).hypotheses["H1"]


def verdicts(rule: str, rows: list[dict[str, Any]], **plan: str) -> Verdicts:
    return decide(small(rule, **plan).encode(), {"episodes": pd.DataFrame(rows)}).verdicts


H = F(1, 2)
ONE = [[H, F(0)], [-H, H], [F(1), H]]
"""Register 1 of the handed list: mean 1/3, seed differences 1/4, 0, 3/4."""
ALL_POSITIVE = "{every_seed: {endpoint: success, above: 0}}"


def brute_force(differences: list[list[F]], level: F) -> tuple[F, F]:
    """Every equally likely resample of seeds and tasks, and the inverse-CDF ends of the interval."""
    seeds, tasks = len(differences), len(differences[0])
    means = sorted(
        sum((differences[s][t] for s in chosen for t in drawn), F(0)) / (seeds * tasks)
        for chosen in itertools.product(range(seeds), repeat=seeds)
        for drawn in itertools.product(range(tasks), repeat=tasks)
    )
    total = len(means)
    tail = (1 - level) / 2
    return means[-(-(tail * total) // 1) - 1], means[-(-((1 - tail) * total) // 1) - 1]


def test_register_1() -> None:
    found = verdict(ALL_POSITIVE, cell_rows(ONE))
    assert found.outcome == "fail"
    assert found.estimate is not None and found.estimate.exact == "1/3"
    assert {seed: figure.exact for seed, figure in found.per_seed.items()} == {
        "0": "1/4",
        "1": "0",
        "2": "3/4",
    }
    assert found.interval is not None
    assert (found.interval.lower_exact, found.interval.upper_exact, found.interval.engine) == (
        "-1/6",
        "5/6",
        "exact",
    )
    assert found.reasons[0].code == "tie-at-strict-bound"


@pytest.mark.parametrize("level", ["0.95", "0.90", "0.5"])
def test_the_interval_is_that_of_brute_force(level: str) -> None:
    rule = "{interval: {endpoint: success, two_sided_level: %s, lower_above: -9}}" % level
    found = verdict(rule, cell_rows(ONE)).interval
    assert found is not None
    assert (F(found.lower_exact or 0), F(found.upper_exact or 0)) == brute_force(ONE, F(level))


def test_the_answer_does_not_depend_on_the_order_or_the_names_of_rows() -> None:
    rows = cell_rows(ONE, ["10", "2"])
    shuffled = rows[:]
    random.Random(7).shuffle(shuffled)
    first, second = (verdict(ALL_POSITIVE, each).model_dump() for each in (rows, shuffled))
    assert first == second
    assert first == verdict(ALL_POSITIVE, cell_rows(ONE)).model_dump()


def test_an_exact_tie_passes_at_least_where_floats_would_fail() -> None:
    """Treatment 700, 369, 456 of 800 against 691, 332, 430: the mean difference is exactly 3/100."""
    rows = []
    for seed, (t, r) in enumerate(((700, 691), (369, 332), (456, 430))):
        for arm, count in (("t", t), ("r", r)):
            rows += [{"arm": arm, "seed": seed, "task": str(i % 200), "schedule": i // 200, "true_success": i < count}
                     for i in range(800)]  # fmt: skip
    found = verdict("{difference: {endpoint: success, at_least: 0.03}}", rows)
    assert (700 / 800 - 691 / 800 + 369 / 800 - 332 / 800 + 456 / 800 - 430 / 800) / 3 < 0.03
    assert found.estimate is not None and found.estimate.exact == "3/100"
    assert found.outcome == "pass"
    assert verdict("{difference: {endpoint: success, above: 0.03}}", rows).outcome == "fail"


def test_a_strict_lower_bound_fails_on_an_exact_tie() -> None:
    rows = [{"arm": arm, "seed": s, "task": "a", "schedule": i, "true_success": i < (0 if arm == "t" else 3)}
            for arm in "tr" for s in range(3) for i in range(100)]  # fmt: skip
    rule = "{interval: {endpoint: success, two_sided_level: 0.90, lower_above: -0.03}}"
    found = verdict(rule, rows)
    assert found.outcome == "fail"
    assert found.interval is not None and found.interval.degenerate and found.interval.note
    assert (found.interval.lower, found.interval.upper) == (-0.03, -0.03)


def test_the_level_comes_from_the_rule() -> None:
    """One task, differences -.04, .06, .07: the 90 % lower end is -1/150 and passes, the 95 % one -1/25 and fails."""
    rows = [{"arm": arm, "seed": s, "task": "a", "schedule": i,
             "true_success": i < 50 + (d if arm == "t" else 0)}
            for s, d in enumerate((-4, 6, 7)) for arm in "tr" for i in range(100)]  # fmt: skip
    rule = "{interval: {endpoint: success, two_sided_level: %s, lower_above: -0.03}}"
    at90, at95 = verdict(rule % "0.90", rows), verdict(rule % "0.95", rows)
    assert (at90.outcome, at90.interval and at90.interval.lower_exact) == ("pass", "-1/150")
    assert (at95.outcome, at95.interval and at95.interval.lower_exact) == ("fail", "-1/25")


def test_one_seed_gives_a_task_interval_that_says_so() -> None:
    rows = [{"arm": arm, "seed": 0, "task": f"t{t}", "schedule": i, "true_success": arm == "t" and i < d}
            for t, d in enumerate((1, 3, 2, 1)) for arm in "tr" for i in range(4)]  # fmt: skip
    found = verdict("{interval: {endpoint: success, lower_above: 0}}", rows).interval
    assert found is not None
    assert (found.lower_exact, found.upper_exact) == ("1/4", "5/8")
    assert "seed variance not identifiable" in found.scheme


def test_identical_seeds_do_not_shrink_the_interval() -> None:
    line = [F(1), F(1), F(-1), F(1)]
    found = verdict("{interval: {endpoint: success, lower_above: -9}}", cell_rows([line] * 3)).interval
    assert found is not None
    assert (found.lower_exact, found.upper_exact) == ("-1/2", "1")


def test_unequal_rows_are_refused_unless_the_plan_says_cell_means() -> None:
    """Easy and hard tasks with unequal rows: the mean over tasks is -1/10, pooled rows would say +19/50."""
    counts = {
        ("t", "easy"): (36, 40),
        ("t", "hard"): (1, 10),
        ("r", "easy"): (10, 10),
        ("r", "hard"): (8, 40),
    }
    rows = [{"arm": arm, "seed": 0, "task": task, "schedule": i, "true_success": i < good}
            for (arm, task), (good, total) in counts.items() for i in range(total)]  # fmt: skip
    rule = "{difference: {endpoint: success, below: 0}}"
    with pytest.raises(RegisterError, match="episodes|rows"):
        verdict(rule, rows)
    text = small(rule).replace("value: true_success", "value: true_success, unequal: cell_means")
    found = decide(text.encode(), {"episodes": pd.DataFrame(rows)}).verdicts.hypotheses["H1"]
    assert found.estimate is not None and found.estimate.exact == "-1/10"


CURVE = "over: {column: step, weights: {0: 1, 20: 2, 40: 2, 60: 2, 80: 2, 100: 1}}"


def curve_rows(steps: tuple[int, ...], values: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"arm": arm, "seed": 0, "task": "a", "schedule": i, "step": step,
             "true_success": arm == "t" and i < value}
            for step, value in zip(steps, values, strict=True) for arm in "tr" for i in range(100)]  # fmt: skip


def test_the_area_under_a_curve_is_exact_and_needs_every_step() -> None:
    text = small("{difference: {endpoint: success, at_least: 0.03}}").replace(
        "value: true_success", f"value: true_success, {CURVE}"
    )
    rows = curve_rows((0, 20, 40, 60, 80, 100), (1, 5, 5, 2, 1, 3))
    found = decide(text.encode(), {"episodes": pd.DataFrame(rows)})
    shown = found.verdicts.hypotheses["H1"]
    assert (shown.outcome, shown.estimate and shown.estimate.exact) == ("pass", "3/100")
    assert found.curves["success"].points == ("0", "20", "40", "60", "80", "100")
    assert found.curves["success"].arms["t"]["0"][1] == F(5, 100)
    with pytest.raises(RegisterError, match="60"):
        decide(text.encode(), {"episodes": pd.DataFrame([row for row in rows if row["step"] != 60])})


def test_steps_to_a_threshold_are_bounds_where_a_curve_never_arrives() -> None:
    """Treatment reaches .6 at 40, 60, never; reference at 60, never, 80: differences -20, below -40, above 20."""
    reached = {("t", 0): 40, ("t", 1): 60, ("t", 2): None, ("r", 0): 60, ("r", 1): None, ("r", 2): 80}
    rows = [
        {"arm": arm, "seed": seed, "task": "a", "schedule": i, "step": step,
         "true_success": i < (60 if at is not None and step >= at else 0)}
        for (arm, seed), at in reached.items() for step in (0, 20, 40, 60, 80, 100) for i in range(100)
    ]  # fmt: skip
    # at a jump from 0 to exactly .6 the interpolated crossing is the evaluation itself
    endpoint = "  s: {kind: steps_to_threshold, register: episodes, value: true_success, threshold: 0.6}\n"
    for rule, outcome in (("below: 30", "not_evaluable"), ("below: 0", "fail"), ("above: -50", "not_evaluable"),
                          ("at_most: -40", "fail")):  # fmt: skip
        found = verdict("{every_seed: {endpoint: s, %s}}" % rule, rows, endpoints=endpoint)
        assert found.outcome == outcome, rule
    clause = found.clauses[0]
    assert {seed: figure.exact for seed, figure in clause.per_unit.items()} == {"0": "-20"}
    assert found.estimate is None
    assert {
        reason.code
        for reason in verdict("{every_seed: {endpoint: s, below: 30}}", rows, endpoints=endpoint).reasons
    } == {"censored"}


def test_controls_that_fail_void_a_hypothesis_whatever_its_rule_says() -> None:
    more = "    requires: {sane: {difference: {endpoint: success, below: 0}}}\n"
    found = verdict("{difference: {endpoint: success, above: 0}}", cell_rows(ONE), more=more)
    assert found.outcome == "void"
    assert found.reasons[0].code == "control-failed"
    fine = "    requires: {sane: {difference: {endpoint: success, above: 0}}}\n"
    assert verdict("{difference: {endpoint: success, above: 0}}", cell_rows(ONE), more=fine).outcome == "pass"


def test_pass_and_fail_rules_leave_an_inconclusive_middle_and_show_an_overlap() -> None:
    rows = cell_rows(ONE)  # mean 1/3
    fails = "    fails_if: {difference: {endpoint: success, %s}}\n"
    passes = "{difference: {endpoint: success, above: 0.4}}"
    assert verdict(passes, rows, more=fails % "below: 0").outcome == "inconclusive"
    assert verdict(passes, rows, more=fails % "below: 0.39").outcome == "fail"
    overlapping = verdict("{difference: {endpoint: success, above: 0}}", rows, more=fails % "below: 0.4")
    assert (overlapping.outcome, overlapping.reasons[0].code) == ("inconclusive", "both-rules")


def test_named_outcomes_of_which_exactly_one_must_hold() -> None:
    rows = cell_rows(ONE)
    text = small("X").replace(
        "passes_if: X",
        "outcomes: {win: {difference: {endpoint: success, above: 0.3}}, loss: {difference: {endpoint: success, at_most: 0.3}}}\n"
        "    counts_as: {win: pass, loss: fail}",
    )
    found = decide(text.encode(), {"episodes": pd.DataFrame(rows)}).verdicts.hypotheses["H1"]
    assert (found.outcome, found.result) == ("pass", "win")
    gap = text.replace("above: 0.3}", "above: 0.4}")
    found = decide(gap.encode(), {"episodes": pd.DataFrame(rows)}).verdicts.hypotheses["H1"]
    assert (found.outcome, found.result, found.reasons[0].code) == ("inconclusive", None, "no-named-outcome")


def test_a_family_widens_the_interval_and_counts_members_that_were_not_run() -> None:
    rule = "{interval: {endpoint: success, two_sided_level: 0.5, lower_above: -9}}"
    head = "families: {f: {members: [H1, H2]}}\n"
    more = "    family: f\n  H2: {family: f, passes_if: {difference: {endpoint: success, above: 0}}}\n"
    found = verdict(rule, cell_rows(ONE), head=head, more=more).interval
    assert found is not None and found.level == 0.75
    assert (F(found.lower_exact or 0), F(found.upper_exact or 0)) == brute_force(ONE, F(3, 4))


def test_a_gate_over_hypotheses() -> None:
    rows = cell_rows(ONE)
    more = "gates: {stop: {if: {not: {any: [H1]}}, then: stop}}\n"
    assert verdicts(ALL_POSITIVE, rows, more=more).gates["stop"].holds is True
    assert (
        verdicts("{difference: {endpoint: success, above: 0}}", rows, more=more).gates["stop"].holds is False
    )


def test_predictions_are_scored_by_part_and_by_brier() -> None:
    more = (
        "predictions:\n"
        "  P: {confidence: 0.8, parts: {a: {difference: {endpoint: success, above: 0}}, b: {difference: {endpoint: success, above: 0.5}}}}\n"
        "  Q: {confidence: 0.8, expects: {difference: {endpoint: success, above: 0}}}\n"
    )
    found = verdicts(ALL_POSITIVE, cell_rows(ONE), more=more)
    assert (found.predictions["P"].outcome, found.predictions["Q"].outcome) == ("fail", "pass")
    assert {name: part.outcome for name, part in found.predictions["P"].parts.items()} == {
        "a": "pass",
        "b": "fail",
    }
    assert [found.predictions[p].brier.exact for p in "PQ"] == ["16/25", "1/25"]  # type: ignore[union-attr]
    assert (
        found.prediction_summary.mean_brier is not None
        and found.prediction_summary.mean_brier.exact == "17/50"
    )


def test_leaving_a_seed_out_shows_what_the_verdict_hangs_on() -> None:
    found = verdict("{difference: {endpoint: success, above: 0.3}}", cell_rows(ONE))
    assert found.stability is not None
    assert found.stability.leave_one_out == {"0": "pass", "1": "pass", "2": "fail"}


def test_a_registered_monte_carlo_interval_is_the_same_every_time_and_near_the_exact_one() -> None:
    rule = "{interval: {endpoint: success, two_sided_level: 0.90, lower_above: -9}}"
    text = small(rule).replace("engine: auto", "engine: monte_carlo, resamples: 20000, seed: 20260911")
    rows = pd.DataFrame(cell_rows([[H, F(0), H, F(1)], [-H, H, F(0), H], [F(1), H, F(0), -H]]))
    first, second = (
        decide(text.encode(), {"episodes": rows}).verdicts.hypotheses["H1"].interval for _ in range(2)
    )
    exact = decide(small(rule).encode(), {"episodes": rows}).verdicts.hypotheses["H1"].interval
    assert first is not None and exact is not None
    assert first == second
    assert first.engine == "monte_carlo" and first.mc_sd is not None
    assert abs(first.lower - exact.lower) <= 4 * max(first.mc_sd[0], 1 / 24)


def test_rates_and_invariants_on_training_groups() -> None:
    rows = []
    for arm, shared in (("t", True), ("r", False)):
        for row in range(4):
            seeds = ["s"] * 2 if shared else [f"{row}a", f"{row}b"]
            rows.append({"arm": arm, "seed": 0, "step": 0, "row": row, "schedule_seeds": seeds,
                         "all_correct": row < 2, "spurious": not shared and row == 0})  # fmt: skip
    endpoints = (
        "  shared: {kind: distinct, register: groups, where: {arm: t}, group: [arm, row], value: schedule_seeds}\n"
        "  apart: {kind: distinct, register: groups, where: {arm: r}, group: [arm, row], value: schedule_seeds}\n"
        "  spurious: {kind: rate, register: groups, where: {arm: r}, count: spurious, among: all_correct}\n"
    )
    rule = (
        "{all: [{invariant: {endpoint: shared, each_group_has: one_value}},"
        " {invariant: {endpoint: apart, each_group_has: several_values}},"
        " {rate: {endpoint: spurious, within: 0, of: 0.5}}]}"
    )
    frame = {"groups": pd.DataFrame(rows)}
    found = decide(small(rule, endpoints=endpoints).encode(), frame).verdicts.hypotheses["H1"]
    assert found.outcome == "pass"
    rows[5]["schedule_seeds"] = ["x", "x"]
    found = decide(
        small(rule, endpoints=endpoints).encode(), {"groups": pd.DataFrame(rows)}
    ).verdicts.hypotheses["H1"]
    assert found.outcome == "fail"
    assert "1 of 4 groups" in found.reasons[0].message and "row" in found.reasons[0].message


def test_luck_shares_per_run_with_undefined_tables_left_out() -> None:
    """Tables of the handed list: [1,1,1,0],[0,0,0,1] has share 1/5; ones and zeros have share 1; all ones none."""
    tables = {"a": [[1, 1, 1, 0], [0, 0, 0, 1]], "b": [[1] * 4, [0] * 4], "c": [[1] * 4, [1] * 4]}
    rows = [{"run_id": "x", "task": task, "schedule": i, "sample": j, "outcome": value}
            for task, table in tables.items() for i, line in enumerate(table) for j, value in enumerate(line)]  # fmt: skip
    endpoints = "  luck: {kind: luck_share, register: luck, unit: share}\n"
    found = decide(
        small("{estimate: {endpoint: luck, at_least: 0.6, at_most: 0.6}}", endpoints=endpoints).encode(),
        {"luck": pd.DataFrame(rows)},
    ).verdicts
    assert found.hypotheses["H1"].outcome == "pass"  # the mean of 1/5 and 1
    assert any("1 tables without variance" in note for note in found.notes)


def test_a_missing_pair_is_refused_or_left_out_as_the_plan_says_and_its_worst_and_best_are_shown() -> None:
    rows = [row for row in cell_rows(ONE) if not (row["arm"] == "r" and row["seed"] == 2)]
    rule = "{difference: {endpoint: success, above: 0}}"
    head = "runs: {planned: [{arm: [t, r], seed: [0, 1, 2]}], missing: exclude_pair}\n"
    with pytest.raises(RegisterError, match="2"):
        verdict(rule, rows)
    found = verdict(rule, rows, head=head)
    assert (found.outcome, found.estimate and found.estimate.exact) == ("pass", "1/8")
    assert found.stability is not None
    assert (found.stability.missing_worst, found.stability.missing_best) == ("fail", "pass")
    assert "2" in (found.stability.note or "")


def test_declared_weights_may_follow_the_spacing_of_the_steps_that_were_planned() -> None:
    """Steps 0, 20, 40, 80, 100 with the trapezoid's own weights: .50 .60 .64 .70 .72 give 161/250."""
    text = small("{difference: {endpoint: success, at_least: 0}}").replace(
        "value: true_success",
        "value: true_success, over: {column: step, weights: {0: 1, 20: 2, 40: 3, 80: 3, 100: 1}}",
    )
    rows = curve_rows((0, 20, 40, 80, 100), (50, 60, 64, 70, 72))
    found = decide(text.encode(), {"episodes": pd.DataFrame(rows)}).verdicts.hypotheses["H1"]
    assert found.estimate is not None and found.estimate.exact == "161/250"


def test_verdicts_do_not_depend_on_threads_or_on_how_a_register_is_split(tmp_path: Path) -> None:
    frame = pd.DataFrame(cell_rows(ONE))
    plan = tmp_path / "plan.yaml"
    plan.write_text(small("{interval: {endpoint: success, lower_above: -9}}"))
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, (_, part) in enumerate(frame.groupby(["arm", "seed"])):
        part.to_parquet(folder / f"{number}.parquet")
    frame.to_parquet(tmp_path / "whole.parquet")
    printed = []
    for register, threads in ((folder, "1"), (folder, "2"), (tmp_path / "whole.parquet", "1")):
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": threads,
            "ARROW_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }
        done = subprocess.run(
            [sys.executable, "-m", "prereg_kit", "decide", "--plan", str(plan), "--register", str(register), "--json"],
            env=environment, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
        )  # fmt: skip
        printed.append(json.loads(done.stdout)["hypotheses"])
    assert printed[0] == printed[1] == printed[2]

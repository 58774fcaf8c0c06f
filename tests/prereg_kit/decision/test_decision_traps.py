"""Ways in which a verdict once came out wrong, each with the right one."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from prereg_kit import decide, load_plan
from prereg_kit.decision.verdict import Verdicts
from prereg_kit.errors import ArchiveError, PlanError, RegisterError
from prereg_kit.evidence.archive import find_frozen
from prereg_kit.plan.criteria.measured import Paired
from prereg_kit.plan.file import declared_format, read_plan
from tests.plans import SMALL, small
from tests.prereg_kit.cli.test_plan_verbs import AMENDMENT, digest_of, index, prereg
from tests.prereg_kit.decision.test_decision import ONE, cell_rows
from tests.prereg_kit.plan.test_criteria import CRITERION, Given

ROWS = pd.DataFrame(cell_rows(ONE))  # mean 1/3; the 50 % interval is [1/6, 1/2] or so, the 90 % one [0, 3/4]
HALF = F(1, 2)


def verdicts(text: str, frame: pd.DataFrame = ROWS, kind: str = "episodes") -> Verdicts:
    return decide(text.encode(), {kind: frame}).verdicts


def test_a_familys_level_stays_with_its_members_whatever_the_order() -> None:
    member = "{all: [{holds: H2}, {interval: {endpoint: success, two_sided_level: 0.5, lower_above: -9}}]}"
    plain = "  H2: {passes_if: {interval: {endpoint: success, two_sided_level: 0.5, lower_above: 0}}}\n"
    family = "families: {f: {members: [H1, H3]}}\n"
    third = "  H3: {family: f, passes_if: {difference: {endpoint: success, above: 0}}}\n"
    first = small(member, "    family: f\n" + plain + third, head=family)
    second = first.replace("  H1:\n", "  H0: {passes_if: {holds: H2}}\n  H1:\n", 1)
    for text in (first, second):
        found = verdicts(text).hypotheses
        assert (found["H2"].interval and found["H2"].interval.level) == 0.5
        assert (found["H1"].interval and found["H1"].interval.level) == 0.75


@pytest.mark.parametrize(
    ("families", "says"),
    [
        ("{f: {members: [H1, H1]}}", "twice"),
        ("{f: {members: [H2]}}", "not among the members"),
        ("{f: {members: [H1, H2]}}", "whose own `family`"),
    ],
)
def test_families_and_members_name_each_other(families: str, says: str) -> None:
    more = "    family: f\n  H2: {passes_if: {difference: {endpoint: success, above: 0}}}\n"
    with pytest.raises(PlanError, match=says):
        read_plan(
            small(
                "{difference: {endpoint: success, above: 0}}", more, head=f"families: {families}\n"
            ).encode(),
            "p",
        )


def test_a_family_counts_every_value_of_for_each() -> None:
    more = "    family: f\n    for_each: {column: split, values: [a, b, c]}\n"
    plan = read_plan(
        small(
            "{difference: {endpoint: success, above: 0}}", more, head="families: {f: {members: [H1]}}\n"
        ).encode(),
        "p",
    )
    assert plan.family_size("f") == 3


TWO = "  other: {register: episodes, value: other}\n  gap: {kind: gap, of: success, minus: other}\n"


def two_values() -> pd.DataFrame:
    """`success` differs by 1/3 on average, `other` by 0."""
    frame = ROWS.copy()
    frame["other"] = False
    return frame


def test_readings_exchange_each_endpoint_once() -> None:
    more = "    readings:\n      swapped: {replace: {success: other, other: success}}\n"
    rule = (
        "{all: [{difference: {endpoint: success, above: 0.2}}, {difference: {endpoint: other, at_most: 0}}]}"
    )
    found = verdicts(small(rule, more, TWO), two_values()).hypotheses["H1"]
    assert (found.outcome, found.readings["swapped"].outcome) == ("pass", "fail")
    estimates = [clause.estimate.exact for clause in found.readings["swapped"].clauses if clause.estimate]
    assert estimates == ["0", "1/3"]


def test_a_reading_reaches_into_a_gap_and_poisons_no_other_hypothesis() -> None:
    more = (
        "    readings: {zero: {replace: {success: other}}}\n"
        "  H2: {passes_if: {difference: {endpoint: gap, above: 0.2}}}\n"
    )
    found = verdicts(small("{difference: {endpoint: gap, above: 0.2}}", more, TWO), two_values()).hypotheses
    assert found["H1"].outcome == found["H2"].outcome == "pass"
    reading = found["H1"].readings["zero"]
    assert (reading.outcome, reading.estimate and reading.estimate.exact) == ("fail", "0")


def test_leaving_a_seed_out_reaches_into_a_gap() -> None:
    found = verdicts(small("{difference: {endpoint: gap, above: 0.3}}", "", TWO), two_values()).hypotheses[
        "H1"
    ]
    assert found.stability is None or found.stability.leave_one_out in (
        {},
        {"0": "pass", "1": "pass", "2": "fail"},
    )
    both = "{all: [{difference: {endpoint: gap, above: 0.3}}, {difference: {endpoint: success, above: -9}}]}"
    stability = verdicts(small(both, "", TWO), two_values()).hypotheses["H1"].stability
    assert stability is not None
    assert stability.leave_one_out == {"0": "pass", "1": "pass", "2": "fail"}


def test_the_worst_and_the_best_case_have_intervals_of_their_own() -> None:
    rows = pd.DataFrame(cell_rows([[F(1), HALF], [F(1), HALF], [F(1), HALF]]))
    head = "runs: {planned: [{arm: [t, r], seed: [0, 1, 2, 3]}], missing: exclude_pair}\n"
    found = verdicts(small("{interval: {endpoint: success, lower_above: 0.1}}", head=head), rows).hypotheses[
        "H1"
    ]
    assert found.outcome == "pass" and found.stability is not None
    assert (found.stability.missing_worst, found.stability.missing_best) == ("fail", "pass")


def test_for_each_narrows_a_where_that_lists_its_values() -> None:
    frame = pd.concat(
        [ROWS.assign(cond="A"), ROWS.assign(cond="B", arm=ROWS["arm"].map({"t": "r", "r": "t"}))]
    )
    text = small(
        "{difference: {endpoint: success, above: 0}}", "    for_each: {column: cond, values: [A, B]}\n"
    ).replace("value: true_success", "where: {cond: [A, B]}, value: true_success")
    found = verdicts(text, frame).hypotheses
    assert [found[f"H1[{value}]"].estimate.exact for value in "AB"] == ["1/3", "-1/3"]  # type: ignore[union-attr]
    with pytest.raises(PlanError, match="admits only"):
        read_plan(text.replace("values: [A, B]}", "values: [A, C]}").encode(), "p")


def reported(rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = ("endpoint", "statistic", "level", "run_id", "condition", "value", "source")
    return pd.DataFrame(
        [{name: row.get(name, "x" if name == "source" else None) for name in columns} for row in rows]
    )


RETROSPECTIVE = "kind: retrospective\n"


def test_two_published_figures_for_one_number_are_refused() -> None:
    endpoints = "  e: {kind: rate, register: reported, count: value, unit: share}\n"
    text = small("{rate: {endpoint: e, above: 0}}", endpoints=endpoints, head=RETROSPECTIVE)
    two = [
        {"endpoint": "e", "statistic": "estimate", "condition": c, "value": v}
        for c, v in (("C1", "-0.5"), ("C2", "0.5"))
    ]
    assert verdicts(text, reported(two[1:]), "reported").hypotheses["H1"].outcome == "pass"
    with pytest.raises(RegisterError):
        verdicts(text, reported(two), "reported")


@pytest.mark.parametrize("level", ["95%", "abc", "1/0", "2", ""])
def test_a_published_level_must_be_one(level: str) -> None:
    endpoints = "  e: {kind: luck_share, register: reported, unit: share}\n"
    text = small("{estimate: {endpoint: e, lower_above: 0}}", endpoints=endpoints, head=RETROSPECTIVE)
    rows = [{"endpoint": "e", "statistic": "estimate", "value": "0.5"},
            {"endpoint": "e", "statistic": "lower", "level": level, "value": "0.4"}]  # fmt: skip
    with pytest.raises(RegisterError, match="level"):
        verdicts(text, reported(rows), "reported")


@pytest.mark.parametrize(
    "endpoint",
    [
        "{register: reported, value: value}",
        "{kind: distinct, register: reported, value: value, group: [run_id]}",
    ],
)
def test_what_needs_rows_cannot_be_read_from_published_figures(endpoint: str) -> None:
    text = small(
        "{difference: {endpoint: success, above: 0}}", endpoints=f"  e: {endpoint}\n", head=RETROSPECTIVE
    )
    with pytest.raises(PlanError, match="published figures"):
        read_plan(text.encode(), "p")


def judged(rule: object, ends: tuple[F, F], mc_sd: F) -> str:
    e = Paired("e", "proportion", ("0",), np.zeros((1, 1), dtype=np.int64), 1)
    return CRITERION.validate_python(rule).judged(Given(ends=ends, mc_sd=mc_sd, e=e)).outcome


def test_an_end_that_clearly_fails_is_not_saved_by_one_that_is_unsure() -> None:
    rule = {"interval": {"endpoint": "e", "lower_above": "5", "upper_below": "0.1"}}
    assert judged(rule, (F(-1, 10), F(1, 10)), F(5, 100)) == "fail"
    unsure = {"interval": {"endpoint": "e", "lower_above": "-5", "upper_below": "0.1"}}
    assert judged(unsure, (F(-1, 10), F(1, 10)), F(5, 100)) == "inconclusive"


def test_a_bound_of_an_estimate_minds_the_monte_carlo_error_too() -> None:
    rule = {"estimate": {"endpoint": "e", "lower_above": "-0.03"}}
    assert judged(rule, (F(-29, 1000), F(1)), F(2, 1000)) == "inconclusive"
    assert judged(rule, (F(-20, 1000), F(1)), F(2, 1000)) == "pass"


@pytest.mark.parametrize("number", ["0.0３", "٣", "1e400", "-1e999", "1" * 70, "1/" + "9" * 63])
def test_numbers_are_ascii_and_of_a_readable_size(number: str) -> None:
    with pytest.raises(PlanError, match="number|decimal"):
        read_plan(small("{difference: {endpoint: success, at_least: %s}}" % number).encode(), "p")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("{at_every: {endpoint: s, points: [], below: 1}}", "at least 1"),
        ("{estimate: {endpoint: success, above: 0, at_least: 0}}", "not both"),
        ("{estimate: {endpoint: success, lower_above: 0, level: 1}}", "level between"),
        ("{interval: {endpoint: success, two_sided_level: 0.999999999999, lower_above: 0}}", "level between"),
    ],
)
def test_what_no_register_could_decide_is_refused_when_the_plan_is_read(rule: str, says: str) -> None:
    endpoints = "  s: {kind: series, register: probe, axis: checkpoint}\n"
    with pytest.raises(PlanError, match=says):
        read_plan(small(rule, endpoints=endpoints).encode(), "p")


def test_a_reading_must_fit_the_criterion() -> None:
    endpoints = "  s: {kind: series, register: probe, axis: checkpoint}\n"
    more = "    readings: {odd: {replace: {success: s}}}\n"
    with pytest.raises(PlanError, match="needs an endpoint of kind"):
        read_plan(small("{difference: {endpoint: success, above: 0}}", more, endpoints).encode(), "p")


def test_one_column_cannot_be_two_things() -> None:
    with pytest.raises(PlanError, match="two things"):
        read_plan(SMALL.replace("engine: auto", "pairs: arm").encode(), "p")
    with pytest.raises(PlanError, match="arm, pair or cluster"):
        read_plan(
            SMALL.replace(
                "value: true_success", "value: true_success, over: {column: task, weights: {a: 1}}"
            ).encode(),
            "p",
        )


def test_long_chains_and_large_matrices_are_refused_quickly() -> None:
    chain = "".join(f"  C{i}: {{passes_if: {{holds: C{i + 1}}}}}\n" for i in range(200))
    end = "  C200: {passes_if: {difference: {endpoint: success, above: 0}}}\n"
    with pytest.raises(PlanError, match="refers through more than"):
        read_plan((SMALL + chain + end).encode(), "p")
    many = ", ".join(map(str, range(400)))
    head = f"runs: {{planned: [{{condition: [{many}], arm: [t, r], seed: [{many}]}}]}}\n"
    with pytest.raises(PlanError, match="at most 100000 planned runs"):
        read_plan(small("{difference: {endpoint: success, above: 0}}", head=head).encode(), "p")


def test_hypotheses_that_share_others_are_decided_once_each() -> None:
    stack = "".join(
        f"  S{i}: {{passes_if: {{all: [{{difference: {{endpoint: success, above: 0}}}}, S{i - 1}, S{i - 1}]}}}}\n"
        for i in range(1, 25)
    )
    text = SMALL + "  S0: {passes_if: {difference: {endpoint: success, above: 0}}}\n" + stack
    assert verdicts(text).hypotheses["S24"].outcome == "pass"  # 2**24 evaluations otherwise


def test_values_too_fine_for_an_engine_are_still_compared_exactly() -> None:
    random = np.random.Generator(np.random.Philox(3))
    frame = ROWS.drop_duplicates(["arm", "seed", "task"]).assign(points=random.random(12))
    text = small(
        "{difference: {endpoint: p, above: 0}}",
        endpoints="  p: {register: episodes, value: points, unit: points}\n",
    )
    found = verdicts(text, frame).hypotheses["H1"]
    table = frame.pivot_table(index=["seed", "task"], columns="arm", values="points")
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(float((table["t"] - table["r"]).mean()), abs=1e-15)
    assert found.outcome in ("pass", "fail")


def test_without_clusters_the_seed_pairs_alone_are_resampled() -> None:
    frame = pd.DataFrame(
        [{"arm": arm, "seed": s, "points": (s * s if arm == "t" else 0)} for arm in "tr" for s in range(3)]
    )
    text = small(
        "{interval: {endpoint: p, lower_above: -9}}",
        endpoints="  p: {register: episodes, value: points, unit: points}\n",
    )
    found = verdicts(text.replace("engine: auto", "engine: exact, clusters: ~"), frame).hypotheses["H1"]
    assert found.interval is not None and "seed pairs only" in found.interval.scheme


@pytest.mark.parametrize(
    "text", ["format:\n  prereg.plan/1\nid: x", '"format": prereg.plan/1', "format: >-\n  prereg.plan/1\n"]
)
def test_a_format_cannot_hide_behind_a_line_break(text: str) -> None:
    assert declared_format(text.encode()) == "prereg.plan/1"


@pytest.fixture
def amended(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(SMALL)
    prereg("freeze", tmp_path / "plan.yaml", "--root", tmp_path)
    (tmp_path / "A1.yaml").write_text(AMENDMENT.format(parent=digest_of(tmp_path), bound="0.5"))
    prereg("amend", tmp_path / "A1.yaml", "--root", tmp_path)
    return tmp_path


def test_an_amendment_in_force_cannot_be_made_to_vanish(amended: Path) -> None:
    register = index(amended, [digest_of(amended)])
    folder = amended / "amendments/small-A1"
    assert decide(amended / "frozen/small", register).verdicts.hypotheses["H1"].outcome == "fail"
    record = (folder / "freeze.json").read_bytes()
    (folder / "freeze.json").unlink()
    with pytest.raises(ArchiveError, match="record"):
        decide(amended / "frozen/small", register)
    (folder / "freeze.json").write_bytes(record)
    folder.rename(amended / "elsewhere")
    folder.symlink_to(amended / "elsewhere")
    with pytest.raises(ArchiveError, match="link"):
        decide(amended / "frozen/small", register)


def test_the_records_id_does_not_decide_which_amendments_apply(amended: Path) -> None:
    record = amended / "frozen/small/freeze.json"
    record.write_text(record.read_text().replace('"id": "small"', '"id": "another"'))
    assert [a.amendment.id for a in load_plan(amended / "frozen/small").effective.amendments] == ["A1"]


def test_a_plan_called_frozen_keeps_its_neighbours_amendments(amended: Path) -> None:
    (amended / "f.yaml").write_text(SMALL.replace("id: small", "id: frozen"))
    prereg("freeze", amended / "f.yaml", "--root", amended)
    assert len(find_frozen(amended)) == 3
    assert [a.amendment.id for a in load_plan(amended / "frozen/small").effective.amendments] == ["A1"]


def test_an_unstamped_amendment_carries_a_banner(amended: Path) -> None:
    register = index(amended, [digest_of(amended)])
    labels = decide(amended / "frozen/small", register).verdicts.labels
    assert any("AMENDMENT A1 NOT TIMESTAMPED" in label for label in labels)


def test_a_verdict_names_every_amendment_that_it_rests_on() -> None:
    from prereg_kit.plan.history import replay
    from tests.prereg_kit.plan.test_history import PLAN, amendment

    for field, value in (
        ("arms/column", "group"),
        ("resampling/level", "0.9"),
        ("registers", "{episodes: {}}"),
    ):
        op = "replace" if field != "arms/column" else "add"
        op = "add" if field in ("arms/column", "resampling/level", "registers") else op
        change = f"  - {{op: {op}, field: {field}, value: {value}}}\n"
        assert replay(PLAN, [amendment(PLAN, change)]).rule_from("hypotheses", "H1") == "A1", field


THREE = "runs: {planned: [{arm: [t, r], seed: [0, 1, 2]}]}\n"
RULE = "{difference: {endpoint: success, above: 0}}"


def test_a_planned_pair_that_is_nowhere_leaves_the_rule_unevaluated() -> None:
    found = verdicts(small(RULE, head=THREE), ROWS[ROWS["seed"] != 2]).hypotheses["H1"]
    assert (found.outcome, found.reasons[0].code) == ("not_evaluable", "runs-missing")
    assert "2" in found.reasons[0].message
    assert verdicts(small(RULE, head=THREE)).hypotheses["H1"].outcome == "pass"


def test_a_seed_on_top_of_the_plan_does_not_count() -> None:
    more = pd.concat([ROWS, ROWS[ROWS["seed"] == 2].assign(seed=3)])
    planned, unplanned = (verdicts(text, more) for text in (small(RULE, head=THREE), small(RULE)))
    assert planned.hypotheses["H1"].estimate == verdicts(small(RULE)).hypotheses["H1"].estimate
    assert set(planned.hypotheses["H1"].per_seed) == {"0", "1", "2"}
    assert set(unplanned.hypotheses["H1"].per_seed) == {"0", "1", "2", "3"}
    assert any("not planned and not counted" in note for note in planned.notes)


def test_the_same_through_an_index(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    two = "runs: {planned: [{condition: c, arm: [t, r], seed: [0, 1]}]}\n"
    four = two.replace("[0, 1]", "[0, 1, 2, 3]")
    for head, outcome, seeds in ((two, "pass", {"0", "1"}), (four, "not_evaluable", set())):
        folder = tmp_path / outcome
        folder.mkdir()
        plan.write_text(small(RULE, head=head))
        register = index(folder, [load_plan(plan).effective.digest])
        found = decide(plan, register).verdicts
        assert found.hypotheses["H1"].outcome == outcome
        assert set(found.hypotheses["H1"].per_seed) == seeds
    statuses = {row.run_id: row.status for row in found.ledger}
    assert statuses["c/t/3"] == "missing"


def test_an_amendment_after_results_is_a_banner_with_the_old_and_the_new_value(amended: Path) -> None:
    late = AMENDMENT.replace("A1", "A2").replace("nothing_run", "results_seen")
    (parent,) = load_plan(amended / "frozen/small").effective.amendments
    (amended / "A2.yaml").write_text(late.format(parent=parent.source.digest, bound="0.2"))
    prereg("amend", amended / "A2.yaml", "--root", amended)
    register = index(amended, [digest_of(amended)])
    found = decide(amended / "frozen/small", register).verdicts
    assert any("A2 WHEN RESULTS EXISTED" in label for label in found.labels)
    assert found.plan.amendments[1].changes == (
        "replace hypotheses/H1/passes_if/difference/at_least, was 0.5, now 0.2",
    )


def test_a_new_statement_is_no_new_rule() -> None:
    from prereg_kit.plan.history import replay
    from tests.prereg_kit.plan.test_history import PLAN, amendment

    change = "  - {op: add, field: hypotheses/H1/statement, value: said better}\n"
    assert replay(PLAN, [amendment(PLAN, change)]).rule_from("hypotheses", "H1") == "plan"


def test_drafts_cannot_be_frozen_as_they_are(amended: Path) -> None:
    draft = amended / "draft.yaml"
    draft.write_text(prereg("amend", "--draft", amended / "frozen/small").output)
    with pytest.raises(PlanError, match="nobody has replaced"):
        raise prereg("amend", draft, "--root", amended).exception  # type: ignore[misc]


def test_a_bare_frame_is_asked_for_its_kind() -> None:
    from prereg_kit.errors import UsageError

    with pytest.raises(UsageError, match="episodes"):
        decide(SMALL.encode(), ROWS)

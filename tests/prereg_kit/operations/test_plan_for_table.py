"""A plan for a table at hand can be decided on it as it stands; what is wrong with a plan's columns is said at once."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from prereg_kit.cli.main import cli
from prereg_kit.errors import RegisterError, UsageError
from prereg_kit.operations.decide import decide_files
from prereg_kit.operations.plan_for_table import plan_for_csv
from prereg_kit.plan.file import read_plan


def table(header: str, values, arms=("baseline", "ours"), pairs=range(3), units="xyz") -> str:
    lines = [header]
    for arm in arms:
        lines += [f"{arm},{p},{u},{values(arm, p)}" for p in pairs for u in units]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("header", "values", "unit", "pairs"),
    [
        ("system,fold,question,correct", lambda arm, p: str(arm == "ours"), "proportion", "fold"),
        ("arm,seed,task,score", lambda arm, p: 0.5 + 0.25 * (arm == "ours"), "fraction", "seed"),
        ("model,run,item,score", lambda arm, p: 60 + p + 2.5 * (arm == "ours"), "points", "run"),
        ("which one,nr,what: this,it's", lambda arm, p: 1.5 + (arm == "ours"), "points", "nr"),
    ],
)
def test_a_proposed_plan_is_decided_on_its_table(tmp_path, header, values, unit, pairs):
    path = tmp_path / "my.csv"
    path.write_text(table(header, values))
    made = CliRunner().invoke(cli, ["new", str(tmp_path / "plan.yaml"), "--from", str(path), "--id", "mine"])
    assert made.exit_code == 0, made.output
    plan = read_plan((tmp_path / "plan.yaml").read_bytes(), "plan.yaml")
    assert (plan.arms.treatment, plan.arms.reference) == ("ours", "baseline")
    assert (plan.resampling.pairs, plan.endpoints["outcome"].unit) == (pairs, unit)
    assert plan.resampling.clusters == header.split(",")[2]
    verdict = decide_files([path], plan=tmp_path / "plan.yaml").verdicts.hypotheses["H1"]
    assert verdict.outcome == "pass"


def test_columns_with_several_values_are_left_to_a_person(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(
        "arm,seed,task,split,score\nnew,0,a,test,0.5\nold,0,a,val,0.25\nnew,1,b,test,0.5\nold,1,b,test,1\n"
    )
    assert "# split has 2 values (test, val): name one in `where`" in plan_for_csv(path, "p").decode()


def test_hostile_names_stay_inside_the_plan(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(
        '"arm # id: other",seed,"t: {#",ok\n"a""b",0,x,true\nnull,0,x,false\n"a""b",1,y,true\nnull,1,y,false\n'
    )
    plan = read_plan(plan_for_csv(path, "mine"), "plan.yaml")
    assert plan.id == "mine"
    assert plan.arms.column == "arm # id: other"
    assert {plan.arms.treatment, plan.arms.reference} == {'a"b', "null"}


def test_a_table_without_two_arms_is_refused(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("arm,score\na,1.5\nb,2.5\nc,3.5\n")
    with pytest.raises(UsageError, match="two values"):
        plan_for_csv(path, "p")


def test_all_absent_columns_are_named_at_once_with_the_plans_fields(tmp_path):
    (tmp_path / "r.csv").write_text("system,fold,question,correct\nours,0,x,1\nbase,0,x,0\n")
    (tmp_path / "plan.yaml").write_text(
        "format: prereg.plan/1\nid: p\narms: {treatment: ours, reference: base}\n"
        "endpoints: {e: {register: episodes, where: {split: test}, value: ok}}\n"
        "hypotheses: {H1: {passes_if: {difference: {endpoint: e, above: 0}}}}\n"
    )
    with pytest.raises(RegisterError) as caught:
        decide_files([tmp_path / "r.csv"], plan=tmp_path / "plan.yaml")
    said = str(caught.value)
    for column, field in (("ok", "endpoints.e.value"), ("split", "endpoints.e.where"), ("arm", "arms.column"),
                          ("seed", "resampling.pairs"), ("task", "resampling.clusters")):  # fmt: skip
        assert f"{column} (named by `{field}`)" in said

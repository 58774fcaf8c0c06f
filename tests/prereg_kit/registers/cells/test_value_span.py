"""Two scales in one column are refused where the plan declares a range, and noted where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prereg_kit.errors import PlanError, RegisterError
from prereg_kit.operations.decide import decide_files
from prereg_kit.plan.file import read_plan

PLAN = """format: prereg.plan/1
id: scales
arms: {treatment: new, reference: old}
endpoints:
  e: {register: episodes, value: score, %s}
hypotheses:
  H1: {passes_if: {difference: {endpoint: e, above: 0}}}
"""
MIXED = (["66.8", "67.2"], ["0.618", "0.55"])
FRACTIONS = (["0.668", "0.672"], ["0.618", "0.55"])


def decided(tmp_path: Path, unit: str, arms: tuple[list[str], list[str]]):
    lines = ["arm,seed,task,score"]
    for arm, values in zip(("new", "old"), arms, strict=True):
        lines += [f"{arm},{i},t,{value}" for i, value in enumerate(values)]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "plan.yaml").write_text(PLAN % unit)
    return decide_files([tmp_path / "r.csv"], plan=tmp_path / "plan.yaml").verdicts


def test_a_percentage_beside_fractions_is_noted_in_the_verdicts(tmp_path):
    notes = decided(tmp_path, "unit: score", MIXED).notes
    said = next(note for note in notes if "two scales" in note)
    assert "0.55 to 67.2" in said
    assert "between 0.618 and 66.8" in said


@pytest.mark.parametrize(
    "arms",
    [FRACTIONS, (["66.8"], ["61.8"]), (["0", "66.8"], ["61", "1"]), (["0.5", "3.2"], ["2", "9"]),
     (["0.5", "1000"], ["0.2", "2000"]), (["-0.5", "50"], ["0.5", "60"])],
)  # fmt: skip
def test_one_scale_is_not_noted(tmp_path, arms):
    arms = tuple((values * 2)[:2] for values in arms)
    assert not [note for note in decided(tmp_path, "unit: score", arms).notes if "scales" in note]


@pytest.mark.parametrize(
    "unit", ["unit: score, range: [0, 1]", "unit: fraction", "unit: points, range: [60, 100]"]
)
def test_a_row_outside_the_range_refuses_the_register(tmp_path, unit):
    with pytest.raises(RegisterError) as caught:
        decided(tmp_path, unit, MIXED)
    assert caught.value.code == "out-of-range"
    assert caught.value.where.field == "score"
    assert caught.value.where.key.startswith("3 (" if "60" in unit else "1 (")


def test_the_ends_of_a_range_belong_to_it(tmp_path):
    ends = decided(tmp_path, "unit: points, range: [0, 100]", (["100", "100"], ["0", "0"]))
    assert ends.hypotheses["H1"].outcome == "pass"
    with pytest.raises(RegisterError, match="outside"):
        decided(tmp_path, "unit: points, range: [0, 100]", (["100", "100.0000000001"], ["0", "0"]))


def test_fractions_per_row_have_a_unit_of_their_own(tmp_path):
    found = decided(tmp_path, "unit: fraction", FRACTIONS).hypotheses["H1"]
    assert found.outcome == "pass"
    assert "43/500" in json.dumps(found.model_dump(mode="json"))  # (0.668 + 0.672 - 0.618 - 0.55) / 2 = 0.086


def test_a_fraction_under_the_default_unit_is_refused_with_the_unit_to_write(tmp_path):
    with pytest.raises(RegisterError) as caught:
        decided(tmp_path, "unit: proportion", FRACTIONS)
    assert "unit: fraction" in str(caught.value)
    with pytest.raises(RegisterError, match=r"range: \[0, 100\]"):
        decided(tmp_path, "unit: proportion", (["66.8", "1"], ["61.8", "1"]))


@pytest.mark.parametrize(
    ("arms", "unit"), [((["1", "1"], ["0", "1"]), "proportion"), ((["0.5", "1"], ["0", "1"]), "fraction")]
)
def test_percent_of_truth_values_or_fractions_is_noted(tmp_path, arms, unit):
    notes = decided(tmp_path, "unit: percent", arms).notes
    assert [note for note in notes if f"unit is `{unit}`" in note]


@pytest.mark.parametrize(
    ("unit", "says"),
    [("unit: points, range: [1, 1]", "below"), ("range: [0, 100]", "unit"), ("unit: fraction, range: [0, 2]", "within")],
)  # fmt: skip
def test_a_range_that_makes_no_sense_is_refused_by_the_plan(unit, says):
    with pytest.raises(PlanError, match=says):
        read_plan((PLAN % unit).encode(), "plan.yaml")

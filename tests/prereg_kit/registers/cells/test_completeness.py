"""Cells, steps and seeds that are missing are named; a policy admits what it says and no more."""

from __future__ import annotations

from prereg_kit.registers.cells import Policy
from tests.prereg_kit.registers.cells.by_hand import HALF, STEPS, curve, differences, episodes, refused, table


def test_a_short_cell_is_refused_or_counts_as_its_mean():
    cells = {
        ("paired", 0, "A"): [1, 1, 1, 1], ("independent", 0, "A"): [0, 0, 0, 0],
        ("paired", 0, "B"): [0], ("independent", 0, "B"): [1, 1, 1, 1],
    }  # fmt: skip
    error = refused(episodes(cells))
    assert error.code == "unequal-cells"
    assert "arm=paired, seed=0, task=B" in str(error)
    assert "1 here, 4 in most cells" in str(error)
    means = table(episodes(cells), policy=Policy(unequal="cell_means"))
    assert sum(differences(means)[0]) == 0  # pooled rows would say +3/10
    assert any("1 to 4 episodes" in note for note in means.notes)


def test_tasks_are_matched_by_name_never_by_position():
    cells = {("paired", 0, t): [x] for t, x in zip("abc", (1, 0, 1), strict=True)}
    cells |= {("independent", 0, t): [x] for t, x in zip("acd", (1, 0, 1), strict=True)}
    error = refused(episodes(cells))
    assert error.code == "missing-cells"
    assert "2 missing cells" in str(error)
    assert "arm=paired, seed=0, task=d" in str(error)
    common = table(episodes(cells), policy=Policy(missing="exclude_tasks"))
    assert sum(differences(common)[0]) / 2 == HALF
    assert any("b, d" in note for note in common.notes)


def test_a_step_that_the_weights_name_must_be_there():
    rows = curve({0: 50, 20: 60, 40: 64, 80: 70, 100: 72})
    error = refused(rows, axis="step", axis_values=tuple(STEPS))
    assert error.code == "absent-value"
    assert error.where.field == "step"
    assert "step = 60" in str(error)
    assert "0, 20, 40, 80, 100" in str(error)
    whole = curve({0: 50, 20: 60, 40: 64, 60: 66, 80: 70, 100: 72})
    lacking = [row for row in whole if not (row["arm"] == "independent" and row["step"] == 60)]
    error = refused(lacking, axis="step", axis_values=tuple(STEPS))
    assert error.code == "missing-step"
    assert "arm=independent, seed=0" in str(error)
    assert "step 60 is missing" in str(error)


def test_steps_keep_the_order_of_the_rule_and_other_steps_are_counted_not_used():
    rows = curve({0: 50, 20: 60, 40: 64, 60: 66, 80: 70, 100: 72, 10: 1})
    found = table(rows, axis="step", axis_values=("100", "0", "20", "40", "60", "80"))
    assert found.axis == ("100", "0", "20", "40", "60", "80")
    assert found.successes[0, 0].sum(axis=1).tolist() == [72, 50, 60, 64, 66, 70]
    assert found.rows_unused == 200
    free = table(rows, axis="step")
    assert free.axis == ("0", "10", "20", "40", "60", "80", "100")


def test_orphan_seeds_are_listed_by_arm_and_never_paired_by_rank():
    cells = {("paired", s, "t"): [1] for s in (0, 1, 2)} | {("independent", s, "t"): [0] for s in (0, 1, 3)}
    error = refused(episodes(cells))
    assert error.code == "orphan-seeds"
    assert "seed 2 only in arm paired" in str(error)
    assert "seed 3 only in arm independent" in str(error)
    left = table(episodes(cells), policy=Policy(orphans="exclude"))
    assert left.seeds == ("0", "1")
    assert "seed 3 only in arm independent" in left.notes[0]
    kept = table(episodes(cells), policy=Policy(orphans="allow", missing="allow"))
    assert kept.seeds == ("0", "1", "2", "3")
    assert kept.episodes[:, :, 0, 0].tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]

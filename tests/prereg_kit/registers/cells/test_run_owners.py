"""One run for each arm and seed."""

from __future__ import annotations

from tests.prereg_kit.registers.cells.by_hand import FIRST, differences, episodes, refused, table


def test_a_second_run_of_a_cell_is_refused_unless_the_rule_names_the_run():
    rows = [{**row, "condition": "C4", "stack": "a"} for row in episodes(FIRST)]
    again = [
        {**row, "run_id": "paired-1-again"} for row in rows if (row["arm"], row["seed"]) == ("paired", 1)
    ]
    error = refused(rows + again)
    assert error.code == "second-run"
    assert "paired-1 and paired-1-again" in str(error)
    assert "arm=paired, seed=1" in str(error)
    named = tuple(sorted({row["run_id"] for row in rows}))
    assert differences(table(rows + again, where={"run_id": named})) == differences(table(rows))
    # a run that continues at other steps under another name is a second run all the same
    apart = [{**row, "step": 0} for row in rows] + [{**row, "step": 20} for row in again]
    assert refused(apart, axis="step").code == "second-run"


def test_a_row_that_names_no_run_is_refused():
    rows = episodes(FIRST)
    rows[2]["run_id"] = None
    error = refused(rows)
    assert (error.code, error.where.field) == ("missing-key", "run_id")

"""Rows of one key: repeats and conflicts, named with their key."""

from __future__ import annotations

from prereg_kit.registers.cells import Policy
from tests.prereg_kit.registers.cells.by_hand import FIRST, differences, episodes, refused, table


def test_a_row_twice_is_refused_with_its_key():
    rows = episodes(FIRST)
    error = refused([*rows, rows[0]])
    assert error.code == "repeated-rows"
    assert "1 duplicate row" in str(error)
    assert "arm=paired, seed=0, task=10, schedule=0" in str(error)


def test_twenty_repeats_are_counted_and_dropped_only_on_request():
    rows = episodes(FIRST)
    error = refused([*rows, *rows[:20]])
    assert "20 duplicate rows" in str(error)
    kept = table([*rows, *rows[:20]], policy=Policy(repeats="drop_exact"))
    assert differences(kept) == differences(table(rows))
    assert kept.rows_used == 24
    assert kept.rows_unused == 20
    assert "20 exact repeats were dropped" in kept.notes[0]


def test_a_conflict_is_named_and_no_policy_drops_it():
    rows = episodes(FIRST)
    other = {**rows[5], "true_success": not rows[5]["true_success"]}
    for policy in (Policy(), Policy(repeats="drop_exact")):
        error = refused([*rows, other, rows[0]], policy=policy)
        assert error.code == "conflicting-rows"
        assert "1 conflicting key" in str(error)
        assert "arm=paired, seed=0, task=2, schedule=1" in error.where.key
        assert "row 25" in str(error)


def test_rows_without_a_number_are_told_apart_by_nothing():
    rows = [{name: value for name, value in row.items() if name != "schedule"} for row in episodes(FIRST)]
    error = refused([row for row in rows if row["task"] == "10" and row["seed"] == 2])
    assert error.code == "repeated-rows"
    assert "number them in a column `schedule`" in str(error)

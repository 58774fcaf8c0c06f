"""Conditions of a plan, compared by the type of the column."""

from __future__ import annotations

import pytest

from tests.prereg_kit.registers.cells.by_hand import FIRST, episodes, refused


@pytest.mark.parametrize(
    ("where", "code", "field"),
    [
        ({"eval_set": "challenge"}, "absent-column", "eval_set"),
        ({"split": "challenge"}, "absent-value", "split"),
        ({"seed": "zero"}, "where-type", "seed"),
        ({"seed": "7"}, "absent-value", "seed"),
    ],
)
def test_a_condition_that_nothing_meets_is_named_with_what_is_there(where, code, field):
    error = refused(episodes(FIRST, split="test"), where=where)
    assert (error.code, error.where.field) == (code, field)
    if code == "absent-value":
        assert "present" in str(error)


def test_values_that_occur_but_never_together():
    rows = episodes(FIRST, split="test", regime="a") + episodes(FIRST, split="validation", regime="b")
    error = refused(rows, where={"split": "test", "regime": "b"})
    assert error.code == "no-rows-selected"
    assert "split = test; regime = b" in str(error)


def test_a_where_without_values_selects_nothing_and_says_so():
    error = refused(episodes(FIRST), where={"task": ()})
    assert error.code == "no-rows-selected"
    assert "lists no value of 'task'" in str(error)

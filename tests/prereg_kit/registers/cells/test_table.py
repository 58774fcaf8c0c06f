"""Cell tables of small registers whose right answers were worked out by hand."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import RegisterError, UsageError
from prereg_kit.registers.cells import Policy
from tests.prereg_kit.registers.cells.by_hand import (
    ARMS,
    FIRST,
    HALF,
    cells_of,
    differences,
    episodes,
    refused,
    registers,
    table,
)


def test_the_three_by_two_register_gives_its_differences():
    found = table(episodes(FIRST))
    assert found.tasks == ("2", "10")  # by number, though both are text
    assert found.seeds == ("0", "1", "2")
    assert found.arms == ARMS
    assert differences(found) == [[0, HALF], [HALF, -HALF], [HALF, 1]]
    per_seed = [sum(line) / 2 for line in differences(found)]
    assert per_seed == [Fraction(1, 4), 0, Fraction(3, 4)]
    assert (found.rows_used, found.rows_unused) == (24, 0)
    assert found.runs["paired", "2"] == "paired-2"


@pytest.mark.parametrize("order", range(5))
def test_the_order_of_rows_changes_nothing(order):
    rows = episodes(FIRST)
    random.Random(order).shuffle(rows)
    one, other = table(episodes(FIRST)), table(rows)
    assert (one.successes == other.successes).all()
    assert (one.episodes == other.episodes).all()
    assert (one.tasks, one.seeds, one.runs) == (other.tasks, other.seeds, other.runs)


def test_tasks_that_are_whole_numbers_come_in_the_same_order_as_text():
    rows = [{**row, "task": int(row["task"])} for row in episodes(FIRST)]
    assert differences(table(rows)) == differences(table(episodes(FIRST)))


def test_unequal_rows_do_not_change_the_sign():
    cells = {
        ("paired", 0, "easy"): [1] * 36 + [0] * 4, ("paired", 0, "hard"): [1] + [0] * 9,
        ("independent", 0, "easy"): [1] * 10, ("independent", 0, "hard"): [1] * 8 + [0] * 32,
    }  # fmt: skip
    found = table(episodes(cells), policy=Policy(unequal="cell_means"))
    assert sum(differences(found)[0]) / 2 == Fraction(-1, 10)  # pooled rows would say +19/50


def test_counts_without_rows_are_exact():
    rows = [
        {
            "run_id": f"{arm}{seed}",
            "condition": "C2",
            "arm": arm,
            "seed": seed,
            "step": 100,
            "successes": x,
            "episodes": 800,
        }
        for arm, line in (("paired", (700, 369, 456)), ("independent", (691, 332, 430)))
        for seed, x in enumerate(line)
    ]
    found = cells_of(registers(rows, "counts"), "counts", where={"condition": "C2"}, value="successes",
                       episodes="episodes", arm="arm", arms=ARMS, pairs="seed", cluster="task")  # fmt: skip
    assert not found.has_tasks
    assert found.tasks == ("",)
    assert sum(line[0] for line in differences(found)) / 3 == Fraction(3, 100)
    rows[0]["successes"] = 801
    with pytest.raises(RegisterError, match="impossible count: 801 of 800"):
        cells_of(registers(rows, "counts"), "counts", where={}, value="successes", episodes="episodes", arm="arm",
                   arms=ARMS, pairs="seed")  # fmt: skip


def test_one_seed_gives_one_unit():
    d = [Fraction(1, 4), Fraction(3, 4), HALF, Fraction(1, 4)]
    cells = {("paired", 0, str(t)): [1] * int(4 * x) + [0] * int(4 - 4 * x) for t, x in enumerate(d)}
    cells |= {("independent", 0, str(t)): [0] * 4 for t in range(4)}
    found = table(episodes(cells))
    assert found.seeds == ("0",)
    assert differences(found) == [d]


def test_arguments_that_contradict_each_other():
    with pytest.raises(UsageError):
        table(episodes(FIRST), arm=None)
    with pytest.raises(UsageError):
        table(episodes(FIRST), pairs="task")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_complete_register_aggregates_to_its_sums(data):
    seeds = data.draw(st.lists(st.integers(-3, 10**6), min_size=1, max_size=4, unique=True))
    tasks = data.draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=5, unique=True))
    k = data.draw(st.integers(1, 3))
    cells = {
        (arm, seed, task): data.draw(st.lists(st.integers(0, 1), min_size=k, max_size=k))
        for arm in ARMS for seed in seeds for task in tasks
    }  # fmt: skip
    rows = data.draw(st.permutations(episodes(cells)))
    found = table(list(rows))
    assert sorted(found.tasks) == sorted(tasks)
    assert found.seeds == tuple(str(seed) for seed in sorted(seeds))
    for (arm, seed, task), outcomes in cells.items():
        at = ARMS.index(arm), found.seeds.index(str(seed)), 0, found.tasks.index(task)
        assert (found.successes[at], found.episodes[at]) == (sum(outcomes), k)
    broken = [row for row in rows if row != rows[0]]
    if k > 1 or len(tasks) > 1 or len(seeds) > 1:
        assert refused(broken).code in ("missing-cells", "unequal-cells", "orphan-seeds")
    assert refused([*rows, rows[-1]]).code == "repeated-rows"

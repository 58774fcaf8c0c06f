import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.errors import StudyError
from study.training.arms import proven, seat, task_order

pytestmark = pytest.mark.torch
SIZE = 8


def groups(arm, rows, seed=0, block=None):
    return [[seat(arm, seed, row, slot, block) for slot in range(SIZE)] for row in rows]


def kinds(arm, block=None):
    return [len({one.schedule_seed for one in group}) for group in groups(arm, range(40), block=block)]


def test_how_many_schedules_a_group_meets():
    assert set(kinds("paired")) == {1}
    assert set(kinds("independent")) == {SIZE}
    assert set(kinds("clean")) == {1}
    for block in (1, 2, 4, 8):
        assert set(kinds("blocks", block)) == {SIZE // block}
    assert kinds("blocking") == [1, SIZE] * 20  # each task: a clean group and a noisy one
    assert set(kinds("blocking_paired")) == {1}


def test_which_groups_are_noisy():
    for arm in ("paired", "independent", "blocks"):
        assert all(one.noisy for group in groups(arm, range(4), block=2) for one in group)
    assert not any(one.noisy for group in groups("clean", range(4)) for one in group)
    for arm in ("blocking", "blocking_paired"):
        assert [group[0].noisy for group in groups(arm, range(4))] == [False, True, False, True]


def test_no_schedule_repeats_over_a_run_of_19200_episodes():
    seen = [one.schedule_seed for group in groups("independent", range(2400)) for one in group]
    assert len(set(seen)) == len(seen) == 19_200
    shared = {group[0].schedule_seed for group in groups("paired", range(2400))}
    assert len(shared) == 2400 and not shared & set(seen)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(0, 10**6), st.integers(0, 7))
def test_a_seat_depends_on_its_coordinates_alone(seed, row, slot):
    assert seat("independent", seed, row, slot) == seat("independent", seed, row, slot)
    assert (
        seat("independent", seed, row, slot).schedule_seed
        != seat("independent", seed, row + 1, slot).schedule_seed
    )
    assert seat("paired", seed, row, slot).schedule_seed != seat("paired", seed + 1, row, slot).schedule_seed


@pytest.mark.parametrize("arm", ["paired", "independent", "clean", "blocking", "blocking_paired", "blocks"])
def test_the_invariant_holds_for_what_the_arm_makes(arm):
    made = groups(arm, range(6), block=2)
    proven(arm, [[one.schedule_seed for one in g] for g in made], 2, [g[0].noisy for g in made])


@pytest.mark.parametrize(
    ("arm", "seeds"),
    [
        ("paired", [["a"] * 7 + ["b"]]),
        ("independent", [list("abcdefgg")]),
        ("independent", [["a"] * 8]),
        ("paired", [["a"] * 8, ["a"] * 8]),
        ("clean", [["a"] * 4 + ["b"] * 4]),
        ("blocks", [list("abcdefgh")]),
    ],
)
def test_the_invariant_catches_what_it_should_not_be(arm, seeds):
    with pytest.raises(StudyError):
        proven(arm, seeds, 2)


def test_both_arms_of_a_seed_meet_the_same_tasks_in_the_same_order(small_run):
    pool = tuple(f"t{n}" for n in range(10))
    orders = {arm: task_order(small_run("C2", arm), pool) for arm in ("paired", "independent")}
    assert orders["paired"] == orders["independent"]
    assert len(orders["paired"]) == 16
    assert sorted(orders["paired"][:10]) == sorted(pool)  # a permutation before any repeat
    assert orders["paired"][:10] != orders["paired"][10:]
    assert task_order(small_run("C2", "paired", seed=1), pool) != orders["paired"]
    assert orders["paired"] == task_order(small_run("C4", "paired"), pool)


def test_blocking_plays_each_task_twice_in_neighbouring_rows(small_run):
    order = task_order(small_run("C2", "blocking"), tuple("abcdefghij"))
    assert all(order[n] == order[n + 1] for n in range(0, len(order), 2))
    assert len(set(order)) == len(order) // 2

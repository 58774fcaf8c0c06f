"""Evaluations: the same rows however they are made, seeds as the law says, groups with their flags."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import fields, replace

import pytest
from scipy import stats

from prereg_kit.registers.formats import EPISODES, GROUPS
from study.backoffice.pools import load_pool
from study.backoffice.profiles import NATURAL
from study.backoffice.schedule import Schedule, evaluation_seed, slot_seed, train_seed
from study.errors import ConfigError
from study.evaluation.evaluate import _held_interrupts, evaluate
from study.evaluation.groups import group_seeds, play_groups
from study.evaluation.spec import EvaluationSpec
from study.runs.rows import EpisodeRow, GroupFlags, GroupRow, columns

SPEC = EvaluationSpec(
    "recovering", "natural", "validation", ("clean", "faults_p25"), 12, 2, 0, "recovering", "scripted"
)
GROUPS_SPEC = replace(SPEC, regimes=("grader_flips",), arm="paired", group_size=8, tasks=30, schedules=4)


@pytest.fixture(scope="module")
def rows():
    return evaluate(SPEC)


def test_rows_are_ordered_and_complete(rows):
    tasks = [task.task_id for task in load_pool(NATURAL, "validation").tasks[:12]]
    assert [(row.regime, row.task, row.schedule) for row in rows] == [
        (regime, task, k) for regime in SPEC.regimes for task in tasks for k in (0, 1)
    ]


def test_several_processes_give_the_same_rows(rows):
    seen = []
    assert evaluate(SPEC, workers=2, progress=lambda done, total: seen.append((done, total))) == rows
    assert seen[-1] == (len(rows), len(rows))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_schedules_are_those_of_the_law_and_shared_by_arms(rows):
    assert all(row.schedule_seed == evaluation_seed("validation", row.task, row.schedule) for row in rows)
    other = evaluate(replace(SPEC, policy="naive", arm="naive"))
    assert [row.schedule_seed for row in other] == [row.schedule_seed for row in rows]
    next_seed = evaluate(replace(SPEC, seed=3, regimes=("clean",), tasks=2))
    assert [row.schedule for row in next_seed] == [6, 7, 6, 7]
    assert not {row.schedule_seed for row in next_seed} & {row.schedule_seed for row in rows}


def test_rows_say_what_happened(rows):
    clean = [row for row in rows if row.regime == "clean"]
    assert all(row.true_success and row.faults_drawn == 0 and not row.exposed for row in clean)
    noisy = [row for row in rows if row.regime == "faults_p25"]
    assert any(row.exposed for row in noisy)
    for row in noisy:
        assert row.faults_recovered <= row.faults_effective <= row.faults_drawn
        assert row.exposed == (row.faults_effective > 0)
        assert row.calls <= row.budget
        assert row.over_budget == (row.ended_by == "budget")
    assert {row.noise.split()[1] for row in rows} == {"p=0", "p=1/4"}
    assert {row.profile for row in rows} == {f"natural {NATURAL.digest()}"}
    assert len({row.run_id for row in rows}) == 1


def test_field_names_are_the_registers_columns():
    for row_type, known in ((EpisodeRow, EPISODES), (GroupRow, GROUPS)):
        names = [column.name for column in known.columns]
        assert {field.name for field in fields(row_type)} == set(names)
        required = {column.name for column in known.columns if column.required}
        assert required <= {field.name for field in fields(row_type)}


def test_columns_drop_what_nobody_filled(rows):
    table = columns(rows)
    assert list(table) == [field.name for field in fields(EpisodeRow)]
    groups = columns(play_groups(replace(GROUPS_SPEC, tasks=1, schedules=1)))
    assert "advantages" not in groups
    assert isinstance(groups["schedule_seeds"][0], list)


@pytest.mark.parametrize("arm", ["paired", "independent"])
def test_groups_prove_who_shared_what(arm):
    groups = play_groups(replace(GROUPS_SPEC, arm=arm))
    assert [row.row for row in groups] == list(range(120))
    assert all(row.step == row.row // 30 for row in groups)
    for row in groups:
        shared = train_seed(0, row.row)
        if arm == "paired":
            assert set(row.schedule_seeds) == {shared}
        else:
            assert row.schedule_seeds == tuple(slot_seed(shared, slot) for slot in range(8))
            assert len({shared, *row.schedule_seeds}) == 9
    seeds = [seed for row in groups for seed in set(row.schedule_seeds)]
    assert len(seeds) == len(set(seeds))


def test_the_grade_lanes_predict_every_spurious_flag():
    groups = play_groups(replace(GROUPS_SPEC, arm="independent"))
    below = (1 << 64) // 10
    for row in groups:
        flips = [Schedule(seed).grade_lane() < below for seed in row.schedule_seeds]
        assert row.observed_rewards == tuple(0.0 if flip else 1.0 for flip in flips)
        assert row.spurious == (0 < sum(flips) < 8)
        assert row.zero_variance == (not row.spurious)


def test_spurious_rates_of_the_two_designs():
    """1 - .9^8 - .1^8 = .5695 when independent, never when paired; 99.9 % binomial interval."""
    groups = play_groups(replace(GROUPS_SPEC, arm="independent", policy="naive", tasks=100, schedules=6))
    assert all(row.all_correct for row in groups)
    spurious = sum(row.spurious for row in groups)
    low, high = stats.binom.interval(0.999, len(groups), 1 - 0.9**8 - 0.1**8)
    assert low <= spurious <= high
    paired = play_groups(replace(GROUPS_SPEC, policy="naive", tasks=100, schedules=2))
    assert not any(row.spurious for row in paired)
    assert all(row.zero_variance for row in paired)


def test_groups_in_several_processes_are_the_same():
    assert play_groups(replace(GROUPS_SPEC, schedules=1), workers=2) == play_groups(
        replace(GROUPS_SPEC, schedules=1)
    )


def test_no_seed_is_met_twice_in_19200_episodes():
    for arm, count in (("paired", 2400), ("independent", 19200)):
        seeds = [seed for row in range(2400) for seed in dict.fromkeys(group_seeds(arm, 5, row, 8))]
        assert len(seeds) == len(set(seeds)) == count


@pytest.mark.parametrize(
    ("truth", "rewards", "flags"),
    [
        ([True] * 3, [1.0, 1.0, 1.0], (True, True, False)),
        ([True] * 3, [1.0, 0.0, 1.0], (True, False, True)),
        ([False] * 3, [0.0, 0.0, 0.0], (False, True, False)),
        ([False] * 3, [0.0, 1.0, 0.0], (False, False, True)),
        ([True, False, True], [1.0, 0.0, 1.0], (False, False, False)),
        ([True, False, True], [0.0, 0.0, 0.0], (False, True, False)),
    ],
)
def test_group_flags(truth, rewards, flags):
    found = GroupFlags.of(truth, rewards)
    assert (found.all_correct, found.zero_variance, found.spurious) == flags


@pytest.mark.parametrize(
    "change",
    [
        {"policy": "clever"}, {"profile": "huge"}, {"pool": "warmup"}, {"regimes": ()}, {"regimes": ("clean", "clean")},
        {"regimes": ("mist",)}, {"tasks": 301}, {"tasks": 0}, {"schedules": 0}, {"seed": -1}, {"arm": ""}, {"arm": "a b"},
        {"condition": "../x"}, {"group_size": 1}, {"group_size": 8, "arm": "paired"}, {"group_size": 8, "regimes": ("clean",)},
    ],
)  # fmt: skip
def test_impossible_specs_are_refused(change):
    with pytest.raises(ConfigError):
        replace(SPEC, **change)


def test_a_run_id_names_its_spec():
    assert SPEC.label().run_id == SPEC.label().run_id
    ids = {
        replace(SPEC, **change).label().run_id
        for change in (
            {},
            {"tasks": 11},
            {"seed": 1},
            {"schedules": 3},
            {"regimes": ("clean",)},
            {"arm": "x"},
        )
    }
    assert len(ids) == 6


def test_an_interrupt_while_workers_start_waits_and_is_not_lost():
    reached = False
    with pytest.raises(KeyboardInterrupt), _held_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        reached = True
    assert reached
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_interrupt_that_another_thread_receives_waits_too():
    """The system gives a signal to any thread that does not block it, and Python then raises it in the main thread."""
    go, sent = threading.Event(), threading.Event()

    def receive() -> None:
        go.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        sent.set()

    receiver = threading.Thread(target=receive)
    receiver.start()  # before the block, so that it does not inherit it
    reached = False
    with pytest.raises(KeyboardInterrupt), _held_interrupts():
        go.set()
        assert sent.wait(5)
        reached = True
    receiver.join()
    assert reached

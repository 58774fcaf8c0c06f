from dataclasses import asdict

import pytest

from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT
from study.backoffice.schedule import evaluation_seed
from study.config.file import read_tier, resolve
from study.training import seeds, step_zero
from study.training.curves import draw, points
from study.training.dataset import Tasks
from study.training.evaluate import (
    Evaluator,
    final_sets,
    periodic_sets,
    policy_label,
    sampling_key,
    start_sets,
    success,
    training_regime,
)
from study.training.rollout import Limits

pytestmark = pytest.mark.torch


def sizes(sets):
    return {(one.split, one.regime): one.episodes for one in sets}


def test_the_sets_are_the_papers():
    run = resolve(read_tier("full"), condition="C2", arm="paired", seed=0)
    assert sizes(periodic_sets(run)) == {
        ("validation", "clean"): 128,
        ("validation", "faults_p25"): 128,
        ("validation", "challenge"): 64,
    }
    assert sizes(final_sets(run)) == {
        ("test", "clean"): 800,
        ("test", "faults_p10"): 800,
        ("test", "faults_p25"): 800,
        ("test", "heldout_p25"): 800,
        ("test", "challenge"): 200,
    }
    flips = resolve(read_tier("full"), condition="C4", arm="paired", seed=0)
    assert sizes(final_sets(flips)) == sizes(final_sets(run)) | {("test", "grader_flips"): 800}
    assert [training_regime(name) for name in ("C0", "C1", "C2r", "C3")] == [
        "faults_p25",
        "faults_p10",
        "no_outage_p25",
        "grader_flips_q05",
    ]
    assert sizes(start_sets(flips)) == {("test", "grader_flips"): 800}


def finisher(rollouts):
    for rollout in rollouts:
        for token in finisher.wire.written("finish", {}):
            rollout.own(token, -0.1)


def rows(run, step=0, seen=None):
    finisher.wire = step_zero.small_wire(run)
    tasks = Tasks(run)

    def play(rollouts):
        if seen is not None:
            seen.extend(rollout.secret(0) for rollout in rollouts)
        finisher(rollouts)

    batch = run.tier.evaluation.batch
    evaluator = Evaluator(policy_label(run), batch, finisher.wire, Limits(320, 12, 22), tasks.at, play)
    return [asdict(row) for row in evaluator.rows(step, periodic_sets(run))]


def test_both_arms_meet_the_same_schedules_and_seeds_do_not(small_run):
    change = {"evaluation__validation_schedules": 2}
    paired, independent, other = (
        rows(small_run(arm=arm, seed=seed, **change))
        for arm, seed in (("paired", 0), ("independent", 0), ("paired", 1))
    )

    def schedules(found):
        return [(row["task"], row["regime"], row["schedule"], row["schedule_seed"]) for row in found]

    assert schedules(paired) == schedules(independent)
    assert not {row["schedule_seed"] for row in paired if row["regime"] == "faults_p25"} & {
        row["schedule_seed"] for row in other if row["regime"] == "faults_p25"
    }
    assert {row["schedule"] for row in paired if row["regime"] == "clean"} == {0, 1}
    assert {row["schedule"] for row in other if row["regime"] == "clean"} == {2, 3}
    row = other[0]
    assert row["schedule_seed"] == evaluation_seed("validation", row["task"], row["schedule"])
    assert not any(row["true_success"] for row in paired)  # finish at once never succeeds


def test_sampling_is_keyed_by_the_set_and_the_step_and_not_by_the_arm(small_run):
    keys = {}
    for name, arm, step in (("a", "paired", 0), ("b", "independent", 0), ("c", "paired", 2)):
        keys[name] = []
        rows(small_run(arm=arm), step, keys[name])
    assert keys["a"] == keys["b"]
    assert not set(keys["a"]) & set(keys["c"])
    assert len(set(keys["a"])) == len(keys["a"])


def test_batches_do_not_change_the_rows(small_run):
    assert rows(small_run()) == [
        row | {"run_id": rows(small_run())[0]["run_id"]} for row in rows(small_run(evaluation__batch=5))
    ]


def test_success_and_points():
    found = [
        {"split": "test", "regime": "clean", "step": step, "true_success": hit}
        for step, hit in ((0, False), (0, True), (2, True), (2, True))
    ]
    assert success(found, "test", "clean") == 0.75
    assert success(found, "test", "challenge") is None
    assert points(found) == {"test clean": [(0, 0.5), (2, 1.0)]}


def test_nothing_recorded_draws_nothing(tmp_path):
    assert draw(tmp_path) is None


def test_a_sampling_key_is_of_the_whole_episode():
    task, other = (generate(COMPACT, "test", index) for index in (3, 4))
    elsewhere = generate(COMPACT, "reserve", 3)
    base = (0, 5, "clean", task, 2, 1)
    keys = {sampling_key(*base)}
    for place, value in ((0, 1), (1, 6), (2, "faults_p25"), (3, other), (3, elsewhere), (4, 3), (5, 0)):
        keys.add(sampling_key(*base[:place], value, *base[place + 1 :]))
    assert len(keys) == 8
    assert sampling_key(*base) == seeds.key("evaluate", 0, 5, "test", "clean", "compact-test-0003", 2, 1)

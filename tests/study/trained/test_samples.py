"""Several samples of a trained policy under each schedule: keyed by sample, independent of what else is played."""

from __future__ import annotations

import pytest

from study.errors import ConfigError
from study.trained.samples import Sampler, Slot, pool_of, sample_key, slots
from study.training import step_zero
from study.training.train import quiet_process

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def sampler(small_run, start):
    run = small_run(warm_start__steps=20)
    quiet_process(run)
    return run, Sampler(run, step_zero.load(run, start(run)).model, 0, "validation", "faults_p25")


def test_every_sample_is_its_own_and_none_depends_on_its_neighbours(sampler):
    _, played = sampler
    wanted = slots(3, 2, 3, 0)
    together = played.play(wanted)
    assert [one.slot for one in together] == list(wanted)
    alone = [played.play([slot])[0] for slot in reversed(wanted)][::-1]
    assert [one.ids for one in together] == [one.ids for one in alone]
    assert [one.true_success for one in together] == [one.true_success for one in alone]
    siblings = {one.ids for one in together if one.slot[:2] == wanted[0][:2]}
    assert len(siblings) > 1
    for one in together:
        assert len(one.ids) == len(one.mask) == len(one.logps)
        assert all((lp == 0) == (not own) for lp, own in zip(one.logps, one.mask, strict=True) if not own)


def test_a_sampling_key_knows_every_coordinate(sampler):
    run, _ = sampler
    tasks = pool_of(run, "validation", 2).tasks
    base = (0, 0, "clean", tasks[0], Slot(0, 0, 0), 0)
    others = [
        (1, 0, "clean", tasks[0], Slot(0, 0, 0), 0), (0, 1, "clean", tasks[0], Slot(0, 0, 0), 0),
        (0, 0, "faults_p25", tasks[0], Slot(0, 0, 0), 0), (0, 0, "clean", tasks[1], Slot(1, 0, 0), 0),
        (0, 0, "clean", tasks[0], Slot(0, 1, 0), 0), (0, 0, "clean", tasks[0], Slot(0, 0, 1), 0),
        (0, 0, "clean", tasks[0], Slot(0, 0, 0), 1),
    ]  # fmt: skip
    keys = {sample_key(*one) for one in (base, *others)}
    assert len(keys) == 8


def test_seeds_choose_schedules_as_in_an_evaluation():
    assert [slot.schedule for slot in slots(1, 3, 1, 2)] == [6, 7, 8]


@pytest.mark.parametrize(("split", "tasks"), [("validation", 301), ("validation", 0), ("nowhere", 1)])
def test_tasks_that_do_not_exist_are_refused(sampler, split, tasks):
    with pytest.raises(ConfigError, match="number of tasks"):
        pool_of(sampler[0], split, tasks)

"""The rows that TRL iterates over: one a group, in the order of the run, nothing random left."""

from __future__ import annotations

from typing import Any

from datasets import Dataset

from study.backoffice.pools import Pool, load_pool
from study.backoffice.profiles import profile_named
from study.backoffice.tasks import Task
from study.config.run_config import RunConfig
from study.errors import ConfigError
from study.training.arms import task_order


class Tasks:
    """The pools of a run, by split and by id.

    Args:
        run: the resolved run.

    Raises:
        ConfigError: a pool that does not come out as recorded, or is smaller than the tier wants.
    """

    def __init__(self, run: RunConfig) -> None:
        world = run.tier.world
        profile = profile_named(world.profile)
        wanted = {"train": world.train_tasks, "validation": world.validation_tasks, "test": world.test_tasks}
        self._pools: dict[str, Pool] = {}
        for name, size in wanted.items():
            pool = load_pool(profile, name)
            if size > len(pool.tasks):
                raise ConfigError(
                    f"the pool {name} has too few tasks", expected=str(size), found=len(pool.tasks)
                )
            self._pools[name] = pool
        self.train = tuple(task.task_id for task in self._pools["train"].tasks[: world.train_tasks])
        self._by_id = {task.task_id: task for task in self._pools["train"].tasks}

    def at(self, split: str, index: int) -> Task:
        """A task by its place in a pool."""
        return self._pools[split].tasks[index]

    def named(self, task_id: str) -> Task:
        """A training task by id."""
        return self._by_id[task_id]

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each pool."""
        return {name: pool.sha256 for name, pool in self._pools.items()}


def rows(run: RunConfig, tasks: Tasks) -> list[dict[str, Any]]:
    """The rows of a whole run: request, task, row number."""
    return [
        {"prompt": [{"role": "user", "content": tasks.named(task).request}], "task": task, "row": row}
        for row, task in enumerate(task_order(run, tasks.train))
    ]


def dataset(run: RunConfig, tasks: Tasks) -> Dataset:
    """The rows as a dataset; TRL reads it front to back, G times each, without shuffling."""
    return Dataset.from_list(rows(run, tasks))

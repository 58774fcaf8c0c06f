"""K samples of a trained policy for each (task, schedule): what luck shares and probes need and an evaluation lacks.

An evaluation plays each (task, schedule) once, so its sampling key has no sample index and siblings would repeat one
another. Here a turn's tokens are drawn from (samples, run seed, step, pool, regime, task, schedule, sample, turn):
equal places play equally, whatever else is played, and no two places share a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from prereg_kit.errors import Where
from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.pools import POOL_SIZES, Pool, load_pool
from study.backoffice.profiles import profile_named
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import evaluation_seed
from study.backoffice.tasks import Task
from study.config.run_config import RunConfig
from study.errors import ConfigError
from study.training import seeds, step_zero
from study.training.environment import LiveEpisode
from study.training.lockstep_player import LockstepPlayer
from study.training.rollout import Rollout
from study.training.train import limits_of


class Slot(NamedTuple):
    """One sample: a task by its position in the pool, an absolute schedule index, the sample's number."""

    position: int
    schedule: int
    sample: int


@dataclass(frozen=True)
class Sample:
    """One played sample.

    Attributes:
        slot: which one.
        task: task id.
        prompt: prompt tokens.
        ids: tokens after the prompt.
        mask: 1 for the policy's own tokens, 0 for tool results, aligned with `ids`.
        logps: log-probabilities at sampling; 0.0 for tool results.
        true_success: the grader's verdict, never corrupted.
        exposed: a fault changed at least one reply.
    """

    slot: Slot
    task: str
    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logps: tuple[float, ...]
    true_success: bool
    exposed: bool


def sample_key(seed: int, step: int, regime: str, task: Task, slot: Slot, turn: int) -> bytes:
    """The 32 bytes that a turn's tokens are drawn from."""
    return seeds.key("samples", seed, step, task.pool, regime, task.task_id, slot.schedule, slot.sample, turn)


def slots(tasks: int, schedules: int, samples: int, seed: int) -> tuple[Slot, ...]:
    """Every sample of the first `tasks` tasks, in order of (task, schedule, sample).

    Seed s plays schedules sK to sK+K-1, as in an evaluation, so more seeds mean more schedules.
    """
    return tuple(
        Slot(position, seed * schedules + schedule, sample)
        for position in range(tasks)
        for schedule in range(schedules)
        for sample in range(samples)
    )


def pool_of(run: RunConfig, split: str, tasks: int) -> Pool:
    """The verified pool of a run's world that holds at least `tasks` tasks.

    Raises:
        ConfigError: no such pool, too few tasks, or a pool that does not come out as recorded.
    """
    size = POOL_SIZES.get(split, 0)
    if not 1 <= tasks <= size:
        raise ConfigError(
            "the number of tasks",
            where=Where(field="tasks"),
            expected=f"1 to {size}, the tasks of the pool {split!r}" if size else ", ".join(POOL_SIZES),
            found=tasks if size else split,
        )
    return load_pool(profile_named(run.tier.world.profile), split)


class Sampler:
    """Samples of one checkpoint.

    Args:
        run: the resolved run of a small tier.
        model: the PEFT model of the checkpoint, in the precision that it was trained in.
        step: the checkpoint's step.
        split: pool of the tasks.
        regime: the noise.
    """

    def __init__(self, run: RunConfig, model: object, step: int, split: str, regime: str) -> None:
        rollouts = run.tier.rollouts
        self._run, self._step, self._regime = run, step, regime
        self._pool = pool_of(run, split, 1)
        self._law = compile_law(regime_named(regime))
        self._wire = step_zero.small_wire(run)
        self._limits = limits_of(run)
        self._player = LockstepPlayer(model, rollouts.context, rollouts.temperature)

    def play(self, wanted: Sequence[Slot]) -> list[Sample]:
        """Play samples together. Log-probabilities depend on the batch in their last digits only."""
        begun = [self._begin(slot) for slot in wanted]
        self._player.play([rollout for _, rollout in begun], self._step)
        return [
            Sample(
                slot,
                live.episode.task.task_id,
                tuple(rollout.prompt),
                tuple(rollout.ids),
                tuple(rollout.mask),
                tuple(rollout.logps),
                live.outcome().true_success,
                live.exposed,
            )
            for slot, (live, rollout) in zip(wanted, begun, strict=True)
        ]

    def _begin(self, slot: Slot) -> tuple[LiveEpisode, Rollout]:
        task = self._pool.tasks[slot.position]
        schedule = evaluation_seed(task.pool, task.task_id, slot.schedule)
        live = LiveEpisode(Episode(task, self._law, schedule))

        def secret(turn: int) -> bytes:
            return sample_key(self._run.seed, self._step, self._regime, task, slot, turn)

        return live, Rollout(live, self._wire, task.request, self._limits, secret)

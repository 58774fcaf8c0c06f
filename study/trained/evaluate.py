"""Checkpoints on a pool, after training: the same rows as the run's own evaluation would have written.

Episodes are played in the batches that the tier declares, one batch a piece of work, so the rows do not depend on
the number of processes. A process loads weights anew whenever it comes to another checkpoint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from study.backoffice.pools import load_pool
from study.backoffice.profiles import profile_named
from study.backoffice.tasks import Task
from study.errors import ConfigError
from study.evaluation.evaluate import Progress, in_order
from study.evaluation.spec import EvaluationSpec
from study.runs.rows import EpisodeRow
from study.trained.checkpoint_policy import Checkpoint, Trained
from study.trained.language_model import policy_model
from study.training import step_zero
from study.training.evaluate import EvaluationSet, Evaluator, Place, places
from study.training.lockstep_player import LockstepPlayer
from study.training.train import limits_of, quiet_process

MOST_EPISODES = 1_000_000


class Batch(NamedTuple):
    """Episodes of one checkpoint that are played together."""

    found: Trained
    spec: EvaluationSpec
    checkpoint: Checkpoint
    places: tuple[Place, ...]


def evaluate(
    found: Trained, spec: EvaluationSpec, *, workers: int = 1, progress: Progress | None = None
) -> list[EpisodeRow]:
    """Play every episode of a spec with every one of its checkpoints.

    Args:
        found: the checkpoints.
        spec: what to play; its checkpoints are those of `found`.
        workers: processes, one thread each.
        progress: told after every batch.

    Returns:
        Rows in order of (checkpoint, regime as given, task, schedule).

    Raises:
        ConfigError: the pool does not come out as recorded, or more than `MOST_EPISODES`.
        StudyError: weights that are damaged or do not fit.
    """
    if spec.episodes > MOST_EPISODES:
        raise ConfigError(
            "more episodes than one call plays", expected=f"at most {MOST_EPISODES:,}", found=spec.episodes
        )
    load_pool(profile_named(spec.profile), spec.pool)
    sets = [
        EvaluationSet(spec.pool, regime, spec.tasks, spec.schedules_of(regime)) for regime in spec.regimes
    ]
    wanted, size = places(sets, spec.seed), found.run.tier.evaluation.batch
    work = [
        Batch(found, spec, checkpoint, tuple(wanted[first : first + size]))
        for checkpoint in found.checkpoints
        for first in range(0, len(wanted), size)
    ]
    return in_order(_play, work, spec.episodes, workers, progress)


def _play(batch: Batch) -> list[EpisodeRow]:
    return _evaluator(batch.found, batch.spec, batch.checkpoint).played(batch.checkpoint.step, batch.places)


@lru_cache(maxsize=1)
def _evaluator(found: Trained, spec: EvaluationSpec, checkpoint: Checkpoint) -> Evaluator:
    run = found.run
    quiet_process(run)
    rollouts, profile = run.tier.rollouts, profile_named(spec.profile)
    player = LockstepPlayer(policy_model(found, checkpoint), rollouts.context, rollouts.temperature)

    def task(split: str, index: int) -> Task:
        return load_pool(profile, split).tasks[index]

    return Evaluator(
        spec.label(),
        run.tier.evaluation.batch,
        step_zero.small_wire(run),
        limits_of(run),
        task,
        lambda fresh: player.play(fresh, checkpoint.step),
    )

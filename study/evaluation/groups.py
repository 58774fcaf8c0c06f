"""Scripted training groups: G plays of one task, under one schedule (paired) or one each (independent).

A scripted group holds no learning; it shows what the two designs do to observed rewards. Rows are counted as in
training: row = step * tasks + position, and every row draws its own schedule seed from the run's seed.
"""

from __future__ import annotations

from study.backoffice.faults import compile_law
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import slot_seed, train_seed
from study.evaluation.evaluate import Chunk, Progress, chunks_of, in_order, tasks_of
from study.evaluation.rollout import play
from study.evaluation.spec import EvaluationSpec
from study.policies.scripted import scripted_policy
from study.runs.rows import GroupFlags, GroupRow


def group_seeds(arm: str, run_seed: int, row: int, size: int) -> tuple[str, ...]:
    """The schedule seeds of a group's slots.

    Args:
        arm: `paired` (the row's seed G times) or `independent` (one derived from it for each slot).
        run_seed: the run's seed.
        row: the row.
        size: G.
    """
    shared = train_seed(run_seed, row)
    return (shared,) * size if arm == "paired" else tuple(slot_seed(shared, slot) for slot in range(size))


def play_groups(
    spec: EvaluationSpec, *, workers: int = 1, progress: Progress | None = None
) -> list[GroupRow]:
    """Play `schedules` groups of every task.

    Args:
        spec: `group_size` >= 2; its one regime is the noise of the training.
        workers: processes; the rows do not depend on it.
        progress: told in groups.

    Returns:
        Rows in order of `row`.
    """
    rows = in_order(_play_chunk, chunks_of(spec, workers), spec.tasks * spec.schedules, workers, progress)
    return sorted(rows, key=lambda row: row.row)


def _play_chunk(chunk: Chunk) -> list[GroupRow]:
    spec = chunk.spec
    policy = scripted_policy(spec.policy)
    compiled = compile_law(regime_named(chunk.regime))
    label = spec.label()
    rows = []
    for position, task in zip(chunk.positions, tasks_of(chunk), strict=True):
        for step in range(spec.schedules):
            row = step * spec.tasks + position
            seeds = group_seeds(spec.arm, spec.seed, row, spec.group_size)
            outcomes = [
                play(policy, task, compiled, seed, f"{row}/{slot}").grade() for slot, seed in enumerate(seeds)
            ]
            truth = tuple(outcome.true_success for outcome in outcomes)
            rewards = tuple(float(outcome.observed_reward) for outcome in outcomes)
            flags = GroupFlags.of(truth, rewards)
            rows.append(
                GroupRow(
                    run_id=label.run_id,
                    condition=label.condition,
                    arm=label.arm,
                    seed=label.seed,
                    step=step,
                    row=row,
                    task=task.task_id,
                    schedule_seeds=seeds,
                    slots=tuple(range(spec.group_size)),
                    true_outcomes=truth,
                    observed_rewards=rewards,
                    all_correct=flags.all_correct,
                    zero_variance=flags.zero_variance,
                    spurious=flags.spurious,
                )
            )
    return rows

"""What a training step writes down: one row a group, in the columns of `prereg.groups/1` and some of our own."""

from __future__ import annotations

from typing import Any

from study.config.run_config import RunConfig
from study.errors import StudyError
from study.runs.rows import GroupFlags
from study.training.environment import law_of, live_episode
from study.training.trainer import Step


def run_columns(run: RunConfig) -> dict[str, Any]:
    """What identifies the run in every row."""
    return {"run_id": run.run_id, "condition": run.condition, "arm": run.arm, "seed": run.seed}


def group_rows(run: RunConfig, step: Step) -> list[dict[str, Any]]:
    """The groups of one optimiser step, in batch order.

    Raises:
        StudyError: a reward that the recorded grade lane does not explain.
    """
    size = run.tier.rollouts.group_size
    rows = []
    for first in range(0, len(step.seats), size):
        part = slice(first, first + size)
        episodes = [live_episode(environment) for environment in step.environments[part]]
        outcomes = [live.outcome() for live in episodes]
        rewards = step.rewards[part]
        expected = [float(o.true_success and not o.flipped) for o in outcomes]
        if rewards != expected:
            raise StudyError(
                "a reward is not what its grade lane gives", expected=repr(expected), found=rewards
            )
        true = [outcome.true_success for outcome in outcomes]
        weights = step.weights[part]
        ratios = step.log_ratios[part]
        rollouts = step.rollouts[part]
        seats = step.seats[part]
        flags = GroupFlags.of(true, rewards)
        rows.append(
            run_columns(run)
            | {
                "step": step.step,
                "row": seats[0].row,
                "task": episodes[0].episode.task.task_id,
                "schedule_seeds": [live.episode.schedule_seed for live in episodes],
                "slots": [seat.slot for seat in seats],
                "true_outcomes": true,
                "observed_rewards": rewards,
                "advantages": step.advantages[part],
                "importance_weights": None if None in weights else weights,
                "log_ratios": None if None in ratios else ratios,
                "flips": [outcome.flipped for outcome in outcomes],
                "all_correct": flags.all_correct,
                "zero_variance": flags.zero_variance,
                "spurious": flags.spurious,
                "noisy": seats[0].noisy,
                "calls": [live.episode.calls for live in episodes],
                "exposed": [live.exposed for live in episodes],
                "own_tokens": [sum(rollout.mask) for rollout in rollouts],
                "late_tokens": [rollout.late_tokens for rollout in rollouts],
                "dropped_results": [rollout.dropped for rollout in rollouts],
                "malformed": [rollout.malformed for rollout in rollouts],
            }
        )
    return rows


def spurious_predicted(row: dict[str, Any]) -> bool:
    """Whether a group must be spurious, from its true outcomes and grade lanes alone."""
    true = row["true_outcomes"]
    seen = [ok and not flip for ok, flip in zip(true, row["flips"], strict=True)]
    return len(set(true)) == 1 and len(set(seen)) > 1


def flips_possible(run: RunConfig) -> bool:
    """Whether the run's condition flips grades at all."""
    return law_of(run.condition).flip_below > 0

"""What a training run writes down: one row a group, one row an evaluation episode.

The columns are those of `prereg.groups/1` and `prereg.episodes/1`, plus what our registers add to them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from study.backoffice.faults import NoiseLaw
from study.config import RunConfig
from study.errors import StudyError
from study.evaluation.rows import RunLabel
from study.evaluation.rows import episode_row as evaluation_row
from study.records import GroupFlags
from study.training.environment import Session, law_of, session_of
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
        sessions = [session_of(environment) for environment in step.environments[part]]
        outcomes = [session.outcome() for session in sessions]
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
                "task": sessions[0].episode.task.task_id,
                "schedule_seeds": [session.episode.schedule_seed for session in sessions],
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
                "calls": [session.episode.calls for session in sessions],
                "exposed": [session.exposed for session in sessions],
                "own_tokens": [sum(rollout.mask) for rollout in rollouts],
                "late_tokens": [rollout.late_tokens for rollout in rollouts],
                "dropped_results": [rollout.dropped for rollout in rollouts],
                "malformed": [rollout.malformed for rollout in rollouts],
            }
        )
    return rows


def episode_row(
    run: RunConfig, session: Session, law: NoiseLaw, *, step: int, schedule: int
) -> dict[str, Any]:
    """One evaluation episode, in the columns that every policy's registers share."""
    session.outcome()
    label = RunLabel(run.run_id, run.condition, run.arm, run.seed, f"{run.tier.name}-policy", step)
    return asdict(evaluation_row(label, law, schedule, session.episode))


def spurious_predicted(row: dict[str, Any]) -> bool:
    """Whether a group must be spurious, from its true outcomes and grade lanes alone."""
    true = row["true_outcomes"]
    seen = [ok and not flip for ok, flip in zip(true, row["flips"], strict=True)]
    return len(set(true)) == 1 and len(set(seen)) > 1


def flips_possible(run: RunConfig) -> bool:
    """Whether the run's condition flips grades at all."""
    return law_of(run.condition).flip_below > 0

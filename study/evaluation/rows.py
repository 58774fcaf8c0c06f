"""An ended episode as a register row: one place for scripted and learned policies alike."""

from __future__ import annotations

from dataclasses import dataclass

from study.backoffice.episode import Episode
from study.backoffice.faults import NoiseLaw
from study.backoffice.log import fault_counts
from study.backoffice.profile import Profile
from study.runs.rows import EpisodeRow


@dataclass(frozen=True, slots=True)
class RunLabel:
    """What identifies the run that a row belongs to; meanings as in `EpisodeRow`."""

    run_id: str
    condition: str
    arm: str
    seed: int
    policy: str
    step: int = 0


def episode_row(label: RunLabel, law: NoiseLaw, schedule: int, episode: Episode) -> EpisodeRow:
    """The row of an ended episode.

    Args:
        label: the run.
        law: the regime's noise law.
        schedule: the schedule's absolute index.
        episode: ended; grading it does not change it.

    Raises:
        SimulatorError: the episode broke inside the simulator.
    """
    outcome = episode.grade()
    counts = fault_counts(episode.records)
    task = episode.task
    return EpisodeRow(
        run_id=label.run_id,
        condition=label.condition,
        arm=label.arm,
        seed=label.seed,
        step=label.step,
        split=task.pool,
        regime=law.name,
        task=task.task_id,
        schedule=schedule,
        true_success=outcome.true_success,
        observed_reward=float(outcome.observed_reward),
        calls=episode.calls,
        faults_drawn=counts.drawn,
        exposed=counts.effective > 0,
        ended_by=episode.ended_by,
        schedule_seed=episode.schedule_seed,
        budget=task.budget,
        faults_effective=counts.effective,
        faults_recovered=counts.recovered,
        over_budget=episode.ended_by == "budget",
        changed=outcome.changed,
        flipped=outcome.flipped,
        policy=label.policy,
        profile=profile_label(task.profile),
        noise=law.label,
    )


def profile_label(profile: Profile) -> str:
    """Name and digest of the knobs, as recorded with every episode."""
    return f"{profile.name} {profile.digest()}"

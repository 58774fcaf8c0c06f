"""Row types whose fields are register columns, and rows turned into columns. Pure; the files belong to others.

Field names and meanings are those of `prereg_kit.registers.formats`. A row is immutable; a column of nothing but None
that the format calls optional is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One evaluation episode: a row of `prereg.episodes/1`.

    Attributes:
        run_id: the run.
        condition: of the run matrix.
        arm: of the run matrix.
        seed: the run's seed.
        step: optimiser steps before the episode; 0 for a policy that was never trained.
        split: the pool.
        regime: the regime of evaluation.
        task: task id.
        schedule: schedule index, absolute: seed s plays s*K .. s*K+K-1.
        true_success: the grader's verdict, never corrupted.
        observed_reward: 1.0 or 0.0 as reported.
        calls: calls counted, at most `budget`.
        faults_drawn: faults that the schedule gave the calls made.
        exposed: at least one of them took effect.
        ended_by: finish, budget or stopped.
        schedule_seed: 32 hex digits.
        budget: most calls of the task.
        faults_effective: faults that changed a reply.
        faults_recovered: effective faults that were overcome later.
        over_budget: a call beyond the budget ended the episode.
        changed: the world differs from its start.
        flipped: the grade lane lies below q, whether or not it mattered.
        policy: what played.
        profile: name and digest of the knobs.
        noise: law version, p, q, and digest of the weights.
    """

    run_id: str
    condition: str
    arm: str
    seed: int
    step: int
    split: str
    regime: str
    task: str
    schedule: int
    true_success: bool
    observed_reward: float
    calls: int
    faults_drawn: int
    exposed: bool
    ended_by: str
    schedule_seed: str
    budget: int
    faults_effective: int
    faults_recovered: int
    over_budget: bool
    changed: bool
    flipped: bool
    policy: str
    profile: str
    noise: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One training group of G rollouts: a row of `prereg.groups/1`. Lists have G entries in slot order.

    Attributes:
        run_id: the run.
        condition: of the run matrix.
        arm: paired or independent, or a further arm.
        seed: the run's seed.
        step: optimiser steps before the group was sampled.
        row: step * prompts per step + position in the batch.
        task: task id.
        schedule_seeds: one per slot, also where all are equal.
        slots: 0 .. G-1.
        true_outcomes: the grader's verdicts.
        observed_rewards: what the trainer sees.
        all_correct: every true outcome is a success.
        zero_variance: all observed rewards are equal.
        spurious: all true outcomes are equal and the observed rewards are not.
        advantages: what the trainer used, None where there was no trainer.
        importance_weights: sequence weights, None where there were none.
        attempt: the attempt at the run, None outside training.
    """

    run_id: str
    condition: str
    arm: str
    seed: int
    step: int
    row: int
    task: str
    schedule_seeds: tuple[str, ...]
    slots: tuple[int, ...]
    true_outcomes: tuple[bool, ...]
    observed_rewards: tuple[float, ...]
    all_correct: bool
    zero_variance: bool
    spurious: bool
    advantages: tuple[float, ...] | None = None
    importance_weights: tuple[float, ...] | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class GroupFlags:
    """The three flags of a group; see `GroupRow`."""

    all_correct: bool
    zero_variance: bool
    spurious: bool

    @classmethod
    def of(cls, true_outcomes: Sequence[bool], observed_rewards: Sequence[float]) -> GroupFlags:
        """Compare a group's outcomes.

        Args:
            true_outcomes: G truth values.
            observed_rewards: G numbers, compared exactly.
        """
        constant = all(value == observed_rewards[0] for value in observed_rewards)
        agree = all(outcome == true_outcomes[0] for outcome in true_outcomes)
        return cls(all(true_outcomes), constant, agree and not constant)


def columns(rows: Sequence[EpisodeRow] | Sequence[GroupRow]) -> dict[str, list[Any]]:
    """Rows as columns, in the order of the fields; tuples become lists, all-None columns vanish.

    Args:
        rows: at least one row, all of one type.
    """
    table: dict[str, list[Any]] = {}
    for field in fields(rows[0]):
        column = [getattr(row, field.name) for row in rows]
        if all(value is None for value in column):
            continue
        table[field.name] = [list(value) if isinstance(value, tuple) else value for value in column]
    return table

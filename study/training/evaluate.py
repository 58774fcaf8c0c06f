"""Evaluation sets of a run: which episodes, under which schedules, and their rows.

Schedule j of seed s is number s x K + j of the task, shared by both arms and all checkpoints, so that more seeds
mean more schedules. The policy's sampling is keyed by (seed, step, split, regime, task, schedule, turn): the two
arms of a seed differ in their weights and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import evaluation_seed
from study.backoffice.tasks import Task
from study.config import RunConfig
from study.training import seeds
from study.training.environment import REGIME_OF, Session
from study.training.rollout import Limits, Rollout, Wire
from study.training.rows import episode_row

Play = Callable[[Sequence[Rollout]], None]


@dataclass(frozen=True)
class EvaluationSet:
    """Episodes of one split under one regime.

    Attributes:
        split: pool of tasks.
        regime: noise law.
        tasks: the first that many tasks of the pool.
        schedules: per task.
    """

    split: str
    regime: str
    tasks: int
    schedules: int

    @property
    def episodes(self) -> int:
        """How many episodes it has."""
        return self.tasks * self.schedules


def training_regime(condition: str) -> str:
    """The at-training-noise regime of a condition; C0 is looked at under p = .25 (paper, section 5.4)."""
    return "faults_p25" if condition == "C0" else REGIME_OF[condition]


def periodic_sets(run: RunConfig) -> list[EvaluationSet]:
    """Clean, at-training-noise and challenge sets on validation tasks."""
    plan = run.tier.evaluation
    tasks, schedules = plan.validation_tasks, plan.validation_schedules
    return [
        EvaluationSet("validation", "clean", tasks, schedules),
        EvaluationSet("validation", training_regime(run.condition), tasks, schedules),
        EvaluationSet("validation", "challenge", plan.challenge_tasks, 1),
    ]


def final_sets(run: RunConfig) -> list[EvaluationSet]:
    """The five final regimes on test tasks, and the at-training one where it is none of those."""
    plan = run.tier.evaluation
    regimes = ["clean", "faults_p10", "faults_p25", "heldout_p25"]
    if training_regime(run.condition) not in regimes:
        regimes.append(training_regime(run.condition))
    sets = [EvaluationSet("test", regime, plan.test_tasks, plan.test_schedules) for regime in regimes]
    return [*sets, EvaluationSet("test", "challenge", plan.test_tasks, 1)]


def start_sets(run: RunConfig) -> list[EvaluationSet]:
    """The test set at the noise of training, once before training, to measure what was learned."""
    plan = run.tier.evaluation
    return [EvaluationSet("test", training_regime(run.condition), plan.test_tasks, plan.test_schedules)]


class Evaluator:
    """Plays evaluation sets with the current policy.

    Args:
        run: the resolved run.
        wire: the policy's language.
        limits: when a rollout stops.
        task: (split, index) -> task.
        play: plays rollouts to their end.
    """

    def __init__(
        self, run: RunConfig, wire: Wire, limits: Limits, task: Callable[[str, int], Task], play: Play
    ) -> None:
        self._run = run
        self._wire = wire
        self._limits = limits
        self._task = task
        self._play = play

    def rows(self, step: int, sets: Iterable[EvaluationSet]) -> list[dict[str, Any]]:
        """The episodes of some sets, in a fixed order, played in batches across the sets."""
        seats = [
            (one, index, schedule)
            for one in sets
            for index in range(one.tasks)
            for schedule in range(one.schedules)
        ]
        size = self._run.tier.evaluation.batch
        rows: list[dict[str, Any]] = []
        for first in range(0, len(seats), size):
            sessions, rollouts = [], []
            for one, index, schedule in seats[first : first + size]:
                session, rollout = self._begin(step, one, index, self._run.seed * one.schedules + schedule)
                sessions.append(session)
                rollouts.append(rollout)
            self._play(rollouts)
            rows += [
                episode_row(
                    self._run,
                    session,
                    regime_named(one.regime),
                    step=step,
                    schedule=self._run.seed * one.schedules + schedule,
                )
                for session, (one, _, schedule) in zip(sessions, seats[first : first + size], strict=True)
            ]
        return rows

    def _begin(self, step: int, one: EvaluationSet, index: int, schedule: int) -> tuple[Session, Rollout]:
        task = self._task(one.split, index)
        law = compile_law(regime_named(one.regime))
        session = Session(Episode(task, law, evaluation_seed(one.split, task.task_id, schedule)))
        coordinates = ("evaluate", self._run.seed, step, one.split, one.regime, task.task_id, schedule)
        rollout = Rollout(
            session, self._wire, task.request, self._limits, lambda turn: seeds.key(*coordinates, turn)
        )
        return session, rollout


def success(rows: Iterable[dict[str, Any]], split: str, regime: str) -> float | None:
    """Share of true successes of one set, None if it has no episodes."""
    hits = [row["true_success"] for row in rows if row["split"] == split and row["regime"] == regime]
    return sum(hits) / len(hits) if hits else None

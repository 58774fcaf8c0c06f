"""Evaluation sets of a run: which episodes, under which schedules, and their rows.

Schedule j of seed s is number s x K + j of the task, shared by both arms and all checkpoints, so that more seeds
mean more schedules. The policy's sampling is keyed by (seed, step, split, regime, task, schedule, turn): the two
arms of a seed differ in their weights and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import evaluation_seed
from study.backoffice.tasks import Task
from study.config.run_config import RunConfig
from study.evaluation.rows import RunLabel, episode_row
from study.runs.rows import EpisodeRow
from study.training import seeds
from study.training.environment import REGIME_OF, LiveEpisode
from study.training.rollout import Limits, Rollout, Wire

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


class Place(NamedTuple):
    """Which episode: a task by its position in a pool, a regime, an absolute schedule index."""

    split: str
    regime: str
    position: int
    schedule: int


def places(sets: Iterable[EvaluationSet], seed: int) -> list[Place]:
    """Every episode of some sets for a seed, in the order of the rows."""
    return [
        Place(one.split, one.regime, position, seed * one.schedules + schedule)
        for one in sets
        for position in range(one.tasks)
        for schedule in range(one.schedules)
    ]


def sampling_key(seed: int, step: int, regime: str, task: Task, schedule: int, turn: int) -> bytes:
    """The 32 bytes that a turn's tokens are drawn from: of the episode, never of the arm or the schedule seed."""
    return seeds.key("evaluate", seed, step, task.pool, regime, task.task_id, schedule, turn)


def policy_label(run: RunConfig) -> RunLabel:
    """The labels of a run's evaluation rows, at step 0."""
    return RunLabel(run.run_id, run.condition, run.arm, run.seed, f"{run.tier.name}-policy")


class Evaluator:
    """Plays evaluation sets with the current policy.

    Args:
        label: of the rows; its seed chooses schedules and sampling.
        batch: episodes that are played together.
        wire: the policy's language.
        limits: when a rollout stops.
        task: (split, index) -> task.
        play: plays rollouts to their end.
    """

    def __init__(
        self,
        label: RunLabel,
        batch: int,
        wire: Wire,
        limits: Limits,
        task: Callable[[str, int], Task],
        play: Play,
    ) -> None:
        self._label = label
        self._batch = batch
        self._wire = wire
        self._limits = limits
        self._task = task
        self._play = play

    def rows(self, step: int, sets: Iterable[EvaluationSet]) -> list[EpisodeRow]:
        """The episodes of some sets, in a fixed order, played in batches across the sets."""
        wanted = places(sets, self._label.seed)
        return [
            row
            for first in range(0, len(wanted), self._batch)
            for row in self.played(step, wanted[first : first + self._batch])
        ]

    def played(self, step: int, wanted: Sequence[Place]) -> list[EpisodeRow]:
        """The episodes of one batch, in its order."""
        begun = [self._begin(step, place) for place in wanted]
        self._play([rollout for _, rollout in begun])
        label = replace(self._label, step=step)
        rows = []
        for (live, _), place in zip(begun, wanted, strict=True):
            live.outcome()  # an episode that the policy left without finish ends here
            rows.append(episode_row(label, regime_named(place.regime), place.schedule, live.episode))
        return rows

    def _begin(self, step: int, place: Place) -> tuple[LiveEpisode, Rollout]:
        task = self._task(place.split, place.position)
        law = compile_law(regime_named(place.regime))
        live = LiveEpisode(Episode(task, law, evaluation_seed(place.split, task.task_id, place.schedule)))

        def secret(turn: int) -> bytes:
            return sampling_key(self._label.seed, step, place.regime, task, place.schedule, turn)

        return live, Rollout(live, self._wire, task.request, self._limits, secret)


def success(rows: Iterable[dict[str, Any]], split: str, regime: str) -> float | None:
    """Share of true successes of one set, None if it has no episodes."""
    hits = [row["true_success"] for row in rows if row["split"] == split and row["regime"] == regime]
    return sum(hits) / len(hits) if hits else None

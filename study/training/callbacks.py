"""What happens between optimiser steps: evaluate, then save; stop where told; tell the person."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from transformers import TrainerCallback

from study.config.run_config import RunConfig
from study.runs.log import Log
from study.training.divergence import require_weights
from study.training.evaluate import Evaluator, final_sets, periodic_sets, start_sets, success
from study.training.progress import Progress, Tell
from study.training.rows import group_rows
from study.training.trainer import Step


class Recorder:
    """Takes finished batches and evaluations to the log and to the person.

    Args:
        run: the resolved run.
        log: the attempt's log.
        progress: shared with whoever shows it.
        tell: called after each change.
    """

    def __init__(self, run: RunConfig, log: Log, progress: Progress, tell: Tell) -> None:
        self._run = run
        self._log = log
        self._progress = progress
        self._tell = tell
        self.seconds: list[dict[str, float]] = []

    def batch(self, step: Step) -> None:
        """Put one optimiser step's groups on record."""
        rows = group_rows(self._run, step)
        self._log.append("groups", rows)
        self.seconds.append(step.seconds)
        outcomes = [one for row in rows for one in row["true_outcomes"]]
        now = self._progress
        now.step = step.step + 1
        now.reward = sum(step.rewards) / len(step.rewards)
        now.success = sum(outcomes) / len(outcomes)
        now.flat = sum(row["zero_variance"] for row in rows) / len(rows)
        now.note = ""
        self._tell(now)

    def evaluation(self, step: int, rows: list[dict[str, Any]]) -> None:
        """Put one evaluation on record."""
        self._log.append("episodes", rows)
        sets = dict.fromkeys((row["split"], row["regime"]) for row in rows)
        shown = {f"{split} {regime}": success(rows, split, regime) or 0.0 for split, regime in sets}
        self._progress.evaluated.append((step, shown))
        self._progress.note = ""
        self._tell(self._progress)

    def begin(self, note: str) -> None:
        """Say what starts now."""
        self._progress.note = note
        self._tell(self._progress)


class Evaluations(TrainerCallback):
    """Periodic sets at every multiple, start sets at 0, final sets at the run's last step; always before saving.

    Args:
        run: the resolved run.
        evaluator: plays the sets.
        recorder: takes the rows.
        resumed: this attempt continues another, which has evaluated its first step already.
    """

    def __init__(self, run: RunConfig, evaluator: Evaluator, recorder: Recorder, *, resumed: bool) -> None:
        self._run = run
        self._evaluator = evaluator
        self._recorder = recorder
        self._resumed = resumed

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Look at the policy before its first update."""
        if not self._resumed:
            self._at(0, final=False)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Look at the policy after an update."""
        last = state.global_step == self._run.tier.optimisation.steps
        if last or state.global_step % self._run.tier.evaluation.every == 0:
            self._at(state.global_step, final=last)

    def _at(self, step: int, *, final: bool) -> None:
        sets = periodic_sets(self._run)
        if step == 0:
            sets += start_sets(self._run)
        if final:
            sets += final_sets(self._run)
        self._recorder.begin(f"evaluating {sum(one.episodes for one in sets)} episodes")
        self._recorder.evaluation(step, [asdict(row) for row in self._evaluator.rows(step, sets)])


class StopAt(TrainerCallback):
    """Ends training after a number of optimiser steps and has the last one saved.

    Args:
        step: where to stop.
    """

    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save and stop at the last step."""
        if state.global_step >= self._step:
            control.should_save = True
            control.should_training_stop = True


class WeightsWatched(TrainerCallback):
    """Looks at the trainable weights before the first step and after each, before anything is sampled or saved.

    Args:
        model: the PEFT model in training.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def _look(self) -> None:
        require_weights((name, p) for name, p in self._model.named_parameters() if p.requires_grad)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Look at what a checkpoint or a start gave."""
        self._look()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Look at what the update made."""
        self._look()

"""One run from a resolved config to its registers: the joint between TRL and everything that is ours.

Training knows no register file and no command line: it takes a log to append to and a function to tell.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PrinterCallback

from study.config import RunConfig, SmallPolicy
from study.errors import ConfigError
from study.registers import Log
from study.training import checkpoints, delta_rule, step_zero
from study.training.callbacks import Evaluations, Recorder, StopAt
from study.training.dataset import Tasks, dataset
from study.training.environment import environment_class, observed_rewards, session_of
from study.training.evaluate import Evaluator
from study.training.lockstep_player import LockstepPlayer
from study.training.progress import Progress, Tell
from study.training.rollout import Limits, Rollout
from study.training.settings import trl_config
from study.training.trainer import PairedTrainer


@dataclass(frozen=True)
class Assembly:
    """A run put together, ready to train.

    Attributes:
        trainer: the trainer.
        model: the PEFT model.
        wire: text and tokens.
        tasks: the pools.
        recorder: what was timed.
    """

    trainer: Any
    model: Any
    wire: Any
    tasks: Tasks
    recorder: Recorder


class RunTrainer(PairedTrainer):
    """`PairedTrainer` that seals its checkpoints and writes no model card.

    Args:
        config_digest: stands in every checkpoint.
        **rest: see `PairedTrainer`.
    """

    def __init__(self, *, config_digest: str, **rest: Any) -> None:
        self._config_digest = config_digest
        self._writing: Path | None = None
        super().__init__(**rest)

    def _get_output_dir(self, trial: Any) -> str:
        return str(self._writing) if self._writing is not None else str(self.args.output_dir)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        root, step = Path(self.args.output_dir), self.state.global_step
        self._writing = root / f".writing-{secrets.token_hex(4)}"
        self._writing.mkdir(parents=True)
        try:
            transformers.Trainer._save_checkpoint(self, model, trial)
            name = checkpoints.name_of(step)
            checkpoints.seal(self._writing / name, root / name, step, self._config_digest)
            self._writing.rmdir()
        finally:
            self._writing = None


def limits_of(run: RunConfig) -> Limits:
    """When a rollout of this run stops."""
    rollouts, traps = run.tier.rollouts, run.tier.traps
    return Limits(
        rollouts.max_completion,
        rollouts.max_turn_tokens,
        rollouts.max_turns,
        traps.finish_turn,
        traps.overlong_result,
    )


def quiet_process(run: RunConfig) -> None:
    """Settle what a process may do once: one thread for a small policy, and which kernel it binds."""
    if isinstance(run.tier.policy, SmallPolicy):
        torch.set_num_threads(1)
        delta_rule.bind(run.tier.policy.delta_rule)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def assemble_small(
    run: RunConfig,
    start: Path,
    folder: Path,
    log: Log,
    progress: Progress,
    tell: Tell,
    *,
    resumed: bool = False,
) -> Assembly:
    """Put a run of a small policy together.

    Args:
        run: the resolved run.
        start: its step-0 checkpoint.
        folder: the run's folder; checkpoints go below it.
        log: of this attempt.
        progress: shared with `tell`; its `steps` says where to stop.
        tell: called after each change.
        resumed: the attempt continues from a checkpoint.

    Raises:
        ConfigError: the tier is not one for a small policy.
    """
    if run.tier.rollouts.sampler != "lockstep":
        raise ConfigError("not a tier for a small policy", found=run.tier.name)
    quiet_process(run)
    loaded = step_zero.load(run, start)
    wire = step_zero.small_wire(run)
    tasks = Tasks(run)
    limits = limits_of(run)
    rollouts = run.tier.rollouts
    player = LockstepPlayer(loaded.model, rollouts.context, rollouts.temperature)
    recorder = Recorder(run, log, progress, tell)

    def play(fresh: Sequence[Rollout], _: Any) -> None:
        player.play(fresh, trainer.state.global_step)

    def build(environment: Any, request: str, secret: Any) -> Rollout:
        return Rollout(session_of(environment), wire, request, limits, secret)

    trainer = RunTrainer(
        config_digest=run.digest,
        run=run,
        play=play,
        build=build,
        finished=recorder.batch,
        model=loaded.model,
        reward_funcs=observed_rewards,
        args=trl_config(run, folder / "checkpoints"),
        train_dataset=dataset(run, tasks),
        processing_class=wire.tokenizer,
        environment_factory=environment_class(wire_profile(run), tasks.named, run.condition),
    )
    evaluator = Evaluator(
        run, wire, limits, tasks.at, lambda fresh: player.play(fresh, trainer.state.global_step)
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Evaluations(run, evaluator, recorder, resumed=resumed))
    trainer.add_callback(StopAt(progress.steps))
    return Assembly(trainer, loaded.model, wire, tasks, recorder)


def wire_profile(run: RunConfig) -> Any:
    """The simulator profile of a run's world."""
    from study.backoffice.profiles import profile_named

    return profile_named(run.tier.world.profile)


def train(assembly: Assembly, checkpoint: Path | None) -> int:
    """Train until the assembly's last step.

    Args:
        assembly: from `assemble_small`.
        checkpoint: a complete one to continue from, or None.

    Returns:
        Optimiser steps made.
    """
    assembly.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return int(assembly.trainer.state.global_step)

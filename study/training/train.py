"""One run from a resolved config to its registers: the joint between TRL and everything that is ours.

Training knows no register file and no command line: it takes a log to append to and a function to tell.
"""

from __future__ import annotations

import secrets
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
import trl
from transformers import PrinterCallback

from study.backoffice.profile import Profile
from study.backoffice.profiles import profile_named
from study.config.run_config import PretrainedPolicy, RunConfig, SmallPolicy
from study.errors import CannotStartError, ConfigError, DivergedError
from study.runs.log import Log
from study.training import checkpoints, delta_rule, engine, natural, step_zero
from study.training import model as models
from study.training.callbacks import Evaluations, Recorder, StopAt, WeightsWatched
from study.training.dataset import Tasks, dataset
from study.training.divergence import require_finite_state
from study.training.environment import environment_class, live_episode, observed_rewards
from study.training.evaluate import Evaluator, policy_label
from study.training.lockstep_player import LockstepPlayer
from study.training.progress import Progress, Tell
from study.training.rollout import Limits, Rollout
from study.training.settings import trl_arguments
from study.training.trainer import PairedTrainer
from study.training.weight_sync import WeightSync, prefix_of

_GRPOConfig: Any = trl.GRPOConfig  # type: ignore[attr-defined]


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
    """`PairedTrainer` whose checkpoints are complete or not there, and that writes no model card.

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
        require_finite_state(self.optimizer)
        root, step = Path(self.args.output_dir), self.state.global_step
        self._writing = root / f".writing-{secrets.token_hex(4)}"
        self._writing.mkdir(parents=True)
        try:
            with (
                warnings.catch_warnings()
            ):  # PEFT looks for a published config of the base, and ours has none
                warnings.filterwarnings("ignore", message="Could not find a config file")
                transformers.Trainer._save_checkpoint(self, model, trial)
            name = checkpoints.name_of(step)
            checkpoints.finalise(self._writing / name, root / name, step, self._config_digest)
        finally:
            shutil.rmtree(self._writing, ignore_errors=True)  # empty, unless something went wrong
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


@dataclass(frozen=True)
class Parts:
    """What differs between a small policy and the published one.

    Attributes:
        model: the PEFT model to train.
        wire: text and tokens.
        play: plays fresh rollouts with the weights of an optimiser step.
    """

    model: Any
    wire: Any
    play: Callable[[Sequence[Rollout], int], None]


def small_parts(run: RunConfig, start: Path) -> Parts:
    """The parts of a run of a small policy, from its step-0 checkpoint.

    Raises:
        ConfigError: the tier is not one for a small policy.
        StudyError: a step-0 checkpoint that is damaged or another config's.
    """
    if run.tier.rollouts.sampler != "lockstep":
        raise ConfigError("not a tier for a small policy", found=run.tier.name)
    loaded = step_zero.load(run, start)
    rollouts = run.tier.rollouts
    player = LockstepPlayer(loaded.model, rollouts.context, rollouts.temperature)
    return Parts(loaded.model, step_zero.small_wire(run), player.play)


def pretrained_parts(run: RunConfig) -> Parts:
    """The parts of a run of the published model: weights, adapters, engine. Needs a GPU; never run without one.

    Raises:
        ConfigError: the tier is not one for a published model.
        CannotStartError: vllm or the linear-attention kernels are missing.
        StudyError: adapters that cover something else than the tier says.
    """
    policy, traps = run.tier.policy, run.tier.traps
    if not isinstance(policy, PretrainedPolicy):
        raise ConfigError("not a tier for a published model", found=run.tier.name)
    kernels = delta_rule.bound()
    if traps.missing_kernel == "clean" and not kernels["chunk_gated_delta_rule"].startswith("fla."):
        raise CannotStartError(
            "the linear-attention kernels are not bound, so transformers would use a slow path with other numerics",
            expected="fla.*",
            next_step="pip install flash-linear-attention==0.5.2",
        )
    tokenizer = transformers.AutoTokenizer.from_pretrained(policy.name, padding_side="left")
    base = models.CausalLM.from_pretrained(policy.name, dtype=getattr(torch, policy.dtype)).to("cuda")
    model = models.adapt(base, run.tier.lora, run.seed, adapter_seed=traps.adapter_seed)
    models.check_adapter(model, policy.adapter_modules, policy.adapter_coordinates)
    settings = run.tier.rollouts
    llm = engine.start(policy.name, settings, settings.prompts * settings.group_size)
    wire = natural.NaturalWire(tokenizer, run_profile(run), traps.argument_coercion)
    return engine_parts(run, model, wire, llm)


def engine_parts(run: RunConfig, model: Any, wire: Any, llm: Any, **options: Any) -> Parts:
    """Parts that sample through an engine with vllm's interface.

    Args:
        run: the resolved run.
        model: the PEFT model.
        wire: text and tokens.
        llm: the engine.
        **options: for `TurnSampler`.
    """
    traps = run.tier.traps
    inner = engine.model_of(llm)
    sync = WeightSync(model, inner.load_weights, prefix_of(type(inner).__name__), traps.weight_sync)
    sampler = engine.TurnSampler(
        llm, run.tier.rollouts, wire.stop, seeded=traps.sampler_seed == "clean", **options
    )

    def play(rollouts: Sequence[Rollout], step: int) -> None:
        if sync.push(step):
            llm.reset_prefix_cache()
        sampler.play(rollouts)

    return Parts(model, wire, play)


def run_profile(run: RunConfig) -> Profile:
    """The simulator profile of a run's world."""
    return profile_named(run.tier.world.profile)


def assemble(
    run: RunConfig,
    parts: Parts,
    folder: Path,
    log: Log,
    progress: Progress,
    tell: Tell,
    *,
    resumed: bool = False,
    arguments: dict[str, Any] | None = None,
) -> Assembly:
    """Put a run together.

    Args:
        run: the resolved run.
        parts: model, language and player.
        folder: the run's folder; checkpoints go below it.
        log: of this attempt.
        progress: shared with `tell`; its `steps` says where to stop.
        tell: called after each change.
        resumed: the attempt continues from a checkpoint.
        arguments: GRPOConfig's, where they differ from the tier's (tests on a CPU).
    """
    tasks = Tasks(run)
    limits = limits_of(run)
    recorder = Recorder(run, log, progress, tell)

    def build(environment: Any, request: str, secret: Callable[[int], bytes]) -> Rollout:
        return Rollout(live_episode(environment), parts.wire, request, limits, secret)

    trainer: Any = RunTrainer(
        config_digest=run.digest,
        run=run,
        play=lambda fresh, _: parts.play(fresh, trainer.state.global_step),
        build=build,
        finished=recorder.batch,
        model=parts.model,
        reward_funcs=observed_rewards,
        args=_GRPOConfig(**(arguments or trl_arguments(run, folder / "checkpoints"))),
        train_dataset=dataset(run, tasks),
        processing_class=parts.wire.tokenizer,
        environment_factory=environment_class(run_profile(run), tasks.named, run.condition),
    )
    evaluator = Evaluator(
        policy_label(run),
        run.tier.evaluation.batch,
        parts.wire,
        limits,
        tasks.at,
        lambda fresh: parts.play(fresh, trainer.state.global_step),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(WeightsWatched(parts.model))  # before the evaluations, which would sample from them
    trainer.add_callback(Evaluations(run, evaluator, recorder, resumed=resumed))
    trainer.add_callback(StopAt(progress.steps))
    return Assembly(trainer, parts.model, parts.wire, tasks, recorder)


def train(assembly: Assembly, checkpoint: Path | None) -> int:
    """Train until the assembly's last step.

    Args:
        assembly: from `assemble`.
        checkpoint: a complete one to continue from, or None.

    Returns:
        Optimiser steps made.

    Raises:
        DivergedError: with the step, as soon as a number is not finite or beyond `divergence.LARGEST`.
    """
    try:
        assembly.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except DivergedError as error:
        raise error.at(int(assembly.trainer.state.global_step)) from error
    return int(assembly.trainer.state.global_step)

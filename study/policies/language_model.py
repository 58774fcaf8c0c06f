"""A trained policy as a `Policy`: what `study play` and `study evaluate` plug in. Needs torch.

One episode at a time here; whole evaluation sets go through `study.training.evaluate`, which batches them. Both
sample the same way: one uniform number a token, keyed by the episode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from study import run_record
from study.backoffice.calls import Call
from study.backoffice.tasks import Task
from study.config import RunConfig
from study.errors import ConfigError
from study.policies.policy import Agent
from study.training import checkpoints, seeds, step_zero
from study.training.decode import Decoder
from study.training.model import merged
from study.training.tokenizer import CompactWire


@dataclass(frozen=True)
class LanguageModelPolicy:
    """A small policy at one checkpoint.

    Attributes:
        name: register value.
        wire: its language.
        weights: merged weights.
        config: the model's text config.
        limits: (completion tokens, tokens a turn, turns).
        temperature: of the sampled distribution.
    """

    name: str
    wire: CompactWire
    weights: dict[str, Any]
    config: Any
    limits: tuple[int, int, int]
    temperature: float

    def start(self, task: Task, key: str) -> Agent:
        """Begin one episode; the policy reads the request and the replies and nothing else of the task."""
        prompt = self.wire.prompt(task.request)
        completion, most, turns = self.limits
        decoder = Decoder(self.weights, self.config, 1, len(prompt) + completion)
        logits = self._feed(decoder, prompt)
        used = 0
        for turn in range(turns):
            draws = seeds.uniforms(seeds.key("play", key, turn))
            tokens: list[int] = []
            while len(tokens) < most and used < completion:
                token = self._choose(logits, draws)
                tokens.append(token)
                used += 1
                if token in self.wire.stop or used >= completion:
                    break
                logits = self._feed(decoder, [token])
            calls = self.wire.call(tokens)
            if not calls:
                return
            ((name, arguments),) = calls
            reply = yield Call(name, arguments)
            forced = self.wire.result(name, reply.text)
            used += len(forced)
            if used >= completion:
                return
            logits = self._feed(decoder, [tokens[-1], *forced])

    def _feed(self, decoder: Decoder, tokens: list[int]) -> torch.Tensor:
        logits = torch.empty(0)
        for token in tokens:
            logits = decoder.step(torch.tensor([token]))
        return logits[0]

    def _choose(self, logits: torch.Tensor, draws: Iterator[float]) -> int:
        mass = torch.log_softmax(logits / self.temperature, -1).exp().cumsum(-1)
        found = int((mass <= next(draws) * mass[-1]).sum())
        return min(found, len(mass) - 1)


def load(run_folder: Path, step: int, store: Path | None = None) -> LanguageModelPolicy:
    """The policy of a run at a checkpoint; step 0 is the start that both arms share.

    Args:
        run_folder: a run's folder.
        step: optimiser steps.
        store: of step-0 checkpoints; by default `step0` beside the run's folder.

    Raises:
        ConfigError: no complete checkpoint of this step.
        StudyError: a start that is damaged or another config's.
    """
    record = run_record.read(run_folder)
    run = run_record.config_of(record, str(run_folder / "run.json"))
    model = policy_model(run, run_folder, step, store or run_folder.parent / "step0")
    rollouts = run.tier.rollouts
    return LanguageModelPolicy(
        f"{record['run_id']}@{step}",
        step_zero.small_wire(run),
        merged(model),
        model.get_base_model().config,
        (rollouts.max_completion, rollouts.max_turn_tokens, rollouts.max_turns),
        rollouts.temperature,
    )


def policy_model(run: RunConfig, run_folder: Path, step: int, store: Path) -> Any:  # noqa: ANN401
    """The PEFT model of a run at a checkpoint, ready for sampling or for scores."""
    from safetensors.torch import load_file

    loaded = step_zero.load(run, step_zero.build(run, store))
    if step == 0:
        return loaded.model
    found = dict(checkpoints.complete(run_folder / "checkpoints"))
    if step not in found:
        raise ConfigError(
            "no complete checkpoint of this step", expected=f"one of {sorted(found)}", found=step
        )
    state = load_file(found[step] / "adapter_model.safetensors")
    named = {
        name.replace(".lora_A.weight", ".lora_A.default.weight").replace(
            ".lora_B.weight", ".lora_B.default.weight"
        ): tensor
        for name, tensor in state.items()
    }
    step_zero.load_adapter(loaded.model, named)
    return loaded.model

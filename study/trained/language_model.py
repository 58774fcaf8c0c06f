"""A trained policy as a `Policy`: what `study play` plugs in. Needs torch.

One episode at a time here; whole evaluation sets go through `study.training.evaluate`, which batches them. Both
draw one uniform number a token from the same key, so an episode that a register holds can be played again alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from prereg_kit.errors import Where
from study.backoffice.calls import Call
from study.backoffice.tasks import Task
from study.errors import StudyError
from study.policies.policy import Agent
from study.runs import step_zero_record
from study.trained.checkpoint_policy import Checkpoint, Trained
from study.training import seeds, step_zero
from study.training.decode import Decoder, chosen
from study.training.evaluate import sampling_key
from study.training.model import merged
from study.training.tokenizer import CompactWire
from study.training.weights import read_weights


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
        secret: (task, the episode's key, turn) -> the 32 bytes that a turn's tokens are drawn from.
    """

    name: str
    wire: CompactWire
    weights: dict[str, Any]
    config: Any
    limits: tuple[int, int, int]
    temperature: float
    secret: Callable[[Task, str, int], bytes]

    def start(self, task: Task, key: str) -> Agent:
        """Begin one episode; the policy reads the request and the replies and nothing else of the task."""
        prompt = self.wire.prompt(task.request)
        completion, most, turns = self.limits
        decoder = Decoder(self.weights, self.config, 1, len(prompt) + completion)
        logits = self._feed(decoder, prompt)
        used = 0
        for turn in range(turns):
            draws = seeds.uniforms(self.secret(task, key, turn))
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
            forced = self.wire.results([reply.text])
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
        tokens, _ = chosen(logits.unsqueeze(0), torch.tensor([next(draws)]), self.temperature)
        return tokens[0]


def load(found: Trained, checkpoint: Checkpoint, regime: str) -> LanguageModelPolicy:
    """One checkpoint, sampling as it does when it is evaluated under a regime.

    Args:
        found: checkpoints of a run.
        checkpoint: one of them.
        regime: the noise; part of what the tokens of an evaluation episode are drawn from.
    """
    run, step = found.run, checkpoint.step
    model = policy_model(found, checkpoint)
    rollouts = run.tier.rollouts

    def secret(task: Task, key: str, turn: int) -> bytes:
        return sampling_key(run.seed, step, regime, task, int(key.rpartition("/")[2]), turn)

    return LanguageModelPolicy(
        f"{run.run_id}@{step}",
        step_zero.small_wire(run),
        merged(model),
        model.get_base_model().config,
        (rollouts.max_completion, rollouts.max_turn_tokens, rollouts.max_turns),
        rollouts.temperature,
        secret,
    )


def policy_model(found: Trained, checkpoint: Checkpoint) -> Any:
    """The PEFT model of a checkpoint, ready for sampling or for scores.

    Raises:
        StudyError: weights that are damaged, not the recorded ones, or do not fit.
    """
    loaded = step_zero.load(found.run, found.start)
    if step_zero_record.weights_of(loaded.record)[0] != checkpoint.base_sha256:
        raise StudyError("the step-0 checkpoint changed meanwhile", where=Where(file=str(found.start)))
    state = read_weights(checkpoint.adapter, checkpoint.adapter_sha256)
    named = {
        name.replace(".lora_A.weight", ".lora_A.default.weight").replace(
            ".lora_B.weight", ".lora_B.default.weight"
        ): tensor
        for name, tensor in state.items()
    }
    step_zero.load_adapter(loaded.model, named, checkpoint.adapter)
    return loaded.model

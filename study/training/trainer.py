"""TRL's GRPOTrainer with every rollout keyed and every group on record.

Overridden and why: `_generate_and_score_completions` seats each row (slot, schedule seed) before the
environments reset; `_generate` plays whole episodes through our samplers; `_calculate_rewards` refuses a missing
reward; `_compute_loss` leaves out rows whose advantage is exactly zero (their gradient is exactly zero and the
dapo normaliser is fixed beforehand) and pads what remains in length order. Loss, advantages, optimiser and
schedule stay TRL's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import trl
from torch import Tensor

from study.config.run_config import RunConfig
from study.errors import StudyError
from study.theory.advantages import mean_centred, standardised
from study.training import importance, seeds
from study.training.arms import Seat, proven, seat
from study.training.divergence import require
from study.training.passes import cuts
from study.training.rollout import Rollout


@dataclass
class Step:
    """What one generation batch left behind, for the registers and the progress line."""

    step: int
    seats: list[Seat]
    environments: list[Any]
    rollouts: list[Rollout]
    rewards: list[float] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    weights: list[float | None] = field(default_factory=list)
    log_ratios: list[float | None] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


Play = Callable[[Sequence[Rollout], Any], None]
Build = Callable[[Any, str, Callable[[int], bytes]], Rollout]


_GRPOTrainer: Any = trl.GRPOTrainer  # type: ignore[attr-defined]


class PairedTrainer(_GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer whose groups share schedules as the run's arm says.

    Args:
        run: the resolved run.
        play: plays fresh rollouts to their end with the current policy.
        build: (environment, request, secret) -> a fresh rollout.
        finished: called once per optimiser step with what its batch left behind.
        **rest: GRPOTrainer's own arguments.
    """

    def __init__(
        self, *, run: RunConfig, play: Play, build: Build, finished: Callable[[Step], None], **rest: Any
    ) -> None:
        self._run = run
        self._play = play
        self._build = build
        self._finished = finished
        self._now: Step | None = None
        self._rows: list[int] = []
        self._weighing: dict[str, Any] | None = None
        super().__init__(**rest)
        args = self.args
        if args.steps_per_generation != args.gradient_accumulation_steps or self.num_iterations != 1:
            raise StudyError(
                "one optimiser step per generation batch is part of the protocol",
                expected="steps_per_generation = gradient_accumulation_steps and one iteration",
                found=(args.steps_per_generation, args.gradient_accumulation_steps, self.num_iterations),
            )

    # -- generation ------------------------------------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        started = time.perf_counter()
        step, size = self.state.global_step, self.num_generations
        rows = [int(row["row"]) for row in inputs]
        self._check_layout(rows, step)
        seats = [
            seat(self._run.arm, self._run.seed, row, index % size, self._run.block_size)
            for index, row in enumerate(rows)
        ]
        groups = [seats[first : first + size] for first in range(0, len(seats), size)]
        proven(
            self._run.arm,
            [[one.schedule_seed for one in group] for group in groups],
            self._run.block_size,
            [group[0].noisy for group in groups],
        )
        seated = [
            dict(row, rollout_slot=one.slot, schedule_seed=one.schedule_seed, noisy=one.noisy)
            for row, one in zip(inputs, seats, strict=True)
        ]
        self._now = Step(step, seats, [], [])
        self._now.seconds["seats"] = time.perf_counter() - started
        output: dict[str, Any] = super()._generate_and_score_completions(seated)
        now = self._now
        now.advantages = output["advantages"].tolist()
        now.weights = [None] * len(seats)
        now.log_ratios = [None] * len(seats)
        started = time.perf_counter()
        self._check_advantages(now)
        output["row_index"] = torch.arange(len(seats), device=output["advantages"].device)
        # TRL shuffles rows with the global generator right after this; keyed, a resumed run shuffles alike.
        torch.manual_seed(seeds.integer("shuffle", self._run.seed, step))
        now.seconds["checks"] = time.perf_counter() - started
        return output

    def _check_layout(self, rows: list[int], step: int) -> None:
        size, prompts = self.num_generations, self._run.tier.rollouts.prompts
        expected = [step * prompts + index // size for index in range(prompts * size)]
        if rows != expected:
            raise StudyError(
                "the rows of this step are not the ones that belong to it",
                expected=f"rows {expected[0]} to {expected[-1]}, each {size} times in a row",
                found=rows[:16],
            )

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        now = self._current()
        started = time.perf_counter()
        environments = list(self.environments)
        now.environments = environments
        now.rollouts = [
            self._build(environment, prompt[-1]["content"], self._secret(one))
            for environment, prompt, one in zip(environments, prompts, now.seats, strict=True)
        ]
        self._play(now.rollouts, self.model)
        now.seconds["generation"] = time.perf_counter() - started
        self._log_lengths(now.rollouts)
        completions = [
            [{"role": "assistant", "content": f"{rollout.turns} turns"}] for rollout in now.rollouts
        ]
        return (
            [rollout.prompt for rollout in now.rollouts],
            [rollout.ids for rollout in now.rollouts],
            [rollout.mask for rollout in now.rollouts],
            completions,
            [rollout.logps for rollout in now.rollouts],
            {},
            None,
            [],
        )

    def _secret(self, one: Seat) -> Callable[[int], bytes]:
        now, run = self._current(), self._run
        if run.tier.traps.sampler_seed == "paper":  # one seed for everyone: siblings repeat each other
            return lambda turn: seeds.key("sample", run.seed, now.step, one.row, turn)
        return lambda turn: seeds.key("sample", run.seed, now.step, one.row, one.slot, turn)

    def _log_lengths(self, rollouts: list[Rollout]) -> None:
        own = [float(sum(rollout.mask)) for rollout in rollouts]
        metrics = self._metrics["train"]
        self.state.num_input_tokens_seen += int(sum(own)) + sum(len(rollout.prompt) for rollout in rollouts)
        metrics["num_tokens"] = [self.state.num_input_tokens_seen]
        metrics["completions/mean_length"].append(sum(own) / len(own))
        metrics["completions/max_length"].append(max(own))
        metrics["tools/call_frequency"].append(sum(r.turns for r in rollouts) / len(rollouts))

    # -- rewards and advantages ------------------------------------------------------------------------

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Tensor:
        rewards: Tensor = super()._calculate_rewards(*args, **kwargs)
        if torch.isnan(rewards).any():
            raise StudyError(
                "a rollout has no reward, which TRL would drop from its group without a word",
                found=int(torch.isnan(rewards).any(dim=1).sum()),
            )
        self._current().rewards = rewards.sum(dim=1).tolist()
        return rewards

    def _check_advantages(self, now: Step) -> None:
        shape = (-1, self.num_generations)
        rewards = np.asarray(now.rewards, dtype=np.float64).reshape(shape)
        rule = standardised if self._run.scale_rewards == "group" else mean_centred
        gap = np.abs(rule(rewards) - np.asarray(now.advantages).reshape(shape)).max()
        if gap > 1e-5:
            raise StudyError("TRL's advantages are not the formula's", expected="within 1e-5", found=gap)

    # -- loss ------------------------------------------------------------------------------------------

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        started = time.perf_counter()
        kept = torch.nonzero(inputs["advantages"]).squeeze(1)
        if not len(
            kept
        ):  # a graph of zeros, so that the optimiser sees the zero gradient that TRL would give it
            zero: Tensor = sum(
                (p.sum() * 0.0 for p in model.parameters() if p.requires_grad), torch.zeros(())
            )
            return zero
        total: Tensor | None = None
        for part in self._parts(inputs, kept):
            self._weighing = part
            loss = super()._compute_loss(model, part)
            total = loss if total is None else total + loss
        self._weighing = None
        if total is None:
            raise StudyError("no rows to compute a loss on")
        seconds = self._current().seconds
        seconds["forward"] = seconds.get("forward", 0.0) + time.perf_counter() - started
        return total

    def _parts(self, inputs: dict[str, Any], kept: Tensor) -> list[dict[str, Any]]:
        """The kept rows in length order, cut into passes, padding trimmed."""
        lengths = (inputs["prompt_mask"].sum(1) + inputs["completion_mask"].sum(1))[kept]
        order = kept[torch.argsort(lengths, stable=True)]
        parts = []
        for first, last in cuts(torch.sort(lengths).values.tolist()):
            rows = order[first:last]
            part = {
                key: value[rows] if isinstance(value, Tensor) and value.ndim else value
                for key, value in inputs.items()
            }
            left = int((part["prompt_mask"].sum(0) > 0).int().argmax())
            right = int(part["completion_mask"].sum(1).max())
            for key in ("prompt_ids", "prompt_mask"):
                part[key] = part[key][:, left:]
            for key in ("completion_ids", "completion_mask", "tool_mask", "sampling_per_token_logps"):
                if key in part:
                    part[key] = part[key][:, :right]
            parts.append(part)
        return parts

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Any, Any]:
        result: tuple[Tensor, Any, Any] = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        part, self._weighing = self._weighing, None
        if part is None:
            return result
        # On policy the training log-probabilities of this very pass are the "old" ones, so the correction costs no
        # pass of its own. A weight of at least 0 commutes with the clipped objective: it scales the advantage.
        mask = part["completion_mask"] * part["tool_mask"]
        setting = self._run.tier.importance
        weights = importance.weigh(
            result[0].detach(), part["sampling_per_token_logps"], mask, setting.mode, setting.cap
        )
        part["advantages"] = part["advantages"].unsqueeze(1) * weights.factor
        now = self._current()
        for row, weight, ratio in zip(
            part["row_index"].tolist(), weights.row.tolist(), weights.log_ratio.tolist(), strict=True
        ):
            now.weights[row], now.log_ratios[row] = weight, ratio
        self._metrics["train"]["importance/masked"].append(weights.masked)
        self._metrics["train"]["importance/effective"].append(weights.effective)
        return result

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """TRL's, and after the last backward pass of an optimiser step the batch goes on record."""
        started = time.perf_counter()
        loss: Tensor = super().training_step(model, inputs, num_items_in_batch)
        require("loss", float(loss))
        now = self._current()
        now.seconds["step"] = now.seconds.get("step", 0.0) + time.perf_counter() - started
        if self._step % self.args.gradient_accumulation_steps == 0:
            started = time.perf_counter()
            self._finished(now)
            now.seconds["record"] = time.perf_counter() - started
        return loss

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        """The norm before clipping, looked at before the optimiser makes its step with these gradients."""
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        require("gradient norm", float(norm))
        return norm

    def _current(self) -> Step:
        if self._now is None:
            raise StudyError("no generation batch is in progress")
        return self._now

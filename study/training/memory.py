"""How much accelerator memory a run of the full tier needs, part by part, from shapes alone.

An estimate, and said to be one: it counts tensors whose shapes are known and adds a tenth. It was never compared
with a measurement on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from study.config.run_config import PretrainedPolicy, RunConfig
from study.errors import ConfigError

_SLACK = 0.10


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes by part.

    Attributes:
        base: the frozen model.
        adapters: LoRA weights, gradients and both AdamW moments, float32.
        logits: one micro-batch's logits in the model's dtype and float32, with their gradient.
        activations: layer inputs kept by gradient checkpointing, and one layer's inside.
        sampler: what vllm reserves; 0 without an accelerator's size.
    """

    base: int
    adapters: int
    logits: int
    activations: int
    sampler_share: float

    @property
    def training(self) -> int:
        """Bytes of the trainer alone, with slack."""
        return int((self.base + self.adapters + self.logits + self.activations) * (1 + _SLACK))

    @property
    def total(self) -> int:
        """The smallest accelerator on which trainer and sampler fit together."""
        return int(self.training / (1 - self.sampler_share))

    def lines(self) -> list[tuple[str, float]]:
        """(part, GiB) for a table."""
        parts: list[tuple[str, float]] = [
            ("frozen model", self.base),
            ("adapters, gradients, moments", self.adapters),
            ("logits of a micro-batch", self.logits),
            ("activations", self.activations),
            ("trainer with slack", self.training),
            ("accelerator needed", self.total),
        ]
        return [(name, size / 2**30) for name, size in parts]


def plan(run: RunConfig, shape: Any = None) -> MemoryPlan:
    """The plan of a run.

    Args:
        run: of a tier with a pretrained policy.
        shape: its text config; by default Qwen3.5-2B's.

    Raises:
        ConfigError: the tier has a small policy.
    """
    policy = run.tier.policy
    if not isinstance(policy, PretrainedPolicy):
        raise ConfigError("a small policy needs no plan", found=run.tier.name)
    from study.training.model import parameter_count, published_shape

    config = shape or published_shape()
    width = 2 if policy.dtype == "bfloat16" else 4
    rollouts, rows = run.tier.rollouts, run.tier.optimisation.micro_batch
    tokens = rows * rollouts.max_completion
    length = rows * min(rollouts.context, rollouts.max_completion + 2048)
    inside = 3 * config.intermediate_size + 6 * config.hidden_size
    return MemoryPlan(
        base=parameter_count(config) * width,
        adapters=policy.adapter_coordinates * 4 * 4,
        logits=tokens * config.vocab_size * (width + 4 + 4),
        activations=length * width * (config.num_hidden_layers * config.hidden_size + inside),
        sampler_share=rollouts.gpu_memory_share,
    )

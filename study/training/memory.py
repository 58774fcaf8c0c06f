"""How much accelerator memory a run of the full tier needs, part by part, from shapes alone.

An estimate, and said to be one: it counts tensors whose shapes are known and adds a tenth. It was never compared
with a measurement on a GPU; `gpu_check` prints both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from study.config.run_config import Optimisation, PretrainedPolicy, Rollouts, RunConfig
from study.errors import ConfigError
from study.training.passes import CHUNK_TOKENS

_SLACK = 0.10
_HALF, _FLOAT = 2, 4


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes by part.

    Attributes:
        base: the frozen model.
        adapters: LoRA weights, gradients and both AdamW moments, float32.
        logits: what the passes of one micro-batch keep of their logits until the backward pass, and one pass's
            gradients.
        activations: layer inputs kept by gradient checkpointing, and one layer's inside.
        merged_copy: the adapted layers' merged weights, which the clean weight sync makes beside the base; 0 for the
            sync of the paper, which merges in place. Not held together with logits, but counted in full, because
            freed blocks of another size do not always serve.
        sampler_share: the share of the accelerator that vllm reserves, in [0, 1).
    """

    base: int
    adapters: int
    logits: int
    activations: int
    merged_copy: int
    sampler_share: float

    @property
    def training(self) -> int:
        """Bytes of the trainer alone, with slack."""
        parts = self.base + self.adapters + self.logits + self.activations + self.merged_copy
        return int(parts * (1 + _SLACK))

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
            ("merged copy of a weight sync", self.merged_copy),
            ("trainer with slack", self.training),
            ("accelerator needed", self.total),
        ]
        return [(name, size / 2**30) for name, size in parts]


def logit_bytes(rollouts: Rollouts, optimisation: Optimisation, vocabulary: int) -> int:
    """Bytes of the logits of one micro-batch at the longest completions.

    Every completion token keeps its logits in float32 until the backward pass, whichever pass it was in. The
    gradients, in float32 and in the model's half precision, exist for one pass at a time: one row, or several short
    ones of `CHUNK_TOKENS` together.
    """
    kept = optimisation.micro_batch * rollouts.max_completion * _FLOAT
    one_pass = min(
        max(rollouts.max_completion, CHUNK_TOKENS), optimisation.micro_batch * rollouts.max_completion
    )
    return vocabulary * (kept + one_pass * (_FLOAT + _HALF))


def adapted_parameters(run: RunConfig, shape: Any) -> int:
    """Parameters of the linear layers that carry an adapter, counted on the meta device."""
    import torch

    from study.training import model as models

    with torch.device("meta"):
        adapted: Any = models.adapt(models.CausalLM(shape), run.tier.lora, run.seed)
    return sum(p.numel() for name, p in adapted.named_parameters() if name.endswith(".base_layer.weight"))


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
    width = _HALF if policy.dtype == "bfloat16" else _FLOAT
    rollouts, optimisation = run.tier.rollouts, run.tier.optimisation
    length = optimisation.micro_batch * min(rollouts.context, rollouts.max_completion + 2048)
    inside = 3 * config.intermediate_size + 6 * config.hidden_size
    clean = run.tier.traps.weight_sync == "clean"
    return MemoryPlan(
        base=parameter_count(config) * width,
        adapters=policy.adapter_coordinates * 4 * _FLOAT,
        logits=logit_bytes(rollouts, optimisation, config.vocab_size),
        activations=length * width * (config.num_hidden_layers * config.hidden_size + inside),
        merged_copy=adapted_parameters(run, config) * width if clean else 0,
        sampler_share=rollouts.gpu_memory_share,
    )

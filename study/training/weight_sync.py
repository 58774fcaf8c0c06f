"""The weights of the policy in training, pushed to the engine that samples, under the names that it loads.

The model in training is transformers' `Qwen3_5ForCausalLM`: its tensors are called `model.layers.0...`. For the
published checkpoint vllm builds its class with a vision tower, which loads the checkpoint's own names,
`model.language_model.layers.0...`, and refuses all others (TRL issue 5269). The names were checked against the
mapping in vllm's wheel: `tests/study/training/vllm_names`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from study.config.run_config import Choice
from study.errors import StudyError
from study.training.model import merged

_BLOCK = 1 << 24
_OURS = "model."

Load = Callable[[list[tuple[str, Tensor]]], object]

PREFIXES = {"Qwen3_5ForConditionalGeneration": "model.language_model.", "Qwen3_5ForCausalLM": "model."}
"""Class of the engine's model -> what stands in its checkpoints where the model in training has `model.`."""


def prefix_of(engine_class: str) -> str:
    """The prefix of a class of engine model.

    Raises:
        StudyError: a class that was never looked at.
    """
    if engine_class not in PREFIXES:
        raise StudyError(
            "the engine built a model whose parameter names are not known",
            expected=" or ".join(PREFIXES),
            found=engine_class,
            next_step="Read its hf_to_vllm_mapper, and add its prefix to study.training.weight_sync.PREFIXES.",
        )
    return PREFIXES[engine_class]


def engine_name(name: str, prefix: str) -> str:
    """The name under which the engine loads a tensor of the model in training; the output head keeps its own."""
    return prefix + name.removeprefix(_OURS) if name.startswith(_OURS) else name


def checksum(tensors: Iterable[tuple[str, Tensor]]) -> int:
    """A 64-bit checksum of tensors' bits, computed where they lie; one changed bit changes it."""
    total = 0
    for place, (_, tensor) in enumerate(tensors, 1):
        flat = tensor.detach().contiguous().view(-1).view(torch.uint8)
        for first in range(0, flat.numel(), _BLOCK):
            block = flat[first : first + _BLOCK].to(torch.int64)
            weight = torch.arange(first, first + block.numel(), device=block.device) % 1_000_003 + place
            total = (total * 31 + int((block * weight).sum())) % (1 << 64)
    return total


def base_tensors(model: Any) -> list[tuple[str, Tensor]]:
    """The frozen base under a PEFT model, by name."""
    return [
        (name, tensor) for name, tensor in model.get_base_model().state_dict().items() if ".lora_" not in name
    ]


class WeightSync:
    """Pushes the current policy to the sampler, once per optimiser step.

    Args:
        model: the PEFT model in training.
        load: takes (name, tensor) pairs, as `load_weights` of the engine's model does.
        prefix: of the names that it loads, see `prefix_of`.
        mode: `paper` merges and unmerges in place, which rounds the sampler's policy and lets a bf16 base drift
            (trl#6688); `clean` adds out of place and proves after each push that the base is bit for bit the same.

    The bf16 sampler still sees weights rounded to bf16; what `clean` removes is the drift of the base.
    """

    def __init__(self, model: Any, load: Load, prefix: str, mode: Choice) -> None:
        self._model = model
        self._load = load
        self._prefix = prefix
        self._mode = mode
        self._step: int | None = None
        self._base = checksum(base_tensors(model)) if mode == "clean" else 0

    def push(self, step: int) -> bool:
        """Push if this step's weights have not been pushed; True if they were pushed now.

        Raises:
            StudyError: the base changed under `clean`.
        """
        if step == self._step:
            return False
        if self._mode == "paper":
            self._model.merge_adapter()
            try:
                self._give(
                    (name.replace(".base_layer.", "."), tensor) for name, tensor in base_tensors(self._model)
                )
            finally:
                self._model.unmerge_adapter()
        else:
            self._give(merged(self._model).items())
            if checksum(base_tensors(self._model)) != self._base:
                raise StudyError("the frozen base changed during a weight sync")
        self._step = step
        return True

    def _give(self, named: Iterable[tuple[str, Tensor]]) -> None:
        self._load([(engine_name(name, self._prefix), tensor) for name, tensor in named])

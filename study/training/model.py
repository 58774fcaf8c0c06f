"""Policies as models: the small one built here, the published one by name, and the adapters on both.

Everything random is drawn after its own keyed seed, adapters included (trl#6688: a LoRA drawn before `set_seed`
differs between the arms of one seed).
"""

from __future__ import annotations

from typing import Any, cast

import torch
from peft import LoraConfig, PeftModel
from peft import get_peft_model as _get_peft_model
from torch import Tensor, nn
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForCausalLM

from study.config.run_config import Lora, SmallPolicy
from study.errors import StudyError
from study.training import delta_rule, seeds

TextConfig: Any = Qwen3_5TextConfig
CausalLM: Any = Qwen3_5ForCausalLM


def small_config(policy: SmallPolicy, vocabulary: int, positions: int, stop: int, pad: int) -> Any:
    """The Qwen3.5 text config of a small policy: linear and full layers alternate, embeddings are tied."""
    return TextConfig(
        vocab_size=vocabulary,
        hidden_size=policy.hidden,
        intermediate_size=policy.mlp,
        num_hidden_layers=policy.layers,
        num_attention_heads=policy.heads,
        num_key_value_heads=policy.heads,
        head_dim=policy.head_dim,
        linear_num_key_heads=policy.heads,
        linear_num_value_heads=policy.heads,
        linear_key_head_dim=policy.head_dim,
        linear_value_head_dim=policy.head_dim,
        full_attention_interval=policy.full_attention_interval,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": policy.rotary_share,
        },
        initializer_range=policy.initializer_range,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        eos_token_id=stop,
        pad_token_id=pad,
        bos_token_id=None,
    )


def small_model(policy: SmallPolicy, config: Any, seed: int) -> Any:
    """A freshly initialised small policy, float32; the same bytes for the same seed."""
    delta_rule.bind(policy.delta_rule)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("initialise", seed))
        model = CausalLM(config)
    return model.float()


def published_shape() -> Any:
    """The text config of Qwen3.5-2B (24 layers, 18 linear and 6 full), for counting without weights."""
    return TextConfig(
        vocab_size=248320,
        hidden_size=2048,
        intermediate_size=6144,
        num_hidden_layers=24,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=256,
        linear_num_key_heads=16,
        linear_num_value_heads=16,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        full_attention_interval=4,
        tie_word_embeddings=True,
    )


def parameter_count(config: Any) -> int:
    """Parameters of a text model, counted on the meta device without allocating any."""
    with torch.device("meta"):
        return sum(p.numel() for p in CausalLM(config).parameters())


def lora_config(lora: Lora) -> LoraConfig:
    """LoRA on every linear layer of the language model except the output head (PEFT's `all-linear`)."""
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def adapt(model: Any, lora: Lora, seed: int, *, adapter_seed: str = "clean") -> PeftModel:
    """Wrap a model with fresh adapters drawn after their own seed.

    Args:
        model: the base; its parameters are frozen.
        lora: rank, scale, dropout.
        seed: the run's seed.
        adapter_seed: `paper` draws from whatever state the global generator is in, as upstream does.
    """
    if adapter_seed == "paper":
        return cast(PeftModel, _get_peft_model(model, lora_config(lora)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("adapter", seed))
        return cast(PeftModel, _get_peft_model(model, lora_config(lora)))


def adapter_size(model: nn.Module) -> tuple[int, int]:
    """(adapted modules, trainable coordinates)."""
    modules = sum(1 for name, _ in model.named_modules() if name.endswith(".lora_A.default"))
    return modules, sum(p.numel() for p in model.parameters() if p.requires_grad)


def check_adapter(model: nn.Module, modules: int, coordinates: int) -> None:
    """Refuse adapters that cover something else than the language model's linear layers (peft#2267).

    Raises:
        StudyError: the counts differ, or an adapter sits on the vision tower.
    """
    stray = [n for n, p in model.named_parameters() if p.requires_grad and ("visual" in n or "vision" in n)]
    found = adapter_size(model)
    if stray or found != (modules, coordinates):
        raise StudyError(
            "the adapters do not cover the language model's linear layers and nothing else",
            expected=f"{modules} modules, {coordinates:,} coordinates, none on a vision tower",
            found=f"{found[0]} modules, {found[1]:,} coordinates, {len(stray)} vision tensors",
        )


def merged(model: PeftModel) -> dict[str, Tensor]:
    """The policy's weights with the adapters added out of place; the model itself is not touched.

    Returns:
        Parameter name as in the base model -> tensor. Tensors without an adapter are the model's own.
    """
    base = model.get_base_model()
    weights: dict[str, Tensor] = {}
    for name, tensor in base.state_dict().items():
        if ".lora_" not in name:
            weights[name.replace(".base_layer.", ".")] = tensor
    for name, module in base.named_modules():
        if hasattr(module, "lora_A") and "default" in module.lora_A:
            down, up = module.lora_A["default"].weight, module.lora_B["default"].weight
            own = weights[f"{name}.weight"]
            delta = (up.detach().float() @ down.detach().float()) * module.scaling["default"]
            weights[f"{name}.weight"] = (own.float() + delta).to(own.dtype)
    return weights

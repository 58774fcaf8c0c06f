"""One token at a time for many rows at once, on merged weights: the inner loop of the lockstep sampler.

All rows stand at the same position, so one rotary angle, one cache column and no padding serve every row.
The weights are plain tensors taken from a Qwen3.5 text model with any LoRA already added out of place; the
model that trains is never touched. Inference only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from study.training.divergence import require_probabilities


@dataclass
class _Linear:
    """A gated-delta layer's weights and running state."""

    norm: Tensor
    project: Tensor  # rows: qkv, z, b, a
    conv: Tensor  # [kernel, channels]
    rate: Tensor  # -exp(A_log)
    bias: Tensor
    out_norm: Tensor
    out: Tensor
    window: Tensor  # [kernel, rows, channels], the last inputs, oldest first
    memory: Tensor  # [rows * heads, key_dim, value_dim]


@dataclass
class _Full:
    """An attention layer's weights and cache."""

    norm: Tensor
    project: Tensor  # rows: q and gate per head, k, v
    q_norm: Tensor
    k_norm: Tensor
    out: Tensor
    keys: Tensor  # [rows, heads, positions, head_dim]
    values: Tensor


@dataclass
class _Block:
    mixer: _Linear | _Full
    norm: Tensor
    gate_up: Tensor
    down: Tensor


def chosen(logits: Tensor, draws: Tensor, temperature: float) -> tuple[list[int], list[float]]:
    """One token a row, by inverting the distribution at a uniform number.

    Args:
        logits: [rows, vocabulary].
        draws: [rows], uniform numbers in [0, 1).
        temperature: of the distribution.

    Returns:
        The tokens, and their log-probabilities under that distribution.

    Raises:
        DivergedError: a row of logits with a NaN or an infinity; its cumulative mass has no inverse.
    """
    logp = torch.log_softmax(logits / temperature, -1)
    mass = logp.exp().cumsum(-1)
    tokens = (mass <= draws.unsqueeze(1) * mass[:, -1:]).sum(-1).clamp_(max=logp.shape[-1] - 1)
    taken = logp.gather(1, tokens.unsqueeze(1)).squeeze(1).tolist()
    require_probabilities(taken)
    return tokens.tolist(), taken


def _rms(x: Tensor, scale: Tensor, eps: float) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), scale, eps)


class Decoder:
    """Token-by-token forward of a Qwen3.5 text model over rows that advance together.

    Args:
        weights: parameter name -> tensor, as in `Qwen3_5ForCausalLM.state_dict()`, LoRA merged.
        config: the model's text config.
        rows: rows to start with.
        positions: cache columns; `step` may be called that many times.

    The float32 log-probabilities of `step` agree with a full forward of the model to about 5e-6.
    """

    def __init__(self, weights: Mapping[str, Tensor], config: Any, rows: int, positions: int) -> None:
        self._config = config
        self._eps = config.rms_norm_eps
        self._embed = weights["model.embed_tokens.weight"]
        self._head = weights.get("lm_head.weight", self._embed)
        self._norm = 1.0 + weights["model.norm.weight"]
        self._blocks = [
            self._block(weights, f"model.layers.{index}.", kind, rows, positions)
            for index, kind in enumerate(config.layer_types)
        ]
        self.rows = rows
        self.positions = positions
        self.position = 0
        self._angles = self._rotary(positions)

    def _rotary(self, positions: int) -> tuple[Tensor, Tensor]:
        config = self._config
        dim = int(config.head_dim * config.rope_parameters.get("partial_rotary_factor", 1.0))
        theta = config.rope_parameters["rope_theta"]
        frequency = 1.0 / (theta ** (torch.arange(0, dim, 2, dtype=torch.float) / dim))
        angle = torch.arange(positions, dtype=torch.float).unsqueeze(1) * frequency
        angle = torch.cat([angle, angle], -1).to(self._embed.device)
        return angle.cos(), angle.sin()

    def _block(
        self, weights: Mapping[str, Tensor], prefix: str, kind: str, rows: int, positions: int
    ) -> _Block:
        config, like = self._config, self._embed
        norm = 1.0 + weights[prefix + "input_layernorm.weight"]
        mixer: _Linear | _Full
        if kind == "linear_attention":
            at = prefix + "linear_attn."
            heads = config.linear_num_value_heads
            names = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
            conv = weights[at + "conv1d.weight"].squeeze(1).t().contiguous()
            mixer = _Linear(
                norm,
                torch.cat([weights[f"{at}{name}.weight"] for name in names]),
                conv,
                -weights[at + "A_log"].float().exp(),
                weights[at + "dt_bias"],
                weights[at + "norm.weight"],
                weights[at + "out_proj.weight"],
                like.new_zeros(conv.shape[0], rows, conv.shape[1]),
                like.new_zeros(rows * heads, config.linear_key_head_dim, config.linear_value_head_dim),
            )
        else:
            at = prefix + "self_attn."
            shape = (rows, config.num_key_value_heads, positions, config.head_dim)
            mixer = _Full(
                norm,
                torch.cat([weights[f"{at}{name}_proj.weight"] for name in ("q", "k", "v")]),
                1.0 + weights[at + "q_norm.weight"],
                1.0 + weights[at + "k_norm.weight"],
                weights[at + "o_proj.weight"],
                like.new_zeros(shape),
                like.new_zeros(shape),
            )
        mlp = prefix + "mlp."
        return _Block(
            mixer,
            1.0 + weights[prefix + "post_attention_layernorm.weight"],
            torch.cat([weights[mlp + "gate_proj.weight"], weights[mlp + "up_proj.weight"]]),
            weights[mlp + "down_proj.weight"],
        )

    def keep(self, rows: Tensor) -> None:
        """Drop every row but `rows` (int64 indices): finished rollouts stop costing anything."""
        for block in self._blocks:
            mixer = block.mixer
            if isinstance(mixer, _Linear):
                heads = mixer.memory.shape[0] // self.rows
                mixer.window = mixer.window.index_select(1, rows)
                shaped = mixer.memory.view(self.rows, heads, *mixer.memory.shape[1:])
                mixer.memory = shaped.index_select(0, rows).flatten(0, 1)
            else:
                mixer.keys = mixer.keys.index_select(0, rows)
                mixer.values = mixer.values.index_select(0, rows)
        self.rows = len(rows)

    @torch.inference_mode()
    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token to every row; logits of the next, [rows, vocabulary].

        Args:
            tokens: [rows] int64, the token at the current position of each row.
        """
        hidden = functional.embedding(tokens, self._embed)
        for block in self._blocks:
            mixer = block.mixer
            inner = _rms(hidden, mixer.norm, self._eps)
            mixed = self._linear(mixer, inner) if isinstance(mixer, _Linear) else self._full(mixer, inner)
            hidden = hidden + mixed
            gate, up = functional.linear(_rms(hidden, block.norm, self._eps), block.gate_up).chunk(2, -1)
            hidden = hidden + functional.linear(functional.silu(gate) * up, block.down)
        self.position += 1
        return functional.linear(_rms(hidden, self._norm, self._eps), self._head)

    def _linear(self, layer: _Linear, x: Tensor) -> Tensor:
        config, rows = self._config, self.rows
        key_heads, heads = config.linear_num_key_heads, config.linear_num_value_heads
        key_dim, value_dim = config.linear_key_head_dim, config.linear_value_head_dim
        channels = layer.conv.shape[1]
        joined, z, b, a = functional.linear(x, layer.project).split(
            [channels, heads * value_dim, heads, heads], -1
        )
        layer.window = torch.cat([layer.window[1:], joined.unsqueeze(0)])
        mixed = functional.silu((layer.window * layer.conv.unsqueeze(1)).sum(0))
        query_key, value = mixed.split([2 * key_heads * key_dim, heads * value_dim], -1)
        pair = query_key.view(rows, 2, key_heads, key_dim)
        pair = pair * torch.rsqrt((pair * pair).sum(-1, keepdim=True) + 1e-6)
        if heads != key_heads:
            pair = pair.repeat_interleave(heads // key_heads, dim=2)
        query = (pair[:, 0] * key_dim**-0.5).reshape(rows * heads, 1, key_dim)
        key = pair[:, 1].reshape(rows * heads, 1, key_dim)
        value = value.reshape(rows * heads, 1, value_dim)
        fade = (layer.rate * functional.softplus(a + layer.bias)).exp().reshape(-1, 1, 1)
        memory = layer.memory.mul_(fade)
        change = (value - torch.bmm(key, memory)) * b.sigmoid().reshape(-1, 1, 1)
        memory.baddbmm_(key.transpose(1, 2), change)
        out = torch.bmm(query, memory).view(rows, heads, value_dim)
        out = _rms(out, layer.out_norm, self._eps) * functional.silu(z.view(rows, heads, value_dim))
        return functional.linear(out.view(rows, -1), layer.out)

    def _full(self, layer: _Full, x: Tensor) -> Tensor:
        config, rows, at = self._config, self.rows, self.position
        heads, key_heads, dim = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        query_gate, key, value = functional.linear(x, layer.project).split(
            [heads * dim * 2, key_heads * dim, key_heads * dim], -1
        )
        query, gate = query_gate.view(rows, heads, 2 * dim).chunk(2, -1)
        query = self._turn(_rms(query, layer.q_norm, self._eps))
        key = self._turn(_rms(key.view(rows, key_heads, dim), layer.k_norm, self._eps))
        layer.keys[:, :, at] = key
        layer.values[:, :, at] = value.view(rows, key_heads, dim)
        out = functional.scaled_dot_product_attention(
            query.unsqueeze(2),
            layer.keys[:, :, : at + 1],
            layer.values[:, :, : at + 1],
            scale=dim**-0.5,
            enable_gqa=heads != key_heads,
        ).squeeze(2)
        return functional.linear((out * gate.sigmoid()).reshape(rows, -1), layer.out)

    def _turn(self, x: Tensor) -> Tensor:
        cosine, sine = (table[self.position] for table in self._angles)
        width = cosine.shape[-1]
        turned, rest = x[..., :width], x[..., width:]
        first, second = turned.chunk(2, -1)
        swapped = torch.cat([-second, first], -1)
        return torch.cat([turned * cosine + swapped * sine, rest], -1)

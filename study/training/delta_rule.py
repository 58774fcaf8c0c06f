"""The gated delta rule over chunks, with the per-row loop replaced by one unit-triangular solve.

Within a chunk the rule needs T = (I + tril(diag(beta) K K' * decay, -1))^-1 applied to two right-hand sides
(Yang et al., Gated Delta Networks). transformers builds T row by row, 63 small kernels for a chunk of 64;
`torch.linalg.solve_triangular` gives T X directly. On a CPU a chunk of 32 costs least. An accelerator binds
flash-linear-attention instead; `bound` says which rule a process uses, for the run's record.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.qwen3_5 import modeling_qwen3_5 as upstream

CHUNK = 32
STOCK = upstream.torch_chunk_gated_delta_rule


def _unit(x: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


def solved_chunk_gated_delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    g: Tensor,
    beta: Tensor,
    chunk_size: int = CHUNK,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    **_: Any,
) -> tuple[Tensor, Tensor | None]:
    """Drop-in for transformers' `torch_chunk_gated_delta_rule`; agrees with it to 3e-7 in float32.

    Args:
        query: [batch, time, heads, key_dim]; `key` alike.
        key: see query.
        value: [batch, time, heads, value_dim].
        g: [batch, time, heads], log decay, at most 0.
        beta: [batch, time, heads], writing strength in (0, 1).
        chunk_size: rows solved at once.
        initial_state: [batch, heads, key_dim, value_dim] or None for zeros.
        output_final_state: also return the state after the last row.
        use_qk_l2norm_in_kernel: normalise query and key rows first.

    Returns:
        The outputs, [batch, time, heads, value_dim] in the input's dtype, and the final state or None.
    """
    dtype = query.dtype
    if use_qk_l2norm_in_kernel:
        query, key = _unit(query), _unit(key)
    compute = torch.promote_types(dtype, torch.float32)
    query, key, value, beta, g = (
        x.transpose(1, 2).contiguous().to(compute) for x in (query, key, value, beta, g)
    )
    batch, heads, time, key_dim = key.shape
    pad = -time % chunk_size
    if pad:
        query, key, value = (functional.pad(x, (0, 0, 0, pad)) for x in (query, key, value))
        beta, g = functional.pad(beta, (0, pad)), functional.pad(g, (0, pad))
    chunks = (time + pad) // chunk_size
    query = query.mul(key_dim**-0.5).view(batch, heads, chunks, chunk_size, key_dim)
    key = key.view(batch, heads, chunks, chunk_size, key_dim)
    value = value.view(batch, heads, chunks, chunk_size, -1)
    beta = beta.view(batch, heads, chunks, chunk_size, 1)
    g = g.view(batch, heads, chunks, chunk_size).cumsum(-1)

    lower = torch.ones(chunk_size, chunk_size, dtype=torch.bool, device=g.device).tril()
    gap = (g.unsqueeze(-1) - g.unsqueeze(-2)).masked_fill(~lower, float("-inf"))
    decay = gap.exp()
    grown = g.exp().unsqueeze(-1)
    beta_key = key * beta
    system = (beta_key @ key.transpose(-1, -2)) * decay  # only the part below the diagonal is read
    sides = torch.cat([value * beta, beta_key * grown], -1)
    solved = torch.linalg.solve_triangular(system, sides, upper=False, unitriangular=True)
    fresh, faded = solved.split([value.shape[-1], key_dim], -1)
    inner = (query @ key.transpose(-1, -2)) * decay
    query = query * grown
    key = key * (g[..., -1:] - g).exp().unsqueeze(-1)
    last = g[..., -1].exp()[..., None, None]

    state = (
        torch.zeros(batch, heads, key_dim, value.shape[-1], dtype=compute, device=g.device)
        if initial_state is None
        else initial_state.to(compute)
    )
    outputs = []
    for index in range(chunks):
        new = fresh[:, :, index] - faded[:, :, index] @ state
        outputs.append(query[:, :, index] @ state + inner[:, :, index] @ new)
        state = state * last[:, :, index] + key[:, :, index].transpose(-1, -2) @ new
    output = torch.stack(outputs, 2).view(batch, heads, time + pad, -1)[:, :, :time]
    return output.transpose(1, 2).contiguous().to(dtype), state if output_final_state else None


def bind(rule: str) -> None:
    """Choose the process's rule: "solve" (this module) or "stock" (what transformers resolved at import).

    Raises:
        ValueError: another name.
    """
    if rule not in ("solve", "stock"):
        raise ValueError(f"the delta rule is 'solve' or 'stock', not {rule!r}")
    upstream.torch_chunk_gated_delta_rule = solved_chunk_gated_delta_rule if rule == "solve" else STOCK


def bound() -> dict[str, str]:
    """Which implementation each kernel of the linear-attention layers resolves to in this process."""
    names = {
        "chunk_gated_delta_rule": upstream.torch_chunk_gated_delta_rule,
        "recurrent_gated_delta_rule": upstream.torch_recurrent_gated_delta_rule,
        "causal_conv1d": upstream.causal_conv1d_fn,
    }
    return {name: _origin(function) for name, function in names.items()}


def _origin(function: Any) -> str:
    """The module a kernel really comes from: transformers' wrapper hides the package in its closure."""
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if hasattr(function, "__code__") else ()
    inside = dict(zip(names, (cell.cell_contents for cell in cells), strict=True))
    real = inside.get("implementation", function)
    return f"{getattr(real, '__module__', '?')}.{getattr(real, '__qualname__', '?')}"

"""Weights for the gap between the sampler's and the trainer's probabilities of the same tokens.

TRL's modes on a sequence use exp of the *sum* of token differences, whose spread grows with the length of the
episode (trl#5814), so the mean weight and the share masked say more about rounding than about the policy.
`paper` keeps TRL's default (sequence_mask, cap 3, no lower bound); `off`, per-token and per-token geometric
mean are ablations. Whatever the mode, the unmasked log-ratio, the share masked and the effective sample size
are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from study.training.divergence import require

MODES = ("off", "token_mask", "token_truncate", "sequence_mask", "sequence_truncate", "geometric_mask")


@dataclass(frozen=True)
class Weights:
    """Importance weights and what they hide.

    Attributes:
        factor: [rows, 1] or [rows, time], multiplies each row's advantage; ones when off.
        log_ratio: [rows], sum over own tokens of training minus sampling log-probability, before any mask.
        row: [rows], one weight a row for the register: the sequence weight, or the mean over own tokens.
        masked: share of weights set to zero, in [0, 1].
        effective: effective sample size over rows as a share, (sum w)^2 / (n sum w^2), in [0, 1].
    """

    factor: Tensor
    log_ratio: Tensor
    row: Tensor
    masked: float
    effective: float


def weigh(training: Tensor, sampling: Tensor, mask: Tensor, mode: str, cap: float) -> Weights:
    """Importance weights of one batch.

    Args:
        training: [rows, time] log-probabilities under the model being trained, detached.
        sampling: [rows, time] log-probabilities at sampling; NaN where the engine gave none (weight 1).
        mask: [rows, time], 1 on own tokens.
        mode: one of `MODES`.
        cap: weights above it become 0 (`_mask`) or `cap` (`_truncate`).

    Raises:
        ValueError: an unknown mode.
        DivergedError: a row whose mean log-ratio a token is not finite or beyond any rounding.
    """
    if mode not in MODES:
        raise ValueError(f"no importance mode {mode!r}; known: {', '.join(MODES)}")
    own = mask.to(training.dtype)
    known = (mask > 0) & ~torch.isnan(sampling)
    gap = torch.where(known, training - sampling, torch.zeros_like(training))
    total = gap.sum(-1)
    count = own.sum(-1).clamp(min=1.0)
    for ratio_of_row in (total / count).tolist():
        require("importance log-ratio a token", ratio_of_row)
    if mode == "off":
        ones = torch.ones_like(total)
        return Weights(ones.unsqueeze(1), total, ones, 0.0, 1.0)
    if mode.startswith("token"):
        ratio = gap.exp()
    elif mode.startswith("sequence"):
        ratio = total.exp().unsqueeze(1)
    else:
        ratio = (total / count).exp().unsqueeze(1)
    over = ratio > cap
    factor = ratio.masked_fill(over, 0.0) if mode.endswith("_mask") else ratio.clamp(max=cap)
    if factor.shape[1] == 1:
        row, among = factor.squeeze(1), over.float().mean()
    else:
        row = (factor * own).sum(-1) / count
        among = (over.to(own.dtype) * own).sum() / own.sum().clamp(min=1.0)
    square = (row * row).sum()
    size = float(row.sum() ** 2 / (len(row) * square)) if float(square) > 0 else 0.0
    masked = float(among) if mode.endswith("_mask") else 0.0
    return Weights(factor, total, row, masked, size)

"""When training has failed as training: numbers that are not finite, or larger than any sensible run has.

A diverged policy still samples, is still graded and still fills a register, so nothing else notices it. The limits
are far outside what was ever seen (a gradient norm before clipping is below 100, an adapter weight below 10), so
they stop no run that learns. They are part of the code and not of a tier: a run that meets one is over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal

import torch
from torch import Tensor

from study.errors import DivergedError

Quantity = Literal["loss", "gradient norm", "importance log-ratio a token", "adapter weights"]

LARGEST: dict[Quantity, float] = {
    "loss": 1e3,
    "gradient norm": 1e6,  # before clipping
    "importance log-ratio a token": 30.0,  # in nats; mean over the own tokens of a rollout
    "adapter weights": 1e4,
}
"""The largest absolute value of each quantity."""


def require(quantity: Quantity, value: float) -> None:
    """Refuse a value that is not finite or too large.

    Raises:
        DivergedError: it is.
    """
    largest = LARGEST[quantity]
    if not abs(value) <= largest:  # also where the value is NaN
        raise DivergedError(quantity, found=value, limit=_limit(largest))


def require_weights(named: Iterable[tuple[str, Tensor]]) -> None:
    """Refuse trainable tensors with a value that is not finite or too large.

    Raises:
        DivergedError: naming the first such tensor and its largest value.
    """
    largest = LARGEST["adapter weights"]
    for name, tensor in named:
        found = float(tensor.detach().abs().max())  # NaN if any value is
        if not found <= largest:
            raise DivergedError("adapter weights", found=f"{found} in {name}", limit=_limit(largest))


def require_finite_state(optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimiser whose moments are not finite: the next step would spread them to the weights.

    Raises:
        DivergedError: they are not.
    """
    for name, tensor in _moments(optimizer):
        if not bool(torch.isfinite(tensor).all()):
            raise DivergedError("optimiser state", found=name, limit="finite values")


def require_probabilities(logps: Iterable[float]) -> None:
    """Refuse sampled tokens without a finite log-probability: the logits behind them are no distribution.

    Raises:
        DivergedError: there is one.
    """
    for value in logps:
        if not math.isfinite(value):
            raise DivergedError("logits", found=value, limit="finite log-probabilities of sampled tokens")


def _moments(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    for number, state in enumerate(optimizer.state.values()):
        for name, value in state.items():
            if isinstance(value, Tensor):
                yield f"{name} of tensor {number}", value


def _limit(largest: float) -> str:
    return f"finite and at most {largest:g} in size"

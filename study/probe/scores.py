"""The score of one rollout: the gradient of its own tokens' log-probability over the trained coordinates.

S_i = sum_t m_it grad log pi(y_it | prefix), with the mask that training uses: 1 on the policy's own tokens, 0 on the
prompt and on tool results. One forward and backward pass a rollout, no padding. What could go wrong without a word is
held: which tensors receive a gradient (the first pass decides, later ones must agree), that no parameter changed, that
the log-probabilities are those that the sampler drew with, and that every number is finite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.errors import StudyError
from study.probe.double import DoublePrecision, doubled
from study.probe.passes import Scored

Coordinates = Literal["trained", "every"]
SAMPLING_GAP = 1e-2
"""Most by which one token's log-probability in float64 may differ from the float32 sampler's."""


@dataclass(frozen=True)
class Text:
    """One rollout's tokens.

    Attributes:
        prompt: tokens before the policy's first.
        ids: tokens after the prompt.
        mask: 1 for the policy's own tokens, aligned with `ids`.
        logps: log-probabilities at sampling, aligned with `ids`.
    """

    prompt: Sequence[int]
    ids: Sequence[int]
    mask: Sequence[int]
    logps: Sequence[float]


def token_logps(model: Any, tokens: Tensor, temperature: float) -> Tensor:
    """Log-probabilities of tokens 1.. given their prefix, as the trainer defines them: logits over the temperature.

    Args:
        model: the policy.
        tokens: (rows, time) int64; padding on the right changes nothing before it, as the model is causal.
        temperature: of the sampled distribution.

    Returns:
        Shape (rows, time - 1).
    """
    with DoublePrecision():
        logits = model(input_ids=tokens[:, :-1], use_cache=False).logits / temperature
        logps: Tensor = torch.log_softmax(logits, -1).gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)
    return logps


class Scores:
    """Scores of one model.

    Args:
        model: a PEFT model of a checkpoint; it is turned into float64 in place.
        temperature: of the sampled distribution.
        coordinates: `trained` differentiates what training trains (the adapters), `every` all parameters.
    """

    def __init__(self, model: Any, temperature: float, coordinates: Coordinates = "trained") -> None:
        self.model = doubled(model)
        self.temperature = temperature
        if coordinates == "every":
            for parameter in model.parameters():
                parameter.requires_grad_(True)
        self._wanted = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._present: tuple[bool, ...] | None = None
        self._chosen: list[tuple[str, Tensor]] = []
        self._checksum = checksum(model)

    @property
    def chosen(self) -> list[tuple[str, Tensor]]:
        """The tensors that are differentiated, by name, in the order of the coordinates.

        Raises:
            StudyError: no pass has been made that says which ones receive a gradient.
        """
        if self._present is None:
            raise StudyError("which tensors receive a gradient is known after the first pass")
        return self._chosen

    @property
    def coordinates(self) -> int:
        """d, the length of a score."""
        return sum(parameter.numel() for _, parameter in self.chosen)

    @property
    def layout(self) -> str:
        """SHA-256 over names and shapes: equal layouts mean that coordinate j is the same weight."""
        return sha256_bytes(canonical_json([[name, list(p.shape)] for name, p in self.chosen]))

    @property
    def parameters_sha256(self) -> str:
        """SHA-256 over all parameters and buffers, as they were at the start."""
        return self._checksum

    def settle(self, text: Text) -> int:
        """Find by one pass which tensors receive a gradient; d."""
        self._backward(text)
        self._present = tuple(p.grad is not None for _, p in self._wanted)
        self._chosen = [pair for pair, here in zip(self._wanted, self._present, strict=True) if here]
        if not self._chosen:
            raise StudyError("no trained tensor receives a gradient", found=len(self._wanted))
        return self.coordinates

    def write(self, text: Text, row: npt.NDArray[Any]) -> Scored:
        """Write the score of one rollout into `row`, shape (d,).

        Raises:
            StudyError: another pattern of gradients, a number that is not finite, or log-probabilities that are not
                those of the sampler.
        """
        scored = self._backward(text)
        present = tuple(p.grad is not None for _, p in self._wanted)
        if present != self._present:
            wrong = [
                name
                for (name, _), now, then in zip(self._wanted, present, self._present or (), strict=False)
                if now != then
            ]
            raise StudyError(
                "another set of tensors receives a gradient than in the first pass", found=wrong[:3]
            )
        target, at = torch.from_numpy(row), 0
        for _, parameter in self._chosen:
            gradient = parameter.grad
            if gradient is not None:
                target[at : at + gradient.numel()] = gradient.reshape(-1)
            at += parameter.numel()
        if not bool(np.isfinite(row).all()):
            raise StudyError("a score holds a number that is not finite")
        return scored

    def unchanged(self) -> None:
        """Hold the parameters to what they were at the start.

        Raises:
            StudyError: one of them changed.
        """
        if (now := checksum(self.model)) != self._checksum:
            raise StudyError(
                "a parameter changed while scores were taken", expected=self._checksum, found=now
            )

    def _backward(self, text: Text) -> Scored:
        _require_aligned(text)
        for _, parameter in self._wanted:
            parameter.grad = None
        tokens = torch.tensor([[*text.prompt, *text.ids]])
        own = torch.tensor(text.mask, dtype=torch.float64)
        logps = token_logps(self.model, tokens, self.temperature)[0, len(text.prompt) - 1 :]
        (logps * own).sum().backward()
        away = (logps.detach() - torch.tensor(text.logps, dtype=torch.float64)) * own
        gap = float(away.abs().max())
        if not gap <= SAMPLING_GAP:
            raise StudyError(
                "these tokens were sampled from another policy, or the mask is not theirs",
                expected=f"log-probabilities within {SAMPLING_GAP:g} of the sampler's",
                found=gap,
            )
        return Scored(float(away.sum()), gap)


def _require_aligned(text: Text) -> None:
    lengths = (len(text.ids), len(text.mask), len(text.logps))
    if len(set(lengths)) != 1 or not text.prompt or not any(text.mask):
        raise StudyError(
            "not a rollout: tokens, mask and log-probabilities do not match, or it has no own token",
            expected="three lists of one length, a prompt, at least one own token",
            found=(len(text.prompt), *lengths),
        )


def checksum(model: Any) -> str:
    """SHA-256 over the names, types and bytes of all parameters and buffers."""
    digest = hashlib.sha256()
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        array = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()

"""The small policy's player: current weights merged once a step, then lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from study.training import lockstep
from study.training.model import merged
from study.training.rollout import Rollout


class LockstepPlayer:
    """Plays rollouts with the model's weights as they are at a step.

    Args:
        model: the PEFT model in training.
        positions: longest prompt and completion together.
        temperature: of the sampled distribution.
    """

    def __init__(self, model: Any, positions: int, temperature: float) -> None:
        self._model = model
        self._positions = positions
        self._temperature = temperature
        self._step: int | None = None
        self._weights: dict[str, Tensor] = {}

    def play(self, rollouts: Sequence[Rollout], step: int) -> None:
        """Play rollouts to their end.

        Args:
            rollouts: fresh ones.
            step: optimiser steps made; the weights are merged anew when it changes.
        """
        if step != self._step:
            self._weights = merged(self._model)
            self._step = step
        config = self._model.get_base_model().config
        lockstep.play(
            rollouts, self._weights, config, positions=self._positions, temperature=self._temperature
        )

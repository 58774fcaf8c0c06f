"""What a person wants to see of a run in progress. No torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Figures of a run in progress.

    Attributes:
        step: optimiser steps made.
        steps: where this call stops.
        reward: mean observed reward of the last batch.
        success: mean true success of the last batch.
        flat: share of groups without reward variance in the last batch.
        evaluated: (step, success by set) of each evaluation.
        note: what is going on.
    """

    step: int
    steps: int
    reward: float = 0.0
    success: float = 0.0
    flat: float = 0.0
    evaluated: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    note: str = ""


Tell = Callable[[Progress], None]

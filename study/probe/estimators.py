"""The two estimators that the probe reports, and how each turns one unit's rollouts into levers on their scores.

MC   mean-centred advantages, divided by G (Eq. 2): the primary one
SW   standardised advantages times sequence importance weights, divided by a token count that is fixed for the
     checkpoint: the mean number of own tokens of a group. It leaves out clipping and the optimiser (Appendix F).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt

from study.theory.advantages import DDOF, EPS, MeanCentred, Rule, Standardised

Array = npt.NDArray[np.float64]
Name = Literal["MC", "SW"]
NAMES: tuple[Name, ...] = ("MC", "SW")


def rule_of(name: Name, eps: float = EPS, ddof: int = DDOF) -> Rule:
    """The advantage rule of an estimator; eps and ddof matter to SW alone."""
    match name:
        case "MC":
            return MeanCentred()
        case "SW":
            return Standardised(eps, ddof)
        case _:
            assert_never(name)


def sequence_weights(log_ratios: npt.ArrayLike, tokens: npt.ArrayLike, mode: str, cap: float) -> Array:
    """Importance weights of whole sequences, as `study.training.importance` makes them.

    Args:
        log_ratios: sum over own tokens of training minus sampling log-probability, any shape.
        tokens: own tokens, the same shape; only `geometric_mask` looks at them.
        mode: off, sequence_mask, sequence_truncate or geometric_mask.
        cap: weights above it become 0 (`_mask`) or `cap` (`_truncate`).
    """
    total = np.asarray(log_ratios, dtype=np.float64)
    if mode == "off":
        return np.ones_like(total)
    if mode == "geometric_mask":
        total = total / np.maximum(np.asarray(tokens, dtype=np.float64), 1.0)
    ratio = np.exp(total)
    weights: Array = (
        np.minimum(ratio, cap) if mode.endswith("_truncate") else np.where(ratio > cap, 0.0, ratio)
    )
    return weights


@dataclass(frozen=True)
class Scale:
    """What multiplies and divides a unit's scores under one estimator.

    Attributes:
        name: the estimator.
        weights: one per rollout, shape (units, rows); ones for MC.
        divisor: G, or the mean number of own tokens of a group.
    """

    name: Name
    weights: Array
    divisor: float


def scales(log_ratios: Array, tokens: Array, size: int, mode: str, cap: float) -> dict[Name, Scale]:
    """Both estimators' scales.

    Args:
        log_ratios: shape (units, rows).
        tokens: own tokens, the same shape.
        size: G.
        mode: how weights are made.
        cap: their cap.
    """
    return {
        "MC": Scale("MC", np.ones_like(log_ratios), float(size)),
        "SW": Scale("SW", sequence_weights(log_ratios, tokens, mode, cap), mean_tokens(tokens, size)),
    }


def mean_tokens(tokens: npt.ArrayLike, size: int) -> float:
    """The mean number of own tokens of a group of G: the divisor of SW, known before any gradient."""
    return float(np.mean(np.asarray(tokens, dtype=np.float64))) * size

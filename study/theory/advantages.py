"""Rewards of a group -> advantages. The one place that states the formula, for trainer and probe.

The standardised rule is TRL's: (R_i - mean R) / (sd(R) + eps), the standard deviation with ddof = 1 and eps =
1e-4 *added* to it. It is the only convention that reproduces the digits of Appendix A.1: ddof = 0 gives
0.008061 / 0.022541 where the paper prints 0.007053 / 0.019724. A group without reward variance gets zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.conditions import Array

EPS = 1e-4
DDOF = 1


def mean_centred(rewards: npt.ArrayLike) -> Array:
    """R_i - mean R within each group (Eq. 2).

    Args:
        rewards: shape (..., G), G >= 2, finite; the last axis is the group.

    Returns:
        Advantages, float64, the same shape; exactly 0 in a group whose rewards are all equal.

    Raises:
        TheoryError: a group of one, an empty group, or a reward that is not finite.
    """
    values = conditions.rewards(rewards)
    centred: Array = values - values.mean(axis=-1, keepdims=True)
    advantages: Array = np.where(_constant(values), 0.0, centred)
    return advantages


def leave_one_out(rewards: npt.ArrayLike) -> Array:
    """R_i minus the mean of its siblings, which is G/(G-1) times the mean-centred advantage (Section 4.1)."""
    values = conditions.rewards(rewards)
    size = values.shape[-1]
    advantages: Array = mean_centred(values) * (size / (size - 1))
    return advantages


def standardised(rewards: npt.ArrayLike, eps: float = EPS, ddof: int = DDOF) -> Array:
    """(R_i - mean R) / (sd(R) + eps) within each group; zeros where the group has no variance.

    Args:
        rewards: shape (..., G), G >= 2, finite; the last axis is the group.
        eps: added to the standard deviation, at least 0.
        ddof: 0 or 1, the standard deviation's delta degrees of freedom.

    Returns:
        Advantages, float64, the same shape.

    Raises:
        TheoryError: a group of one, an empty group, a reward that is not finite, an eps or ddof out of range.
    """
    values = conditions.rewards(rewards)
    _check_scale(eps, ddof)
    centred = values - values.mean(axis=-1, keepdims=True)
    constant = _constant(values)
    scale = values.std(axis=-1, ddof=ddof, keepdims=True) + eps
    advantages: Array = np.where(constant, 0.0, centred / np.where(constant, 1.0, scale))
    return advantages


def _constant(values: Array) -> npt.NDArray[np.bool_]:
    # Rounding in the mean of equal rewards would leave advantages of 1e-13 after the division by eps.
    same: npt.NDArray[np.bool_] = (values == values[..., :1]).all(axis=-1, keepdims=True)
    return same


def _check_scale(eps: float, ddof: int) -> None:
    if not (np.isfinite(eps) and eps >= 0):
        raise TheoryError(
            "not an eps", where=Where(field="eps"), expected="a number of at least 0", found=eps
        )
    conditions.whole(ddof, "ddof", 0, 1)


class Rule(Protocol):
    """An advantage rule, seen twice: on rewards, and as its contrast when m of G rewards are 1.

    With binary rewards every rule here gives A = d(m) (R - m/G): one number per m, the *contrast* between a
    rewarded and an unrewarded rollout.
    """

    @property
    def name(self) -> str:
        """A short name for tables and JSON."""

    def __hash__(self) -> int:
        """Rules are values: equal settings are one rule, so that work can be remembered by rule."""

    def advantages(self, rewards: npt.ArrayLike) -> Array:
        """Advantages of rewards of shape (..., G)."""

    def contrast(self, size: int) -> Array:
        """d(0), ..., d(G): shape (G+1,)."""


@dataclass(frozen=True)
class MeanCentred:
    """R_i - mean R; the contrast is 1 whatever m."""

    name: str = "mean-centred"

    def advantages(self, rewards: npt.ArrayLike) -> Array:
        """See `mean_centred`."""
        return mean_centred(rewards)

    def contrast(self, size: int) -> Array:
        """Ones, shape (G+1,)."""
        return np.ones(conditions.group_size(size) + 1)


@dataclass(frozen=True)
class LeaveOneOut:
    """The unbiased form of Section 4.1; the contrast is G/(G-1) whatever m."""

    name: str = "leave-one-out"

    def advantages(self, rewards: npt.ArrayLike) -> Array:
        """See `leave_one_out`."""
        return leave_one_out(rewards)

    def contrast(self, size: int) -> Array:
        """G/(G-1), shape (G+1,)."""
        return np.full(conditions.group_size(size) + 1, size / (size - 1))


@dataclass(frozen=True)
class Standardised:
    """(R_i - mean R) / (sd(R) + eps); the contrast is 1/(sd(m) + eps), and 0 at m = 0 and m = G."""

    eps: float = EPS
    ddof: int = DDOF
    name: str = "standardised"

    def __post_init__(self) -> None:
        _check_scale(self.eps, self.ddof)

    def advantages(self, rewards: npt.ArrayLike) -> Array:
        """See `standardised`."""
        return standardised(rewards, self.eps, self.ddof)

    def contrast(self, size: int) -> Array:
        """1/(sqrt(m(G-m) / (G(G-ddof))) + eps) for 0 < m < G, shape (G+1,)."""
        conditions.group_size(size)
        rewarded = np.arange(size + 1.0)
        deviation = np.sqrt(rewarded * (size - rewarded) / (size * (size - self.ddof)))
        varies = deviation > 0
        return np.where(varies, 1.0 / np.where(varies, deviation + self.eps, 1.0), 0.0)

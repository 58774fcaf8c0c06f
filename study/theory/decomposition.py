"""Pooled covariance of group gradients = the part owed to the noise + the part owed to the clean groups.

With clean groups j of probability p_j, mask moments (m_j, t_j) and conditional means gbar_j = E[g | j]:

    Tr Var(g) = sum p_j t_j  +  sum p_j ||gbar_j||^2 - || sum p_j gbar_j ||^2
                 mask part      between-group part

The between-group part holds policy-sampling variability as well as differences of tasks (Section 6.5).
Under grader flips gbar_j = length_j g_c,j, so its last term needs one running vector, never the n gradients
at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.closed_forms import FlipMoments, Moments
from study.theory.conditions import Array


@dataclass(frozen=True)
class Decomposition:
    """A pooled trace in two parts, in squared score units.

    Attributes:
        mask: average conditional trace over groups.
        between: variance of the conditional means over groups, with the 1/n (population) convention.
        mean_square: squared norm of the overall mean gradient.
    """

    mask: float
    between: float
    mean_square: float

    @property
    def trace(self) -> float:
        """Tr Var(g), both parts."""
        return self.mask + self.between

    @property
    def mask_share(self) -> float | None:
        """Mask part over the trace; None where nothing varies."""
        return self.mask / self.trace if self.trace > 0 else None


def decompose(
    moments: Sequence[Moments], mean_square: float, probabilities: npt.ArrayLike | None = None
) -> Decomposition:
    """Pool the conditional moments of several clean groups.

    Args:
        moments: conditional moments of each clean group under one design.
        mean_square: || sum p_j gbar_j ||^2; see `mean_gradient`.
        probabilities: p_j, equal unless given.

    Raises:
        TheoryError: no group, probabilities that do not match, or a mean longer than the conditional means
        allow.
    """
    law = _law(len(moments), probabilities)
    mask = float(law @ np.array([one.trace for one in moments]))
    within = float(law @ np.array([one.mean_square for one in moments]))
    if not -1e-12 * within <= mean_square <= within * (1 + 1e-9):
        raise TheoryError(
            "the mean gradient does not fit the conditional means",
            where=Where(field="mean_square"),
            expected=f"a number in [0, {within!r}]",
            found=mean_square,
        )
    return Decomposition(mask, max(0.0, within - mean_square), mean_square)


def mean_gradient(
    clean: npt.ArrayLike, moments: Sequence[FlipMoments], probabilities: npt.ArrayLike | None = None
) -> Array:
    """Sum of p_j length_j g_c,j: the design's overall mean gradient from the clean gradients, shape (d,).

    Args:
        clean: g_c,j, shape (n, d), with the divisor and the weights of the geometries.
        moments: the flip moments of the same groups.
        probabilities: p_j, equal unless given.

    Raises:
        TheoryError: shapes that do not match.
    """
    law = _law(len(moments), probabilities)
    gradients = conditions.numbers(clean, "clean gradients", 2)
    if gradients.shape[0] != law.size:
        raise TheoryError(
            "does not match the groups",
            where=Where(field="clean gradients"),
            expected=f"{law.size} rows",
            found=gradients.shape,
        )
    mean: Array = (law * np.array([one.length for one in moments])) @ gradients
    return mean


def _law(groups: int, probabilities: npt.ArrayLike | None) -> Array:
    if groups == 0:
        raise TheoryError("no group", where=Where(field="moments"), expected="at least one", found=0)
    if probabilities is None:
        return np.full(groups, 1.0 / groups)
    return conditions.distribution(probabilities, "probabilities", groups)

"""How far the scores of a policy point where its rewards do, measured on clean groups.

The map of `study.theory.alignment` has scores S_i = sqrt(a) (r_i - p)/sqrt(p(1-p)) u + sqrt(1-a) e_i. There the
difference D of a group's mean successful and mean failed score has E||D||^2 = a/(p(1-p)) + (1-a) (1/k + 1/(G-k)),
and scores of one outcome scatter with variance 1-a about their mean. Both are read off the Gram matrix without bias:

    W  the scatter within an outcome, pooled over groups by degrees of freedom
    X  the mean over groups of k(G-k)/(G(G-1)) (||D||^2 - W_j (1/k + 1/(G-k))), 0 where a group is not mixed

k(G-k)/(G(G-1)) estimates p(1-p) without bias, task by task, so a pool of tasks with different p needs no common one.
The alignment is X/(X+W). It looks at neither side of Eq. 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Alignment:
    """Measured alignment.

    Attributes:
        value: in [0, 1]; None where no score varies, or no group is mixed.
        unclipped: X/(X+W) before it is held to [0, 1]; below 0 where chance made outcomes look closer than siblings.
        success_rate: of all rollouts.
        mixed: groups with both outcomes.
    """

    value: float | None
    unclipped: float | None
    success_rate: float
    mixed: int


def measured(grams: npt.ArrayLike, successes: npt.ArrayLike) -> Alignment:
    """Alignment of the scores of several groups.

    Args:
        grams: K of each group, shape (n, G, G), G >= 3.
        successes: zeros and ones, shape (n, G).
    """
    products, outcomes = np.asarray(grams, dtype=np.float64), np.asarray(successes, dtype=np.float64)
    size = outcomes.shape[1]
    scatter = freedom = along = 0.0
    mixed = 0
    for gram, outcome in zip(products, outcomes, strict=True):
        k = int(outcome.sum())
        squares = 0.0
        for members in (np.flatnonzero(outcome == 1.0), np.flatnonzero(outcome == 0.0)):
            if members.size:
                block = gram[np.ix_(members, members)]
                squares += float(np.trace(block) - block.sum() / members.size)
        degrees = size - (2 if 0 < k < size else 1)
        scatter, freedom = scatter + squares, freedom + degrees
        if 0 < k < size:
            mixed += 1
            lever = outcome / k - (1.0 - outcome) / (size - k)
            within = squares / degrees if degrees else 0.0
            apart = float(lever @ gram @ lever) - within * (1.0 / k + 1.0 / (size - k))
            along += k * (size - k) / (size * (size - 1.0)) * apart
    rate = float(outcomes.mean())
    inside = scatter / freedom if freedom else 0.0
    across = along / len(products)
    if not mixed or across + inside <= 0:
        return Alignment(None, None, rate, mixed)
    share = across / (across + inside)
    return Alignment(min(1.0, max(0.0, share)), share, rate, mixed)

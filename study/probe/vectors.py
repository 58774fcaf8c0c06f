"""Which weighted sums of gradients a probe keeps, so that traces over all units follow from inner products.

Within-unit Gram matrices cannot say how the mean gradients of two units relate. So every unit contributes a few sums
over its own rollouts, the *channels*; all levers are known before the gradients are. `each` keeps every unit's
channels and their Gram matrix, which serves any flip rate and any resampling of units. `running` keeps only their
totals, for widths at which nothing else fits, and serves the registered settings alone.

    outcome, each       the clean gradient under MC, under SW
    outcome, running    the clean gradient under MC; the mean update under SW, separate flips; the same, shared flips
    transition          the mean gradient: (paired, with replacement, stratified) x (MC, SW)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from study.probe.estimators import NAMES, Name, Scale, rule_of
from study.probe.evidence import Vectors
from study.theory.closed_forms import coefficients
from study.theory.designs import Independent, Paired

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer]

COMPARED = ("paired", "with_replacement", "stratified")
MOST_EACH = 1 << 29
"""Bytes of running vectors up to which every unit's are kept."""


def kept(units: int, channels: int, width: int) -> Vectors:
    """Whether every unit's channels fit, or only their totals."""
    return "each" if units * channels * width * 8 <= MOST_EACH else "running"


def outcome_levers(
    successes: npt.ArrayLike, scales: Mapping[Name, Scale], unit: int, vectors: Vectors, flip_rate: float
) -> Array:
    """Levers of one clean group, shape (channels, G).

    Args:
        successes: true outcomes, shape (G,).
        scales: of both estimators.
        unit: which row of the scales.
        vectors: `each` or `running`.
        flip_rate: q of the registered setting; `running` alone uses it.
    """
    outcome = np.asarray(successes, dtype=np.float64)
    size, k = outcome.size, int(outcome.sum())
    clean = {name: (outcome - k / size) * scales[name].weights[unit] / scales[name].divisor for name in NAMES}
    if vectors == "each":
        return np.stack([clean["MC"], clean["SW"]])
    rule = rule_of("SW")
    lengths = [coefficients(k, size, flip_rate, design, rule).length for design in (Independent(), Paired())]
    return np.stack([clean["MC"], *(length * clean["SW"] for length in lengths)])


def paired_rows(schedules: int, samples: int) -> Rows:
    """The rows of the paired groups of a task, shape (schedules, G)."""
    return np.arange(schedules * samples).reshape(schedules, samples)


def group_levers(rewards: npt.ArrayLike, rows: Rows, scale: Scale, unit: int) -> Array:
    """Levers of groups that are chosen from one task's rollouts: A_i w_i / D, shape (groups, G).

    Args:
        rewards: of the task's rollouts, shape (rows,).
        rows: which rollouts each group holds, shape (groups, G).
        scale: of the estimator.
        unit: which row of the scale.
    """
    values = np.asarray(rewards, dtype=np.float64)[rows]
    levers: Array = rule_of(scale.name).advantages(values) * scale.weights[unit][rows] / scale.divisor
    return levers


def spread(levers: Array, rows: Rows, count: int) -> Array:
    """The mean over groups of their levers, laid on the task's rollouts: shape (count,)."""
    total = np.zeros(count)
    np.add.at(total, rows, levers)
    return total / len(rows)


def transition_levers(
    rewards: npt.ArrayLike, groups: Mapping[str, Rows], scales: Mapping[Name, Scale], unit: int
) -> Array:
    """Levers of one task's mean gradients, shape (6, rows): designs as in `COMPARED`, MC before SW within each."""
    count = np.asarray(rewards).size
    return np.stack(
        [
            spread(group_levers(rewards, groups[design], scales[name], unit), groups[design], count)
            for design in COMPARED
            for name in NAMES
        ]
    )

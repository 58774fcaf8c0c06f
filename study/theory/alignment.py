"""Where pairing helps and where it hurts, over score alignment and success rate: a map in closed form.

A family of policies between the two regimes of Section 4.3. Trajectory i succeeds with probability p and
has score

    S_i = sqrt(a) (r_i - p)/sqrt(p(1-p)) u  +  sqrt(1-a) e_i,       e_i orthonormal, orthogonal to u

so that E S = 0 and E||S||^2 = 1 whatever a. The alignment a is the share of the score's energy that lies
along the reward direction u: a = 0 is the orthogonal regime, a = 1 the scalar bandit. In between, with k
successes,

    L_k = a (k(G-k)/G)^2 / (G^2 p(1-p)) + (1-a) k(G-k)/G^3
    R_k = a k (1-k/G)^2 / (G^2 p(1-p))  + (1-a) k(G-1)/G^3

and L = R is one alignment per success rate: below it pairing helps, above it hurts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.advantages import MeanCentred, Rule
from study.theory.closed_forms import coefficients
from study.theory.conditions import Array
from study.theory.designs import Independent, Paired, binomial
from study.theory.geometry import Geometry


@dataclass(frozen=True)
class Policy:
    """One policy of the family.

    Attributes:
        size: G >= 2.
        success_rate: p, strictly between 0 and 1.
        alignment: a in [0, 1].
    """

    size: int
    success_rate: float
    alignment: float

    def __post_init__(self) -> None:
        conditions.group_size(self.size)
        conditions.probability(self.alignment, "alignment")
        if not 0.0 < conditions.probability(self.success_rate, "success rate") < 1.0:
            raise TheoryError(
                "no contrast to align with",
                where=Where(field="success rate"),
                expected="strictly between 0 and 1",
                found=self.success_rate,
            )

    def geometries(self) -> list[Geometry]:
        """L_k and R_k for k = 0..G, in units of E||S||^2."""
        size, p, a = self.size, self.success_rate, self.alignment
        found = []
        for k in range(size + 1):
            along = k * (size - k) / size
            left = a * along**2 / (size**2 * p * (1 - p)) + (1 - a) * along / size**2
            right = a * along * (1 - k / size) / (size**2 * p * (1 - p)) + (1 - a) * k * (size - 1) / size**3
            found.append(Geometry(size, k, left if k > 1 else right, right))
        return found

    def scores(self, outcome: npt.ArrayLike) -> Array:
        """Scores of a group with these outcomes, shape (G, G+1): u first, then the orthonormal e_i."""
        values = conditions.successes(outcome, self.size)
        p, a = self.success_rate, self.alignment
        along = np.sqrt(a) * (values - p) / np.sqrt(p * (1 - p))
        return np.column_stack([along, np.sqrt(1 - a) * np.eye(self.size)])


@dataclass(frozen=True)
class Ratios:
    """Paired over independent at one point of the map; below 1 pairing helps.

    Attributes:
        mask: ratio of the mask variances (L/R for mean-centred advantages).
        total: ratio of the whole traces, between-group part included.
    """

    mask: float
    total: float


def ratios(policy: Policy, flip_rate: float, rule: Rule | None = None) -> Ratios:
    """Both ratios for one policy under grader flips.

    Args:
        policy: the point of the map.
        flip_rate: q, strictly between 0 and 1.
        rule: the advantage rule; mean-centred unless given.

    Raises:
        TheoryError: q = 0 or q = 1, where the designs tie.
    """
    mask, total = grid([policy.success_rate], [policy.alignment], policy.size, flip_rate, rule)
    return Ratios(float(mask[0, 0]), float(total[0, 0]))


def boundary(size: int, success_rate: float) -> float:
    """The alignment at which L = R: pairing lowers the mean-centred trace below it and raises it above.

    L - R is linear in a, negative at a = 0 (for G >= 2) and positive at a = 1 if the successes agree there.

    Args:
        size: G >= 2.
        success_rate: p, strictly between 0 and 1.

    Returns:
        a in (0, 1], or 1 where pairing helps at every alignment.
    """
    difference = []
    for alignment in (0.0, 1.0):
        policy = Policy(size, success_rate, alignment)
        law = binomial(size, success_rate)
        difference.append(sum(c * (g.left - g.right) for c, g in zip(law, policy.geometries(), strict=True)))
    orthogonal, aligned = difference
    if aligned <= 0.0:
        return 1.0
    return float(orthogonal / (orthogonal - aligned))


def grid(
    success_rates: npt.ArrayLike,
    alignments: npt.ArrayLike,
    size: int,
    flip_rate: float,
    rule: Rule | None = None,
) -> tuple[Array, Array]:
    """Mask and total ratios over a grid, each of shape (alignments, success rates).

    Args:
        success_rates: p, each strictly between 0 and 1.
        alignments: a, each in [0, 1].
        size: G >= 2.
        flip_rate: q, strictly between 0 and 1.
        rule: the advantage rule; mean-centred unless given.

    Raises:
        TheoryError: an argument out of range.
    """
    rate = conditions.probability(flip_rate, "flip rate")
    if rate in (0.0, 1.0):
        raise TheoryError(
            "the designs tie", where=Where(field="flip rate"), expected="strictly between 0 and 1", found=rate
        )
    chosen = rule if rule is not None else MeanCentred()
    heights = conditions.probabilities(alignments, "alignments")
    columns = [
        _column(size, float(p), heights, rate, chosen)
        for p in conditions.probabilities(success_rates, "success rates")
    ]
    return np.stack([mask for mask, _ in columns], axis=1), np.stack([total for _, total in columns], axis=1)


def _column(size: int, p: float, alignments: Array, rate: float, rule: Rule) -> tuple[Array, Array]:
    """The ratios at one success rate; L and R are linear in the alignment, so its two ends suffice."""
    law = binomial(size, p)
    ends = [Policy(size, p, end).geometries() for end in (0.0, 1.0)]
    mix = np.stack([1.0 - alignments, alignments])
    left = np.array([[group.left for group in end] for end in ends]).T @ mix
    apart = np.array([[group.dispersion for group in end] for end in ends]).T @ mix
    masks, totals = [], []
    for design in (Paired(), Independent()):
        parts = [coefficients(k, size, rate, design, rule) for k in range(size + 1)]
        length = np.array([one.length for one in parts])
        number = np.array([one.number for one in parts])
        identity = np.array([one.identity for one in parts])
        mask = (law * number) @ left + (law * identity) @ apart
        # The clean gradient's mean lies along u, where its squared length is the aligned part of L: e_i average out.
        along = (law * length) @ np.sqrt(np.array([group.left for group in ends[1]]))
        masks.append(mask)
        totals.append(mask + (law * length**2) @ left - alignments * along**2)
    return masks[0] / masks[1], totals[0] / totals[1]

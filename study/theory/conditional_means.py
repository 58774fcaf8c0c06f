"""What to store so that every conditional mean follows without a new gradient.

Given a clean group, E g = length(k; G, q, design, rule) times g_c (see `closed_forms`). So one running
vector per number of successes, C_k = the sum of g_c over the groups with k successes, gives the overall
mean gradient for every flip rate, every exchangeable design and every rule, eps and ddof, after the run. k
= 0 and k = G contribute nothing: G - 1 vectors in all. (The sums S'1 and S'r per k would do too, at twice
the memory.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.advantages import MeanCentred, Rule
from study.theory.closed_forms import coefficients
from study.theory.conditions import Array
from study.theory.designs import Design


class CleanSums:
    """Running sums of clean gradients by number of successes.

    Args:
        size: G >= 2.
        width: d, the length of a gradient.
    """

    def __init__(self, size: int, width: int) -> None:
        self.size = conditions.group_size(size)
        self.sums = np.zeros((self.size + 1, conditions.whole(width, "width", 1)))
        self.counts = np.zeros(self.size + 1, dtype=np.int64)

    @property
    def groups(self) -> int:
        """How many groups were added."""
        return int(self.counts.sum())

    def add(self, successes: int, clean: npt.ArrayLike) -> None:
        """Add one group's clean gradient g_c = (1/D) sum (r_i - k/G) w_i S_i, shape (d,).

        Raises:
            TheoryError: k outside [0, G], or a gradient of another length.
        """
        k = conditions.whole(successes, "successes", 0, self.size)
        gradient = conditions.numbers(clean, "clean gradient", 1)
        if gradient.shape != self.sums.shape[1:]:
            raise TheoryError(
                "wrong length",
                where=Where(field="clean gradient"),
                expected=f"{self.sums.shape[1]} coordinates",
                found=gradient.shape,
            )
        self.counts[k] += 1
        if 0 < k < self.size:
            self.sums[k] += gradient

    def add_scores(
        self,
        scores: npt.ArrayLike,
        successes: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        divisor: float | None = None,
    ) -> None:
        """Add one group by its scores (G, d) and outcomes (G,); weights and divisor as in `geometry`."""
        rows = conditions.scores(scores)
        outcome = conditions.successes(successes, self.size)
        factors = conditions.weights(weights, self.size)
        lever = outcome - outcome.mean() if factors is None else (outcome - outcome.mean()) * factors
        if rows.shape[0] != self.size:
            raise TheoryError(
                "another group size",
                where=Where(field="scores"),
                expected=f"{self.size} rows",
                found=rows.shape,
            )
        self.add(int(outcome.sum()), lever @ rows / conditions.divisor(divisor, self.size))

    def mean(self, flip_rate: float, design: Design, rule: Rule | None = None) -> Array:
        """The mean gradient over groups and flips, shape (d,), for any setting.

        Raises:
            TheoryError: no group was added, or an argument out of range.
        """
        if self.groups == 0:
            raise TheoryError("no group", where=Where(field="groups"), expected="at least one", found=0)
        chosen = rule if rule is not None else MeanCentred()
        lengths = np.array(
            [coefficients(k, self.size, flip_rate, design, chosen).length for k in range(self.size + 1)]
        )
        mean: Array = lengths @ self.sums / self.groups
        return mean

"""A group's scores and true successes, reduced to the four numbers on which grader flips depend.

Let v_i be the i-th score (times its importance weight, if any) minus the group's mean of those rows, D the
divisor (G, or a token count), and sum over the k true successes only. Then

    L = || (1/D) sum v_i ||^2            size of the clean gradient, the left side of Eq. 5
    R = (1/D^2) sum || v_i ||^2          spread of the successful scores, the right side of Eq. 5

Weights multiply rows, so the centring of the rewards acts before them: g = (1/D) sum A_i w_i S_i, and because
advantages sum to zero, g is unchanged when the weighted rows are centred. That is why one centred Gram matrix
serves both estimators. Given (G, k, L, R), no further look at the scores is needed for any flip rate, any
exchangeable design and any advantage rule: see `closed_forms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.conditions import Array


@dataclass(frozen=True)
class Geometry:
    """What a clean group leaves behind.

    Attributes:
        size: G, at least 2.
        successes: k in [0, G].
        left: L, in squared score units; exactly 0 at k = 0 and k = G.
        right: R, in squared score units; equals L at k = 1.
    """

    size: int
    successes: int
    left: float
    right: float

    def __post_init__(self) -> None:
        conditions.group_size(self.size)
        conditions.whole(self.successes, "successes", 0, self.size)
        for name, value in (("left", self.left), ("right", self.right)):
            if not (np.isfinite(value) and value >= 0):
                raise TheoryError("not a squared norm", where=Where(field=name), expected=">= 0", found=value)
        # Cauchy-Schwarz: || sum of k vectors ||^2 <= k sum || vector ||^2.
        if self.left > self.successes * self.right * (1 + 1e-9):
            raise TheoryError(
                "no scores have this geometry",
                where=Where(field="left"),
                expected=f"L <= k R = {self.successes * self.right!r}",
                found=self.left,
            )

    @property
    def ratio(self) -> float | None:
        """L/R, in [0, k]; None where no successful score has any spread."""
        return self.left / self.right if self.right > 0 else None

    @property
    def dispersion(self) -> float:
        """The difference k R - L >= 0: how far the successes' scores are from one another, times k/D^2; 0 at k <= 1."""
        return max(0.0, self.successes * self.right - self.left) if self.successes > 1 else 0.0


def of_scores(
    scores: npt.ArrayLike,
    successes: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    divisor: float | None = None,
) -> Geometry:
    """Geometry from the scores themselves, centred before any product: the most accurate way.

    Args:
        scores: S, shape (G, d).
        successes: r, shape (G,), zeros and ones.
        weights: fixed importance weights, shape (G,), at least 0; None for none.
        divisor: D; None for G.

    Raises:
        TheoryError: shapes that do not match, a group of one, or a value outside its range.
    """
    rows = conditions.scores(scores)
    size = rows.shape[0]
    outcome = conditions.successes(successes, size)
    factors = conditions.weights(weights, size)
    if factors is not None:
        rows = rows * factors[:, None]
    kept = (rows - rows.mean(axis=0))[outcome == 1.0]
    total = kept.sum(axis=0)
    return _geometry(size, len(kept), float(total @ total), float((kept * kept).sum()), divisor)


def of_gram(
    gram: npt.ArrayLike,
    successes: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    divisor: float | None = None,
) -> Geometry:
    """Geometry from the Gram matrix K = S S', in O(G^2); arguments as in `of_scores`.

    Centring happens after the products here, so a mean score much longer than the spread costs digits; the
    loss is that of K itself.
    """
    products = conditions.gram(gram)
    size = products.shape[0]
    outcome = conditions.successes(successes, size)
    factors = conditions.weights(weights, size)
    if factors is not None:
        products = products * np.outer(factors, factors)
    means = products.sum(axis=1) / size
    grand = float(means.sum()) / size
    count = float(outcome.sum())
    with_mean = float(outcome @ means)
    diagonal = float(outcome @ products.diagonal()) - 2 * with_mean + count * grand
    square = float(outcome @ products @ outcome) - 2 * count * with_mean + count * count * grand
    return _geometry(size, int(count), square, diagonal, divisor)


def orthogonal(size: int, successes: int, norm: float = 1.0) -> Geometry:
    """Mutually orthogonal scores of equal norm s: L = s^2 k(G-k)/G^3, R = s^2 k(G-1)/G^3 (Section 4.3)."""
    group = conditions.group_size(size)
    count = conditions.whole(successes, "successes", 0, group)
    scale = norm * norm / group**3
    return Geometry(group, count, scale * count * (group - count), scale * count * (group - 1))


def average(
    geometries: Sequence[Geometry], probabilities: npt.ArrayLike | None = None
) -> tuple[float, float]:
    """E L and E R over clean groups, equally weighted unless their probabilities are given.

    Raises:
        TheoryError: no group, or probabilities that do not match.
    """
    if not geometries:
        raise TheoryError("no group", where=Where(field="geometries"), expected="at least one", found=0)
    law: Array
    if probabilities is None:
        law = np.full(len(geometries), 1.0 / len(geometries))
    else:
        law = conditions.distribution(probabilities, "probabilities", len(geometries))
    left = np.array([group.left for group in geometries])
    right = np.array([group.right for group in geometries])
    return float(law @ left), float(law @ right)


def _geometry(size: int, count: int, square: float, diagonal: float, divisor: float | None) -> Geometry:
    # The identities at k = 0, 1 and G hold exactly, so rounding is not allowed to break them.
    scale = conditions.divisor(divisor, size) ** 2
    diagonal = max(0.0, diagonal)
    square = min(max(0.0, square), count * diagonal)
    if count in (0, size):
        square = 0.0
    if count == 0:
        diagonal = 0.0
    if count == 1:
        square = diagonal
    return Geometry(size, count, square / scale, diagonal / scale)

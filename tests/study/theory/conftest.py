"""Random groups for the theory's tests: one seeded source, wide ranges of size, scale, geometry and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest


class Group(NamedTuple):
    scores: np.ndarray
    successes: np.ndarray
    weights: np.ndarray | None
    flip_rate: float

    @property
    def scale(self) -> float:
        """An upper bound of the squared gradient before the advantages' size: what errors are relative to."""
        rows = self.scores if self.weights is None else self.scores * self.weights[:, None]
        return float((rows**2).sum()) / len(rows) ** 2 or 1.0


def _random_groups(count: int, largest: int = 9, seed: int = 20260908) -> Iterator[Group]:
    """Sizes 2..largest, k over 0..G, common drifts, scales 1e-3..1e3, weights on every other group."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        size = int(rng.integers(2, largest + 1))
        scores = rng.normal(size=(size, int(rng.integers(1, 7)))) * 10 ** rng.uniform(-3, 3)
        scores += rng.normal(size=scores.shape[1]) * scores.std() * (index % 3)
        k = int(rng.integers(0, size + 1))
        successes = rng.permutation(np.arange(size) < k).astype(float)
        weights = rng.uniform(0, 2, size=size) * (rng.random(size) > 0.1) if index % 2 else None
        flip_rate = (0.0, 1.0, 0.1, float(rng.random()), float(rng.random()))[index % 5]
        yield Group(scores, successes, weights, flip_rate)


@pytest.fixture(scope="session")
def random_groups() -> Callable[..., Iterator[Group]]:
    return _random_groups

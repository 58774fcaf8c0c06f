"""Intervals over tasks: each resample draws as many tasks as there are, with replacement, with keyed counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from study.probe.spec import Spec
from study.theory.transition import Ratio
from study.training import seeds

Array = npt.NDArray[np.float64]

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A percentile interval of a ratio over resampled tasks.

    Attributes:
        lower, upper: its ends; infinite where too many resamples had nothing to divide by.
        level: 0.95.
        resamples: how many.
        standard_error: standard deviation of the ratio over resamples, None where one had nothing to divide by.
    """

    lower: float
    upper: float
    level: float
    resamples: int
    standard_error: float | None


def generator(spec: Spec, purpose: str) -> np.random.Generator:
    """A generator keyed by what is probed, never by the run's history."""
    return np.random.default_rng(seeds.integer("probe", purpose, spec.digest))


def drawn_units(spec: Spec, units: int, resamples: int) -> Array:
    """How often each unit is drawn in each resample, shape (resamples, units)."""
    law = np.full(units, 1.0 / units)
    return generator(spec, "tasks").multinomial(units, law, size=resamples).astype(np.float64)


def percentile(above: Array, below: Array) -> Interval | None:
    """Interval of above/below over resamples, both of shape (resamples,); None where nothing can be divided."""
    good = below > 0
    if not good.any():
        return None
    ratio = np.divide(above, below, out=np.full(below.size, np.inf), where=good)
    tail = (1.0 - LEVEL) / 2.0
    lower, upper = np.quantile(ratio, [tail, 1.0 - tail], method="inverted_cdf")
    spread = float(ratio.std(ddof=1)) if good.all() and ratio.size > 1 else None
    return Interval(float(lower), float(upper), LEVEL, int(below.size), spread)


def of_ratio(ratio: Ratio) -> Interval:
    """The theory's interval of a ratio of sums, without a standard error."""
    return Interval(ratio.lower, ratio.upper, ratio.level, ratio.resamples, None)

"""Luck share by one-way random effects (paper, section 5.2), exact. Pure.

A table of outcomes over K schedules x M samples gives MS_between and MS_within; sigma_env^2 is
max(0, (MS_between - MS_within) / M), sigma_pol^2 is MS_within, the share is sigma_env^2 over their sum. A table in
which nothing varies has no share: it is undefined and counted, never 0. Clipping at 0 biases the estimate upwards
under the null (about 0.027 for 8 x 8 tables); the bias is reported and not corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prereg_kit.errors import DecisionError
from prereg_kit.statistics import resample
from prereg_kit.statistics.random_stream import StreamKey

_GRID = 10**12  # shares are rounded to 1e-12 before they are resampled, so that the draws stay whole numbers


@dataclass(frozen=True)
class LuckShare:
    """The mean share over units where it is defined, each unit's own share, and how many are undefined."""

    value: Fraction | None
    shares: dict[str, Fraction]
    undefined: int


def table_share(outcomes: NDArray[np.int64]) -> Fraction | None:
    """The luck share of one table, integers [schedules, samples], at least 2 x 2; None where nothing varies.

    The scale of the outcomes cancels, so sums of a common denominator may be given.

    Raises:
        DecisionError: fewer than two schedules or two samples: within and between cannot be told apart.
    """
    schedules, samples = outcomes.shape
    if schedules < 2 or samples < 2:
        raise DecisionError(
            "a luck table too small to tell schedules from samples",
            expected="at least 2 x 2",
            found=outcomes.shape,
        )
    rows = [[int(value) for value in row] for row in outcomes]
    sums = [sum(row) for row in rows]
    total = sum(sums)
    squares = sum(value * value for row in rows for value in row)
    between = Fraction(sum(value * value for value in sums), samples) - Fraction(
        total * total, schedules * samples
    )
    within = squares - Fraction(sum(value * value for value in sums), samples)
    ms_between, ms_within = between / (schedules - 1), within / (schedules * (samples - 1))
    environment = max(Fraction(0), (ms_between - ms_within) / samples)
    whole = environment + ms_within
    return environment / whole if whole else None


def luck_share(tables: Mapping[str, NDArray[np.int64]]) -> LuckShare:
    """The share of each unit's table and their mean over the defined ones.

    Raises:
        DecisionError: a table smaller than 2 x 2.
    """
    shares = {unit: table_share(outcomes) for unit, outcomes in tables.items()}
    known = {unit: share for unit, share in shares.items() if share is not None}
    value = sum(known.values(), Fraction(0)) / len(known) if known else None
    return LuckShare(value, known, len(shares) - len(known))


def lower_and_upper(
    share: LuckShare, level: Fraction, resamples: int, key: StreamKey
) -> tuple[Fraction, Fraction]:
    """Percentile interval of the mean share, units resampled; a bound above 0 proves nothing (docs/statistics.md).

    Raises:
        DecisionError: no unit with a defined share.
    """
    if not share.shares:
        raise DecisionError("no table with a defined luck share")
    scaled = np.array([[round(share.shares[unit] * _GRID) for unit in sorted(share.shares)]], dtype=np.int64)
    draws = resample.tasks_only(scaled, _GRID, resamples, key.on("tasks", "luck share"))
    tail = (1 - level) / 2
    return draws.quantile(tail), draws.quantile(1 - tail)

"""Many values in one cell: a list while a reader can take it in, then a summary and a histogram. Pure.

The summary counts and sorts the values of the verdicts file; it estimates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prereg_kit.decision.verdict import Figure
from prereg_kit.report import rounding

MOST_LISTED = 12
"""A cell lists at most so many values."""
_BINS = 24


@dataclass(frozen=True)
class Bin:
    """One bar of a histogram: its ends in the values' unit, how many values lie in it, its height in (0, 1]."""

    low: float
    high: float
    count: int
    height: float


def listed(
    values: Mapping[str, Figure], unit: str | None, *, signed: bool = False, beside: Sequence[float] = ()
) -> tuple[tuple[str, str], ...]:
    """(name, printed value) pairs: each value, or a summary where there are more than `MOST_LISTED`.

    The summary holds the least, the three quartiles and the greatest value (the k-th smallest with
    k = ceil(n q), so each is one of the values) and how many are below, at and above zero.
    """
    if len(values) <= MOST_LISTED:
        return tuple(
            (name, rounding.figure(number, unit, signed=signed, beside=beside))
            for name, number in values.items()
        )
    found = sorted(values.values(), key=lambda number: number.value)
    size = len(found)
    picked = {"least": 0, "lower quartile": -(-size // 4) - 1, "median": -(-size // 2) - 1,
              "upper quartile": -(-3 * size // 4) - 1, "greatest": size - 1}  # fmt: skip
    reported = any(number.evidence == "reported" for number in found)
    signs = [sum(number.value < 0 for number in found), 0, sum(number.value > 0 for number in found)]
    signs[1] = size - signs[0] - signs[2]
    lines = [("values", f"{size}" + (rounding.REPORTED if reported else ""))]
    lines += [
        (
            name,
            rounding.figure(found[place], unit, signed=signed, beside=beside).removesuffix(rounding.REPORTED),
        )
        for name, place in picked.items()
    ]
    return (*lines, ("below, at, above 0", ", ".join(map(str, signs))))


def histogram(values: Mapping[str, Figure]) -> tuple[Bin, ...]:
    """At most 24 bins of equal width over the values; empty where `listed` shows each value.

    A value on an inner edge is counted in the bin above it.
    """
    if len(values) <= MOST_LISTED:
        return ()
    found = [number.value for number in values.values()]
    low, high = min(found), max(found)
    wide = high - low
    if not 0 < wide < float("inf"):
        return (Bin(low, high, len(found), 1.0),)
    counts = [0] * _BINS
    for value in found:
        counts[min(_BINS - 1, int((value - low) / wide * _BINS))] += 1
    most = max(counts)
    return tuple(
        Bin(low + wide * i / _BINS, low + wide * (i + 1) / _BINS, count, round(count / most, 4))
        for i, count in enumerate(counts)
        if count
    )

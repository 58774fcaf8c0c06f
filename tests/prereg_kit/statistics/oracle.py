"""An independent bootstrap oracle: every resample is written down and counted with fractions."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction


def crossed(table: list[list[int]], denominator: int) -> list[Fraction]:
    """All S**S * T**T crossed resampled means, sorted."""
    seeds, tasks = len(table), len(table[0])
    sums = []
    for rows in itertools.product(range(seeds), repeat=seeds):
        for columns in itertools.product(range(tasks), repeat=tasks):
            sums.append(sum(table[s][t] for s in rows for t in columns))
    shared = {total: Fraction(total, seeds * tasks * denominator) for total in set(sums)}
    return [shared[total] for total in sorted(sums)]


def unpaired(above: list[list[int]], below: list[list[int]], denominator: int) -> list[Fraction]:
    """All resampled differences with the arms' seeds drawn apart, sorted."""
    tasks = len(above[0])
    values = []
    for columns in itertools.product(range(tasks), repeat=tasks):
        sums = []
        for arm in (above, below):
            means = []
            for rows in itertools.product(range(len(arm)), repeat=len(arm)):
                total = sum(arm[s][t] for s in rows for t in columns)
                means.append(Fraction(total, len(arm) * tasks * denominator))
            sums.append(means)
        values += [first - second for first in sums[0] for second in sums[1]]
    return sorted(values)


def one_axis(units: list[int], denominator: int) -> list[Fraction]:
    """All n**n resampled means of n values, sorted."""
    count = len(units)
    return sorted(
        Fraction(sum(chosen), count * denominator) for chosen in itertools.product(units, repeat=count)
    )


def own_tasks(table: list[list[int]], denominator: int) -> list[Fraction]:
    """All resampled means where each drawn seed draws tasks of its own, sorted."""
    seeds, tasks = len(table), len(table[0])
    within = [[sum(chosen) for chosen in itertools.product(row, repeat=tasks)] for row in table]
    values = []
    for rows in itertools.product(range(seeds), repeat=seeds):
        for sums in itertools.product(*(within[row] for row in rows)):
            values.append(Fraction(sum(sums), seeds * tasks * denominator))
    return sorted(values)


def quantile(values: list[Fraction], p: Fraction) -> Fraction:
    """The smallest of the sorted values with at least a share p at or below it."""
    for index, value in enumerate(values, start=1):
        if index * p.denominator >= p.numerator * len(values):
            return value
    raise AssertionError(p)


def variance(values: list[Fraction]) -> Fraction:
    """Variance of equally likely values."""
    counts = Counter(values)
    mean = sum((value * count for value, count in counts.items()), Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 * count for value, count in counts.items()), Fraction(0)) / len(values)

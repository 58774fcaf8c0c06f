"""Variance components against formulas written out with fractions, and ties that floats get wrong."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.interval import ONE_SEED, ONE_TASK, closed_form_variance, variance_component_t

L95 = F(19, 20)


def by_definition(table: list[list[int]]) -> tuple[F, F, F]:
    """Mean squares of a two-way layout with one value per cell (any textbook's table)."""
    seeds, tasks = len(table), len(table[0])
    mean = F(sum(map(sum, table)), seeds * tasks)
    rows = [F(sum(row), tasks) for row in table]
    columns = [F(sum(row[t] for row in table), seeds) for t in range(tasks)]
    residual = sum(
        (table[s][t] - rows[s] - columns[t] + mean) ** 2 for s in range(seeds) for t in range(tasks)
    )
    return (
        tasks * sum((row - mean) ** 2 for row in rows) / (seeds - 1),
        seeds * sum((column - mean) ** 2 for column in columns) / (tasks - 1),
        residual / ((seeds - 1) * (tasks - 1)),
    )


def test_mean_squares_and_the_interval_by_definition() -> None:
    rng = np.random.default_rng(1)
    used = 0
    for _ in range(40):
        table = (
            rng.integers(-4, 5, size=(4, 6))
            + 3 * rng.integers(-1, 2, size=(4, 1))
            + rng.integers(-3, 4, size=6)
        )
        squares = by_definition(table.tolist())
        found = variance_component_t(table, 1, L95)
        assert found.mean_squares == squares
        seed, task, error = squares
        if seed < error or task < error:
            assert "negative" in found.note
            continue
        used += 1
        variance = (seed + task - error) / 24
        df = (seed + task - error) ** 2 / (seed**2 / 3 + task**2 / 5 + error**2 / 15)
        assert math.isclose(found.se, math.sqrt(variance))
        assert math.isclose(found.df, df)
        reach = stats.t.ppf(0.975, float(df)) * math.sqrt(variance)
        assert math.isclose(found.upper - found.lower, 2 * reach, rel_tol=1e-9)
        assert found.note is None
    assert used > 10


def test_the_denominator_scales_the_interval() -> None:
    table = [[1, 2, 0], [4, 6, 1]]
    one, four = variance_component_t(table, 1, L95), variance_component_t(table, 4, L95)
    assert math.isclose(one.lower, 4 * four.lower)
    assert one.df == four.df
    assert four.mean == F(14, 24)


def test_negative_components_are_set_to_zero_and_named() -> None:
    crossing = variance_component_t([[1, -1], [-1, 1]], 1, L95)
    assert "seed and task variance components" in crossing.note
    assert crossing.df == 1
    tasks = variance_component_t([[0, 5, 1], [1, 5, 0]], 1, L95)
    assert tasks.note.startswith("seed variance component")
    assert tasks.df == 2
    seeds = variance_component_t([[0, 1], [5, 5], [1, 0]], 1, L95)
    assert seeds.note.startswith("task variance component")
    assert seeds.df == 2


def test_one_seed_or_one_task_leaves_one_factor() -> None:
    row = variance_component_t([[1, 3, 2, 1]], 4, L95)
    assert row.note == ONE_SEED
    assert row.df == 3
    assert row.mean_squares[0] is None
    low, high = stats.ttest_1samp([0.25, 0.75, 0.5, 0.25], 0).confidence_interval(0.95)
    assert math.isclose(row.lower, low)
    assert math.isclose(row.upper, high)
    column = variance_component_t([[1], [3], [2], [1]], 4, L95)
    assert column.note == ONE_TASK
    assert math.isclose(column.lower, low)


def test_nothing_varies() -> None:
    found = variance_component_t([[3, 3], [3, 3]], 100, L95)
    assert (found.lower, found.upper, found.se) == (0.03, 0.03, 0.0)
    assert found.df == math.inf
    assert "nothing" in found.note
    with pytest.raises(DecisionError):
        variance_component_t([[3]], 100, L95)


def test_the_closed_form_by_its_definition() -> None:
    table = [[1, -2, 4], [0, 5, 3]]
    mean = F(11, 6)
    rows, columns = [F(1), F(8, 3)], [F(1, 2), F(3, 2), F(7, 2)]
    cells = [[table[s][t] - rows[s] - columns[t] + mean for t in range(3)] for s in range(2)]
    expected = (
        sum((row - mean) ** 2 for row in rows) / 2 / 2
        + sum((column - mean) ** 2 for column in columns) / 3 / 3
        + sum(cell**2 for row in cells for cell in row) / 6 / 6
    )
    assert closed_form_variance(table) == expected
    assert closed_form_variance(table, 4) == expected / 16


def test_squares_beyond_64_bits_stay_exact() -> None:
    scale = 10**12
    small, large = [[1, -2, 4], [0, 5, 3]], [[scale, -2 * scale, 4 * scale], [0, 5 * scale, 3 * scale]]
    assert closed_form_variance(large, scale) == closed_form_variance(small)


def test_a_mean_on_a_threshold_is_on_it() -> None:
    """700, 369, 456 against 691, 332, 430 of 800: exactly 3/100, and just under it in float64."""
    paired, independent = np.array([700, 369, 456]), np.array([691, 332, 430])
    assert not np.mean(paired / 800 - independent / 800) >= 0.03
    assert variance_component_t((paired - independent)[:, None], 800, L95).mean >= F(3, 100)
    assert variance_component_t((paired - independent)[:, None], 800, L95).mean == F(3, 100)

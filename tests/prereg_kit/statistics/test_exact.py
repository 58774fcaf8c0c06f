"""The exact engine against every resample written down, and against closed forms."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import DecisionError
from prereg_kit.statistics import exact
from prereg_kit.statistics.interval import closed_form_variance
from prereg_kit.statistics.mixture import exact_counts

_spec = importlib.util.spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

LEVELS = [F(1, 40), F(39, 40), F(1, 20), F(19, 20), F(1, 2), F(1, 27), F(1, 9), F(1, 1000), F(1)]
ROW_1 = [[2, 0], [-2, 2], [4, 2]]  # quarters


def tables(seeds: int, tasks: int, low: int = -4, high: int = 4) -> st.SearchStrategy[list[list[int]]]:
    return st.integers(1, seeds).flatmap(
        lambda s: st.integers(1, tasks).flatmap(
            lambda t: st.lists(
                st.lists(st.integers(low, high), min_size=t, max_size=t), min_size=s, max_size=s
            )
        )
    )


def test_a_register_worked_by_hand() -> None:
    lattice = exact.crossed(ROW_1, 4)
    assert [lattice.quantile(p) for p in (F(1, 40), F(39, 40))] == [F(-1, 6), F(5, 6)]
    assert [lattice.quantile(p) for p in (F(1, 20), F(19, 20))] == [F(0), F(3, 4)]
    counts = [count for count in exact_counts(lattice.mixture, lattice.mixture.top) if count]
    assert (lattice.mixture.outcomes, sum(counts), len(counts)) == (108, 108, 14)


def test_a_thousand_random_small_registers_equal_brute_force() -> None:
    rng = np.random.default_rng(20260911)
    shapes = [(1, 1), (1, 4), (2, 2), (2, 3), (3, 1), (3, 2), (2, 4), (3, 3), (4, 1)]
    for index in range(1000):
        span = int(rng.integers(1, 6))
        table = rng.integers(-span, span + 1, size=shapes[index % len(shapes)])
        if index % 5 == 0:
            table = table * 3 + 1  # a coarser lattice, away from zero
        values = oracle.crossed(table.tolist(), 7)
        lattice = exact.crossed(table, 7)
        for p in LEVELS:
            assert lattice.quantile(p) == oracle.quantile(values, p), (table, p)
        assert (lattice.minimum, lattice.maximum) == (values[0], values[-1])
        assert closed_form_variance(table, 7) == oracle.variance(values)


def test_three_seeds_by_four_tasks_equal_brute_force() -> None:
    table = [[1, -2, 0, 4], [3, 0, -1, 2], [-4, 1, 1, 0]]
    values = oracle.crossed(table, 4)
    assert len(values) == 27 * 256
    lattice = exact.crossed(table, 4)
    for numerator in range(1, 80):
        p = F(numerator, 80)
        assert lattice.quantile(p) == oracle.quantile(values, p)
    for value in sorted(set(values)):
        share = F(sum(other <= value for other in values), len(values))
        assert abs(lattice.cdf(value) - share) <= lattice.bound + 1e-15
        assert lattice.quantile(share) == value  # a tie at F = p belongs to the smaller value
        assert share == 1 or lattice.quantile(share + F(1, 10**30)) > value


@settings(max_examples=40, derandomize=True, deadline=None)
@given(tables(2, 3), tables(2, 3), st.integers(1, 5))
def test_unpaired_seeds_equal_brute_force(above: list[list[int]], below: list[list[int]], scale: int) -> None:
    tasks = min(len(above[0]), len(below[0]))
    above, below = [row[:tasks] for row in above], [row[:tasks] for row in below]
    values = oracle.unpaired(above, below, scale)
    lattice = exact.unpaired(above, below, scale)
    assert [lattice.quantile(p) for p in LEVELS] == [oracle.quantile(values, p) for p in LEVELS]


@settings(max_examples=40, derandomize=True, deadline=None)
@given(tables(3, 3))
def test_own_tasks_equal_brute_force(table: list[list[int]]) -> None:
    table = [row[: 2 if len(table) == 3 else 3] for row in table]
    values = oracle.own_tasks(table, 4)
    lattice = exact.own_tasks(table, 4)
    assert [lattice.quantile(p) for p in LEVELS] == [oracle.quantile(values, p) for p in LEVELS]
    assert (lattice.minimum, lattice.maximum) == (values[0], values[-1])


@settings(max_examples=30, derandomize=True, deadline=None)
@given(tables(4, 4))
def test_single_axes_equal_brute_force(table: list[list[int]]) -> None:
    seeds, tasks = len(table), len(table[0])
    by_seed = oracle.one_axis([sum(row) for row in table], tasks * 4)
    by_task = oracle.one_axis([sum(row[t] for row in table) for t in range(tasks)], seeds * 4)
    for p in LEVELS:
        assert exact.seeds_only(table, 4).quantile(p) == oracle.quantile(by_seed, p)
        assert exact.tasks_only(table, 4).quantile(p) == oracle.quantile(by_task, p)
        assert exact.pooled(table[0], 4).quantile(p) == oracle.quantile(oracle.one_axis(table[0], 4), p)


def test_two_seeds_give_the_extremes_and_their_mean() -> None:
    lattice = exact.crossed([[2], [8]], 100)
    assert [lattice.quantile(p) for p in (F(1, 40), F(39, 40))] == [F(2, 100), F(8, 100)]
    counts = [count for count in exact_counts(lattice.mixture, lattice.mixture.top) if count]
    assert counts == [1, 2, 1]


@pytest.mark.parametrize(
    ("seeds", "tasks", "span"),
    [(3, 200, 4), (3, 1000, 30), (5, 300, 4), (3, 10, 2_000), (2, 700, 1), (7, 20, 3)],
)
def test_moments_of_large_registers_equal_the_closed_form(seeds: int, tasks: int, span: int) -> None:
    rng = np.random.default_rng([seeds, tasks, span])
    table = rng.integers(-span, span + 1, size=(seeds, tasks)) + rng.integers(0, span, size=(seeds, 1))
    lattice = exact.crossed(table, 4)
    values, chances = lattice.probabilities()
    mean = F(int(table.sum()), table.size * 4)
    assert math.isclose(chances.sum(), 1, abs_tol=1e-10)
    assert math.isclose(chances @ values, mean, rel_tol=1e-9, abs_tol=1e-9 * span)
    spread = chances @ (values - float(mean)) ** 2
    assert math.isclose(spread, closed_form_variance(table, 4), rel_tol=1e-8)
    assert lattice.bound < 1e-9


@pytest.mark.parametrize("tasks", [40, 500, 700])  # both ways of raising to a power
def test_the_filter_keeps_its_bound_against_counted_integers(tasks: int) -> None:
    rng = np.random.default_rng(tasks)
    table = rng.integers(-2, 3, size=(2, tasks))
    lattice = exact.crossed(table, 1)
    last = lattice.first + len(lattice.cumulative) // 2
    below, worst = 0, 0.0
    for index, count in enumerate(exact_counts(lattice.mixture, last)):
        below += count
        if index >= lattice.first:
            truth = F(below, lattice.mixture.outcomes)
            found = F(int(lattice.cumulative[index - lattice.first]), 1 << 62)
            worst = max(worst, abs(float(found - truth)))
    assert worst <= lattice.bound < 1e-9


def test_rows_on_a_coarser_lattice_stay_accurate() -> None:
    """A multiset such as (3, 0, 0) moves in threes: the transform has modulus 1 away from frequency 0."""
    table = np.zeros((3, 3000), dtype=np.int64)
    table[0, :1700] = 1
    lattice = exact.crossed(table, 1)
    index = lattice.first + int(np.searchsorted(lattice.cumulative, 1 << 61))
    truth = F(sum(exact_counts(lattice.mixture, index)), lattice.mixture.outcomes)
    assert abs(lattice.cdf(lattice.quantile_at(index)) - truth) <= lattice.bound < 1e-9


def test_a_tie_is_counted_in_integers_on_a_register_of_some_size() -> None:
    """A table symmetric about 0 with an odd lattice has F = 1/2 exactly at the point below 0."""
    table = np.concatenate([np.ones((3, 75), dtype=np.int64), -np.ones((3, 75), dtype=np.int64)], axis=1)
    table = np.concatenate([table, np.zeros((3, 1), dtype=np.int64)], axis=1)
    lattice = exact.crossed(table, 1)
    assert lattice.quantile(F(1, 2)) == 0
    shifted = exact.tasks_only([[1] * 5 + [-1] * 5 + [3] * 5 + [-3] * 5 + [0]], 1)
    assert shifted.quantile(F(1, 2)) == 0
    odd = exact.tasks_only([[1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 3, -3, 5, -5, 1]], 1)
    counted = list(exact_counts(odd.mixture, odd.mixture.top))
    for index in (3, 10, 20, 31):
        share = F(sum(counted[: index + 1]), odd.mixture.outcomes)
        assert odd.quantile(share) == odd.quantile_at(index)
        assert odd.quantile(share - F(1, 10**40)) == odd.quantile_at(index)
        assert odd.quantile(share + F(1, 10**40)) > odd.quantile_at(index)


def test_neither_order_nor_a_constant_nor_a_factor_matters() -> None:
    rng = np.random.default_rng(7)
    table = rng.integers(-4, 5, size=(4, 90))
    plain = exact.crossed(table, 4)
    mixed = exact.crossed(table[rng.permutation(4)][:, rng.permutation(90)], 4)
    moved = exact.crossed(table * 10 + 3, 40)
    for p in LEVELS:
        assert plain.quantile(p) == mixed.quantile(p) == moved.quantile(p) - F(3, 40)


def test_the_window_misses_nothing_that_a_quantile_can_reach() -> None:
    table = np.zeros((3, 400), dtype=np.int64)
    table[:, :3] = 1_000  # rare and large: the window must not be a normal approximation's
    lattice = exact.crossed(table, 1)
    counts = list(exact_counts(lattice.mixture, lattice.mixture.top // 40))
    for p in (F(1, 10**6), F(1, 100), F(1, 2)):
        below, index = 0, 0
        for index, count in enumerate(counts):
            below += count
            if F(below, lattice.mixture.outcomes) >= p:
                break
        assert lattice.quantile(p) == lattice.quantile_at(index)


@pytest.mark.parametrize("rare", [1, 3, 30])
def test_the_window_holds_all_but_a_trace_of_the_mass(rare: int) -> None:
    table = np.zeros((2, 300), dtype=np.int64)
    table[:, :rare] = 1
    table[0, rare : 2 * rare] = 2
    lattice = exact.crossed(table, 1)
    first, last = lattice.mixture.window()
    outside = sum(
        count
        for index, count in enumerate(exact_counts(lattice.mixture, lattice.mixture.top))
        if not first <= index <= last
    )
    assert F(outside, lattice.mixture.outcomes) < F(1, 10**20)
    assert last < lattice.mixture.top


def test_a_constant_table_is_a_point() -> None:
    lattice = exact.crossed([[-3] * 5] * 3, 100)
    assert lattice.degenerate
    assert {lattice.quantile(p) for p in LEVELS} == {F(-3, 100)}
    assert (lattice.minimum, lattice.maximum, lattice.bound) == (F(-3, 100), F(-3, 100), 0)


@pytest.mark.parametrize("bad", [[[0.5, 1.0]], [[True, False]], [], [[]], [1, 2], [[1 << 60]], [[1, 2], [3]]])
def test_tables_that_cannot_be_exact_are_refused(bad: object) -> None:
    with pytest.raises(DecisionError):
        exact.crossed(bad, 1)


@pytest.mark.parametrize("p", [F(0), F(-1, 2), F(3, 2)])
def test_levels_outside_the_unit_interval_are_refused(p: F) -> None:
    with pytest.raises(DecisionError):
        exact.crossed(ROW_1, 4).quantile(p)


@pytest.mark.parametrize("denominator", [0, -4])
def test_a_denominator_must_be_positive(denominator: int) -> None:
    with pytest.raises(DecisionError):
        exact.crossed(ROW_1, denominator)


def test_a_tie_too_large_to_count_is_refused_and_not_guessed() -> None:
    table = np.concatenate(
        [np.full((1, 100_000), 1, dtype=np.int64), np.full((1, 100_000), -1, dtype=np.int64)], axis=1
    )
    lattice = exact.crossed(np.concatenate([table, [[0]]], axis=1) * 2 + 1, 1)
    exactly = lattice.cdf(F(1))
    assert 0.5 < exactly < 0.51
    jump = F(int(lattice.cumulative[len(lattice.cumulative) // 2]), 1 << 62)
    with pytest.raises(DecisionError) as caught:
        lattice.quantile(jump)
    assert caught.value.code == "quantile-on-a-jump"


def test_multisets_count_every_resample_of_the_seeds() -> None:
    counts, orderings = exact.multisets(3)
    assert len(counts) == 10
    assert sorted(orderings.tolist()) == [1] * 3 + [3] * 6 + [6]
    for size in (1, 2, 5, 8):
        counts, orderings = exact.multisets(size)
        assert len({tuple(row) for row in counts.tolist()}) == len(counts) == math.comb(2 * size - 1, size)
        assert int(orderings.sum()) == size**size
        assert set(counts.sum(axis=1).tolist()) == {size}
    with pytest.raises(DecisionError):
        exact.multisets(exact.MAX_SEEDS + 1)


def test_compression_keeps_every_column() -> None:
    rng = np.random.default_rng(3)
    for scale in (1, 10**15):
        table = rng.integers(-2, 3, size=(4, 300)) * scale
        columns, multiplicity = exact.compress(table)
        again = np.repeat(columns, multiplicity, axis=1)
        assert sorted(again.T.tolist()) == sorted(table.T.tolist())
        assert len({tuple(column) for column in columns.T.tolist()}) == columns.shape[1]


def test_the_cost_estimate_chooses_the_engine() -> None:
    rng = np.random.default_rng(5)
    assert exact.applies(rng.integers(-4, 5, size=(3, 200)))
    assert exact.applies(rng.integers(-4, 5, size=(8, 64)))
    assert not exact.applies(rng.integers(-4, 5, size=(12, 200)))
    assert not exact.applies(rng.integers(-4, 5, size=(13, 2)))
    assert not exact.applies(rng.integers(-4, 5, size=(64, 1000)))
    assert exact.cost(3, 200, 8) < exact.cost(6, 200, 8) < exact.cost(10, 200, 8)

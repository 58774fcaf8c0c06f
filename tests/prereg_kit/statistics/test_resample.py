"""The Monte Carlo engine: reproducible, blind to order, and right within its own stated error."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from fractions import Fraction as F

import numpy as np
import pytest

from prereg_kit.errors import DecisionError
from prereg_kit.statistics import exact, resample
from prereg_kit.statistics.canonical import canonical, canonical_order
from prereg_kit.statistics.draws import Draws
from prereg_kit.statistics.interval import closed_form_variance
from prereg_kit.statistics.random_stream import Stream, StreamKey

KEY = StreamKey(20260911, "5c" * 32)
rng = np.random.default_rng(11)
TABLE = rng.binomial(4, 0.55, size=(3, 60)) - rng.binomial(4, 0.45, size=(3, 60))


def test_a_resample_is_the_specification_written_out() -> None:
    """Resample b of block 0 takes the b-th run of T task draws and of S seed draws; nothing else."""
    table = canonical(TABLE)
    tasks = Stream(KEY.on("tasks"), 0).below(60, 60 * 200).reshape(200, 60)
    seeds = Stream(KEY.on("seeds"), 0).below(3, 3 * 200).reshape(200, 3)
    by_hand = [int(table[np.ix_(rows, columns)].sum()) for rows, columns in zip(seeds, tasks, strict=True)]
    draws = resample.crossed(TABLE, 4, 200, KEY)
    assert draws.sums.tolist() == sorted(by_hand)
    assert draws.denominator == 3 * 60 * 4


def test_golden_ends_of_a_register() -> None:
    """Moves only if the stream, the canonical order or the quantile changes; the specification pins all three."""
    draws = resample.crossed([[2, 0], [-2, 2], [4, 2]], 4, 1000, KEY)
    assert draws.sums.sum() == GOLDEN_SUM
    assert [draws.quantile(p) for p in (F(1, 40), F(39, 40))] == [F(-1, 6), F(5, 6)]


GOLDEN_SUM = 8096


def test_more_resamples_move_no_draw() -> None:
    """The first 300 of 700 are the 300: sorting hides the order, so compare the sums before sorting."""
    table = canonical(TABLE)
    few = resample.crossed_sums([table], 300, KEY)
    many = resample.crossed_sums([table], 700, KEY)
    assert (many[:, :300] == few).all()


@pytest.mark.parametrize("step", [1, 1000, 1 << 20])
def test_the_size_of_a_step_moves_no_draw(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = resample.crossed(TABLE, 4, 300, KEY)
    own = resample.own_tasks(TABLE, 4, 300, KEY)
    monkeypatch.setattr(resample, "_STEP", step)
    assert (resample.crossed(TABLE, 4, 300, KEY).sums == whole.sums).all()
    assert (resample.own_tasks(TABLE, 4, 300, KEY).sums == own.sums).all()


def test_compressing_columns_moves_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = rng.integers(-1, 2, size=(2, 500))
    packed = resample.crossed(wide, 1, 300, KEY)
    monkeypatch.setattr(resample, "_columns", lambda table: (table, None))
    assert (resample.crossed(wide, 1, 300, KEY).sums == packed.sums).all()


SCHEMES = {
    "crossed": (resample.crossed, exact.crossed),
    "seeds_only": (resample.seeds_only, exact.seeds_only),
    "tasks_only": (resample.tasks_only, exact.tasks_only),
    "own_tasks": (resample.own_tasks, exact.own_tasks),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_draws_follow_the_exact_distribution(scheme: str) -> None:
    """Kolmogorov-Smirnov distance to the exact distribution under its 0.999 quantile (less for a lattice)."""
    drawn, lattice_of = SCHEMES[scheme]
    draws = drawn(TABLE, 4, 4000, KEY)
    lattice = lattice_of(TABLE, 4)
    values, positions = np.unique(draws.sums, return_counts=True)
    shares = np.cumsum(positions) / 4000
    gaps = [
        abs(share - lattice.cdf(F(int(value), draws.denominator)))
        for value, share in zip(values, shares, strict=True)
    ]
    assert max(gaps) < 1.95 / 4000**0.5


def test_pooled_and_unpaired_follow_the_exact_distribution() -> None:
    above, below = rng.integers(0, 5, size=(3, 30)), rng.integers(0, 5, size=(2, 30))
    pairs = [
        (resample.pooled(TABLE.ravel(), 4, 4000, KEY), exact.pooled(TABLE.ravel(), 4)),
        (resample.unpaired(above, below, 4, 4000, KEY), exact.unpaired(above, below, 4)),
    ]
    for draws, lattice in pairs:
        for numerator in (5, 25, 50, 75, 95):
            p = F(numerator, 100)
            value = draws.quantile(p)
            slack = 4 * (float(p * (1 - p)) / 4000) ** 0.5
            assert lattice.cdf(value) >= float(p) - slack
            assert lattice.cdf(value - F(1, 10**9)) <= float(p) + slack


def test_the_variance_of_the_draws_is_the_closed_form() -> None:
    table = rng.integers(-4, 5, size=(20, 300)) + rng.integers(-2, 3, size=(20, 1))
    draws = resample.crossed(table, 4, 20_000, KEY)
    spread = (draws.sums / draws.denominator).var()
    assert abs(spread / float(closed_form_variance(table, 4)) - 1) < 4 * (2 / 20_000) ** 0.5


def test_order_of_seeds_and_tasks_moves_nothing() -> None:
    for scheme in (resample.crossed, resample.own_tasks, resample.seeds_only, resample.tasks_only):
        first = scheme(TABLE, 4, 300, KEY)
        for _ in range(3):
            mixed = TABLE[rng.permutation(3)][:, rng.permutation(60)]
            assert (scheme(mixed, 4, 300, KEY).sums == first.sums).all()
    above, below = rng.integers(0, 5, size=(3, 30)), rng.integers(0, 5, size=(2, 30))
    first = resample.unpaired(above, below, 4, 300, KEY)
    order = rng.permutation(30)
    mixed = resample.unpaired(above[[2, 0, 1]][:, order], below[::-1][:, order], 4, 300, KEY)
    assert (mixed.sums == first.sums).all()


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (3, 4), (4, 2)])
def test_the_canonical_form_is_one_for_all_orders(shape: tuple[int, int]) -> None:
    for _ in range(15):
        table = rng.integers(0, 2, size=shape)  # many ties
        forms = {
            canonical(table[list(rows)][:, list(columns)]).tobytes()
            for rows in itertools.permutations(range(shape[0]))
            for columns in itertools.permutations(range(shape[1]))
        }
        assert len(forms) == 1
        assert sorted(canonical(table).ravel()) == sorted(table.ravel())


def test_rows_too_many_to_be_tried_are_told_apart_by_their_columns() -> None:
    """Nine rows with the same values (9! orders): what their columns hold separates them."""
    table = np.zeros((9, 24), dtype=np.int64)
    for row in table:
        row[rng.choice(24, size=8, replace=False)] = 1
    forms = {canonical(table[rng.permutation(9)][:, rng.permutation(24)]).tobytes() for _ in range(20)}
    assert len(forms) == 1


def test_tables_are_ordered_together() -> None:
    tables = rng.integers(0, 3, size=(2, 4, 30))
    rows, columns = canonical_order(tables)
    mixed = tables[:, rng.permutation(4)][:, :, rng.permutation(30)]
    again_rows, again_columns = canonical_order(mixed)
    assert (tables[:, rows][:, :, columns] == mixed[:, again_rows][:, :, again_columns]).all()
    first = resample.crossed_sums(list(tables), 100, KEY)
    assert (resample.crossed_sums(list(mixed), 100, KEY) == first).all()


def test_a_batch_gives_what_each_table_gives_alone() -> None:
    other = rng.integers(-4, 5, size=(3, 60))
    odd = rng.integers(-4, 5, size=(5, 40))
    together = resample.crossed_batch([TABLE, odd, other], 4, 300, KEY)
    for table, draws in zip([TABLE, odd, other], together, strict=True):
        assert (resample.crossed(table, 4, 300, KEY).sums == draws.sums).all()
        assert draws.denominator == table.size * 4


def test_a_ratio_leaves_out_what_has_no_value() -> None:
    wins, plays = np.array([[3, 0], [1, 0]]), np.array([[4, 0], [2, 0]])
    sums = resample.crossed_sums([wins, plays], 400, KEY)
    draws = Draws.of_ratio(sums[0], sums[1])
    assert draws.undefined == int((sums[1] == 0).sum()) > 0
    assert draws.resamples + draws.undefined == 400
    assert {F(value) for value in draws.sums} == {F(3, 4), F(1, 2), F(2, 3)}
    assert draws.quantile(F(1, 2)) == F(2, 3)
    with pytest.raises(DecisionError):
        Draws.of_ratio(np.array([0, 0]), np.array([0, 0]))


def test_quantiles_of_draws_are_inverse_cdf() -> None:
    draws = Draws(np.arange(1, 41), 1)
    assert draws.quantile(F(1, 40)) == 1
    assert draws.quantile(F(1, 40) + F(1, 10**12)) == 2
    assert (draws.quantile(F(39, 40)), draws.quantile(F(1))) == (39, 40)
    for bad in (F(0), F(41, 40)):
        with pytest.raises(DecisionError):
            draws.quantile(bad)


def test_the_monte_carlo_sd_is_that_of_the_quantile_over_seeds() -> None:
    """The estimate, averaged over 60 seeds, against the spread of the quantile over the same seeds."""
    ends, estimates = [], []
    for seed in range(60):
        draws = resample.crossed(TABLE, 4, 500, StreamKey(seed, "5c" * 32))
        ends.append(float(draws.quantile(F(1, 20))))
        estimates.append(float(draws.mc_sd(F(1, 20))))
    assert 0.9 < np.mean(estimates) / np.std(ends) < 1.5


def test_a_margin_within_the_monte_carlo_sd_is_undecided() -> None:
    draws = Draws(np.arange(1, 101), 100)
    sd = draws.mc_sd(F(1, 2))
    assert sd == F(5, 100)  # ranks 50 -+ 5
    assert draws.undecided(F(1, 2), F(1, 2))
    assert draws.undecided(F(1, 2), F(1, 2) - sd)
    assert not draws.undecided(F(1, 2), F(1, 2) - sd - F(1, 10**9))
    assert not Draws(np.zeros(50, dtype=np.int64), 1).undecided(F(1, 2), F(0))


def test_a_bound_one_jump_from_the_quantile_is_undecided_if_the_quantile_may_jump() -> None:
    """5 of 100 draws at 0: the 5 % quantile is 0, but one draw fewer and it would be 1."""
    lumpy = Draws(np.repeat([0, 1], [5, 95]), 1)
    assert (lumpy.quantile(F(1, 20)), lumpy.mc_sd(F(1, 20))) == (0, 1)
    assert lumpy.undecided(F(1, 20), F(0))
    clear = Draws(np.repeat([0, 1], [20, 80]), 1)
    assert clear.mc_sd(F(1, 20)) == 0
    assert not clear.undecided(F(1, 20), F(0))


def test_threads_move_no_draw() -> None:
    code = (
        "import hashlib, numpy as np; from prereg_kit.statistics import resample; from prereg_kit.statistics.random_stream import StreamKey\n"
        "table = np.random.default_rng(0).integers(-4, 5, size=(64, 1000))\n"
        "draws = resample.crossed(table, 4, 512, StreamKey(1, '5c' * 32))\n"
        "print(hashlib.sha256(draws.sums.tobytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("resamples", [0, -1])
def test_no_resamples_are_refused(resamples: int) -> None:
    with pytest.raises(DecisionError):
        resample.crossed(TABLE, 4, resamples, KEY)


def test_tables_of_different_shapes_are_refused() -> None:
    with pytest.raises(DecisionError):
        resample.crossed_sums([[[1, 2]], [[1]]], 10, KEY)
    with pytest.raises(DecisionError):
        resample.unpaired([[1, 2]], [[1]], 1, 10, KEY)
    with pytest.raises(DecisionError):
        exact.unpaired([[1, 2]], [[1]], 1)

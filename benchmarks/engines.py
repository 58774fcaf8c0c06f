"""Speed and agreement of the bootstrap engines, one table, one run: `python benchmarks/engines.py`.

Every row answers the same question on the same register: the 95 % percentile interval of the mean difference.
Ours and the naive loop resample seed pairs and tasks crossed; `arch` draws the whole table through its
IIDBootstrap with a statistic that resamples the other axis; `rliable` resamples runs within tasks apart (its own
scheme, a different question: shown for time, and its interval shown to differ); SciPy resamples one axis with a
vectorised statistic. A row says what was not installed. `arch` and `rliable` are not dependencies of the project:
install them beside it (`pip install arch rliable "pandas<3"`) and set PYTHONPATH to the checkout.

Times are processor seconds (a busy machine does not change them), the least of several repeats; run on one
thread with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from prereg_kit.statistics import exact, resample
from prereg_kit.statistics.interval import closed_form_variance, two_sided
from prereg_kit.statistics.random_stream import Stream, StreamKey

LOW, HIGH, LEVEL = Fraction(1, 40), Fraction(39, 40), Fraction(19, 20)
KEY = StreamKey(20260911, "0" * 64)
Ends = tuple[float, float]


def register(seeds: int, tasks: int, schedules: int = 4) -> np.ndarray:
    """Success counts of two arms over `schedules` plays of each cell, subtracted: int64 [S, T]."""
    stream = Stream(KEY.on("register", f"{seeds} x {tasks}"), 0)
    ease = stream.below(800, tasks) + 100
    drift = stream.below(80, seeds) - 40
    plays = stream.below(1000, 2 * schedules * seeds * tasks).reshape(2, schedules, seeds, tasks)
    wins = (plays[0] < ease + drift[:, None] + 30).sum(axis=0) - (plays[1] < ease).sum(axis=0)
    return wins.astype(np.int64)


def ours_exact(table: np.ndarray, _: int) -> Ends:
    lattice = exact.crossed(table, 4)
    return float(lattice.quantile(LOW)), float(lattice.quantile(HIGH))


def ours_monte_carlo(table: np.ndarray, resamples: int) -> Ends:
    draws = resample.crossed(table, 4, resamples, KEY)
    return float(draws.quantile(LOW)), float(draws.quantile(HIGH))


def naive_loop(table: np.ndarray, resamples: int) -> Ends:
    """Nested Python loops over lists, as the formula reads."""
    rows, rng = (table / 4).tolist(), random.Random(1)
    seeds, tasks = table.shape
    means = []
    for _ in range(resamples):
        chosen = [rows[rng.randrange(seeds)] for _ in range(seeds)]
        places = [rng.randrange(tasks) for _ in range(tasks)]
        means.append(sum(row[place] for row in chosen for place in places) / (seeds * tasks))
    return tuple(np.quantile(means, [0.025, 0.975], method="inverted_cdf").tolist())


def numpy_loop(table: np.ndarray, resamples: int) -> Ends:
    """One fancy-indexed mean for each resample, as most analysis scripts do it."""
    rng, cells = np.random.default_rng(1), table / 4
    seeds, tasks = table.shape
    means = [
        cells[np.ix_(rng.integers(0, seeds, seeds), rng.integers(0, tasks, tasks))].mean()
        for _ in range(resamples)
    ]
    return tuple(np.quantile(means, [0.025, 0.975], method="inverted_cdf").tolist())


def scipy_nested(table: np.ndarray, resamples: int) -> Ends:
    """scipy.stats.bootstrap over tasks, the drawn seeds inside a batched statistic."""
    from scipy.stats import bootstrap

    rng, cells = np.random.default_rng(1), table / 4
    seeds = len(cells)

    def statistic(*rows: np.ndarray, axis: int = -1) -> np.ndarray:
        per_seed = np.stack([row.mean(axis=axis) for row in rows])
        if per_seed.ndim == 1:
            return per_seed.mean()
        drawn = rng.integers(0, seeds, size=per_seed.shape)
        return np.take_along_axis(per_seed, drawn, axis=0).mean(axis=0)

    found = bootstrap(
        tuple(cells), statistic, paired=True, vectorized=True, n_resamples=resamples, batch=500,
        method="percentile", rng=np.random.default_rng(2),
    )  # fmt: skip
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def arch_crossed(table: np.ndarray, resamples: int) -> Ends:
    """arch.bootstrap.IIDBootstrap over tasks, the drawn seeds inside the statistic."""
    from arch.bootstrap import IIDBootstrap

    rng, cells = np.random.default_rng(1), table.T / 4
    seeds = cells.shape[1]

    def statistic(drawn: np.ndarray) -> np.ndarray:
        return np.array([drawn[:, rng.integers(0, seeds, seeds)].mean()])

    found = IIDBootstrap(cells, seed=np.random.default_rng(2)).conf_int(
        statistic, reps=resamples, method="percentile", size=0.95
    )
    return float(found[0, 0]), float(found[1, 0])


def rliable_stratified(table: np.ndarray, resamples: int) -> Ends:
    """rliable.library: runs resampled within each task apart; not the crossed scheme."""
    from rliable import library

    _, ends = library.get_interval_estimates(
        {"difference": table / 4},
        lambda scores: np.array([scores.mean()]),
        reps=resamples,
        confidence_interval_size=0.95,
        random_state=np.random.RandomState(1),
    )
    return float(ends["difference"][0, 0]), float(ends["difference"][1, 0])


ENGINES: dict[str, Callable[[np.ndarray, int], Ends]] = {
    "exact (ours)": ours_exact,
    "Monte Carlo (ours)": ours_monte_carlo,
    "arch IIDBootstrap": arch_crossed,
    "rliable stratified *": rliable_stratified,
    "scipy.stats.bootstrap": scipy_nested,
    "NumPy loop": numpy_loop,
    "naive Python loop": naive_loop,
}
# seeds, tasks, resamples, engines that are run (None: all)
CASES: list[tuple[int, int, int, set[str] | None]] = [
    (3, 200, 10_000, None),
    (6, 200, 10_000, {"exact (ours)", "Monte Carlo (ours)", "arch IIDBootstrap", "scipy.stats.bootstrap"}),
    (8, 64, 10_000, {"exact (ours)", "Monte Carlo (ours)", "arch IIDBootstrap", "scipy.stats.bootstrap"}),
    (10, 64, 10_000, {"exact (ours)", "Monte Carlo (ours)"}),
    (64, 1_000, 10_000, {"Monte Carlo (ours)", "scipy.stats.bootstrap"}),
    (3, 100_000, 1_000, {"exact (ours)", "Monte Carlo (ours)"}),
]


def timed(engine: Callable[[np.ndarray, int], Ends], table: np.ndarray, resamples: int) -> tuple[float, Ends]:
    """Least of up to 7 runs that fit in about 3 seconds."""
    best, spent, ends = float("inf"), 0.0, (0.0, 0.0)
    for _ in range(7):
        started = time.process_time()
        ends = engine(table, resamples)
        took = time.process_time() - started
        best, spent = min(best, took), spent + took
        if spent > 3:
            break
    return best, ends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=len(CASES), help="only the first N registers")
    wanted = parser.parse_args().cases
    print("| register | engine | seconds | relative to the first row | lower | upper | agreement |")
    print("|---|---|---|---|---|---|---|")
    for seeds, tasks, resamples, chosen in CASES[:wanted]:
        table = register(seeds, tasks)
        width = 2 * 1.959964 * float(closed_form_variance(table, 4)) ** 0.5
        reference: tuple[float, Ends] | None = None
        for name, engine in ENGINES.items():
            if chosen is not None and name not in chosen:
                continue
            label = f"{seeds} x {tasks} x 4"
            try:
                took, ends = timed(engine, table, resamples)
            except ImportError as error:
                print(f"| {label} | {name} | not installed ({error.name}) | | | | |", flush=True)
                continue
            if reference is None:
                reference = took, ends
            gap = max(abs(ends[0] - reference[1][0]), abs(ends[1] - reference[1][1])) / width
            note = "reference" if reference[0] == took else f"ends within {gap:.1%} of the width"
            print(
                f"| {label} | {name} | {took:.4f} | {took / reference[0]:.0f} | {ends[0]:.5f} | {ends[1]:.5f} "
                f"| {note} |",
                flush=True,
            )
    table = register(3, 200)
    found = two_sided(table, 4, LEVEL, "monte_carlo", key=KEY)
    print(f"\nMonte Carlo sd of our ends at 10,000 resamples (3 x 200): {[float(sd) for sd in found.mc_sd]}")
    print("* another scheme: runs within tasks, tasks fixed; its interval answers another question")
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")


if __name__ == "__main__":
    main()

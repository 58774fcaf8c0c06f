"""Coverage of each interval on simulated designs: `python benchmarks/coverage.py [--studies N]`.

Every study draws cell differences x[s, t] = mu + a_s + b_t + e_st (normal, all independent; sds of seeds, tasks
and cells below), rounds them to quarters
(four schedules to a cell) and asks each interval whether it covers mu. The sampling error of a
coverage c from N studies is sqrt(c (1 - c) / N); both are printed. Draws come from the project's own stream.

`runs within tasks` is the stratified scheme of benchmark suites that resample runs for each task apart and keep
the tasks fixed (Agarwal et al., NeurIPS 2021): independent draws of the seed for every task make the seeds' own
variance vanish like 1/T.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction

import numpy as np

from prereg_kit.statistics.interval import two_sided, variance_component_t
from prereg_kit.statistics.random_stream import Stream, StreamKey

LEVEL = Fraction(19, 20)
PLAN = "0" * 64
# name: seeds, tasks, sd of seeds, of tasks, of cells
DESIGNS = {
    "seeds dominate": (3, 200, 0.07, 0.10, 0.35),
    "seeds matter": (3, 200, 0.05, 0.10, 0.35),
    "seeds and cells": (3, 200, 0.03, 0.10, 0.35),
    "tasks dominate": (3, 200, 0.00, 0.25, 0.35),
    "cells dominate": (3, 200, 0.00, 0.05, 0.50),
    "five seeds": (5, 200, 0.05, 0.10, 0.35),
    "few tasks": (3, 20, 0.05, 0.10, 0.35),
}


def study(name: str, number: int) -> np.ndarray:
    """Quarters of a difference, int64 [S, T], with true mean 0."""
    seeds, tasks, seed_sd, task_sd, cell_sd = DESIGNS[name]
    stream = Stream(StreamKey(20260911, PLAN, "coverage", name), number)
    drawn = stream.normal(seeds + tasks + seeds * tasks)
    table = (
        seed_sd * drawn[:seeds, None]
        + task_sd * drawn[None, seeds : seeds + tasks]
        + cell_sd * drawn[seeds + tasks :].reshape(seeds, tasks)
    )
    return np.rint(4 * table).astype(np.int64)


def runs_within_tasks(table: np.ndarray) -> tuple[float, float]:
    """Normal form of the stratified scheme: exact variance sum_t var_s(D[s, t]) / S over T**2 tasks."""
    seeds, tasks = table.shape
    spread = math.sqrt(float(table.var(axis=0).sum()) / seeds) / tasks / 4
    mean = float(table.mean()) / 4
    return mean - 1.959964 * spread, mean + 1.959964 * spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--design", action="append", choices=DESIGNS, help="only this design; repeatable")
    arguments = parser.parse_args()
    studies: int = arguments.studies
    print("| design | S x T | sd seeds, tasks, cells | " + " | ".join(COLUMNS) + " |")
    print("|---|---|---|" + "---|" * len(COLUMNS))
    started = time.perf_counter()
    for name, (seeds, tasks, *sds) in DESIGNS.items():
        if arguments.design and name not in arguments.design:
            continue
        covered = dict.fromkeys(COLUMNS, 0)
        for number in range(studies):
            table = study(name, number)
            ends = {}
            for scheme, column in SCHEMES.items():
                found = two_sided(table, 4, LEVEL, "exact", scheme=scheme)
                ends[column] = found.lower, found.upper
            t = variance_component_t(table, 4, LEVEL)
            ends["t, variance components"] = t.lower, t.upper
            ends["runs within tasks"] = runs_within_tasks(table)
            for column, (lower, upper) in ends.items():
                covered[column] += lower <= 0 <= upper
        shares = [covered[column] / studies for column in COLUMNS]
        cells = [f"{share:.1%} ({math.sqrt(share * (1 - share) / studies):.1%})" for share in shares]
        print(
            f"| {name} | {seeds} x {tasks} | {', '.join(map(str, sds))} | " + " | ".join(cells) + " |",
            flush=True,
        )
    print(
        f"\n{studies} studies each, {time.perf_counter() - started:.0f} s; nominal 95 %; sampling error in brackets"
    )


SCHEMES = {
    "crossed": "crossed",
    "seeds_only": "seeds only",
    "tasks_only": "tasks only",
    "pooled": "pooled cells",
}
COLUMNS = [*SCHEMES.values(), "t, variance components", "runs within tasks"]

if __name__ == "__main__":
    main()

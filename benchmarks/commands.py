"""Whole commands as a user starts them: seconds and peak memory, as ratios to an empty Python process.

    python benchmarks/commands.py [RUNS]

The paper's registers are those of the repository. Medians over RUNS (default 5), the commands taken in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
COMMANDS = {
    "python -c pass": [PYTHON, "-c", "pass"],
    "prereg --help": [PYTHON, "-m", "prereg_kit", "--help"],
    "study --help": [PYTHON, "-m", "study", "--help"],
    "prereg show (published plan)": [PYTHON, "-m", "prereg_kit", "show", "frozen/paired-rollouts"],
    "prereg decide (published study)": [
        PYTHON,
        "-m",
        "prereg_kit",
        "decide",
        "--register",
        "registers/runs.parquet",
    ],
}


def once(command: list[str]) -> tuple[float, float, float]:
    """(wall seconds, CPU seconds, peak MB) of one run."""
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    assert status == 0, command
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Print one row per command."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in COMMANDS}
    for round_ in range(runs + 1):
        for name, command in COMMANDS.items():
            result = once(command)
            if round_:  # the first round warms the file cache
                measured[name].append(result)
    empty = statistics.median(cpu for _, cpu, _ in measured["python -c pass"])
    print(f"{'command':34} {'wall s':>8} {'cpu s':>8} {'x empty':>8} {'peak MB':>8}")
    for name, results in measured.items():
        wall, cpu, peak = (statistics.median(column) for column in zip(*results, strict=True))
        print(f"{name:34} {wall:8.3f} {cpu:8.3f} {cpu / empty:8.1f} {peak:8.0f}")


main()

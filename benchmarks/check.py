"""How long `prereg check` takes on a small plan, start-up included: `python benchmarks/check.py`.

Two hypotheses, eight pairs: a point rule and a rule on an interval. Each run is a process of its own. Wall-clock and
processor seconds, the smallest and the median of five.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAN = """\
format: prereg.plan/1
id: small
arms: {treatment: new, reference: old}
runs: {planned: [{arm: [new, old], seed: [0, 1, 2, 3, 4, 5, 6, 7]}]}
endpoints:
  success: {register: episodes, value: true_success}
hypotheses:
  H1:
    passes_if:
      all:
        - difference: {endpoint: success, at_least: 0.05}
        - every_seed: {endpoint: success, above: 0}
  H2: {passes_if: {interval: {endpoint: success, lower_above: 0}}}
"""
RUNS = 5


def main() -> None:
    """Time the command and print one line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(PLAN, encoding="utf-8")
        walls, processor = [], []
        for _ in range(RUNS):
            before, start = os.times(), time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "prereg_kit", "check", str(path)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            after = os.times()
            walls.append(time.perf_counter() - start)
            processor.append(
                after.children_user - before.children_user + after.children_system - before.children_system
            )
    for name, values in (("wall", walls), ("processor", processor)):
        print(f"{name:>10}  smallest {min(values):.2f} s  median {statistics.median(values):.2f} s")


if __name__ == "__main__":
    main()

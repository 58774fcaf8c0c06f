"""The simulator's speed, as numbers of a calibration loop measured in the same process a moment apart.

    python benchmarks/simulator.py [--seconds 2] [--json]

The calibration loop is plain Python, a dictionary look-up and update. Times are processor time of this process. A slow
or busy machine slows both, so the ratios travel; the absolute figures are of this machine at this moment. Each figure
is the best of several repeats. Floors: 5,000 faulted episodes a second, a draw under 1 microsecond. Goals: 20,000
clean, 12,000 faulted and rendered, a reset under 5 microseconds, a grade under 10, a live episode under 4 KB.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from study.backoffice.episode import Episode
from study.backoffice.faults import compile_law
from study.backoffice.generate import generate
from study.backoffice.pools import draw_pool
from study.backoffice.profiles import COMPACT, NATURAL
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import Schedule, evaluation_seed
from study.evaluation.rollout import play
from study.evaluation.rows import RunLabel, episode_row
from study.policies.scripted import SCRIPTED


def calibrate() -> float:
    """Seconds for one loop of the calibration, 100,000 steps."""
    table: dict[int, int] = {}
    started = time.process_time()
    for number in range(100_000):
        table[number & 255] = table.get(number & 127, 0) + 1
    return time.process_time() - started


def best(work: Callable[[], int], seconds: float) -> tuple[float, float]:
    """(seconds per unit, the same in calibration steps), the best of repeats that fill `seconds`."""
    results: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(results) < 3:
        before = calibrate()
        started = time.process_time()
        units = work()
        took = (time.process_time() - started) / units
        step = (before + calibrate()) / 2 / 100_000
        results.append((took, took / step))
    return min(row[0] for row in results), min(row[1] for row in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    laws = {name: compile_law(law) for name, law in REGIMES.items()}
    pools = {
        profile.name: [generate(profile, "validation", n) for n in range(100)]
        for profile in (NATURAL, COMPACT)
    }
    seeds = [evaluation_seed("validation", f"validation-{n:04d}", 0) for n in range(100)]
    schedule = Schedule(seeds[0])
    ended = [
        play(SCRIPTED["recovering"], t, laws["faults_p25"], s)
        for t, s in zip(pools["natural"], seeds, strict=True)
    ]
    label = RunLabel("r", "c", "a", 0, "recovering")

    def draws() -> int:
        draw = schedule.draw
        for repeat in range(20_000):
            draw("get_order", "O-12345", repeat & 7)
        return 20_000

    def resets() -> int:
        for _ in range(20):
            for task, seed in zip(pools["natural"], seeds, strict=True):
                Episode(task, laws["faults_p25"], seed)
        return 2000

    def grades() -> int:
        for _ in range(10):
            for episode in ended:
                episode.grade()
        return 1000

    def rows() -> int:
        for _ in range(3):
            for episode in ended:
                episode_row(label, REGIMES["faults_p25"], 0, episode)
        return 300

    def episodes(profile: str, regime: str, policy: str, rendered: bool) -> Callable[[], int]:
        def work() -> int:
            texts: list[str] = []
            look = (lambda _, reply: texts.append(reply.text)) if rendered else None
            for task, seed in zip(pools[profile], seeds, strict=True):
                play(SCRIPTED[policy], task, laws[regime], seed, observer=look).grade()
            return 100

        return work

    def pool() -> int:
        draw_pool(NATURAL, "validation")
        return 300

    measured = {
        "draw": draws,
        "reset": resets,
        "grade": grades,
        "register row": rows,
        "clean episode, naive": episodes("natural", "clean", "naive", False),
        "clean episode, recovering": episodes("natural", "clean", "recovering", False),
        "faulted episode, recovering": episodes("natural", "faults_p25", "recovering", False),
        "faulted and rendered, recovering": episodes("natural", "faults_p25", "recovering", True),
        "compact, faulted and rendered, recovering": episodes("compact", "faults_p25", "recovering", True),
        "task generated and digested": pool,
    }
    table = {name: best(work, options.seconds) for name, work in measured.items()}
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [
        play(SCRIPTED["recovering"], t, laws["faults_p25"], s)
        for t, s in zip(pools["natural"], seeds, strict=True)
    ]
    size = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    if options.json:
        figures = {
            name: {"microseconds": took * 1e6, "calibration_steps": steps}
            for name, (took, steps) in table.items()
        }
        print(
            json.dumps(
                {"format": "study.benchmark/1", "figures": figures, "bytes_per_ended_episode": size}, indent=2
            )
        )
        return
    print(f"{'':44s}{'microseconds':>13s}{'per second':>12s}{'calibration steps':>19s}")
    for name, (took, steps) in table.items():
        print(f"{name:44s}{took * 1e6:13.2f}{1 / took:12,.0f}{steps:19.1f}")
    print(f"an ended episode holds {size:,.0f} bytes (records included)")


if __name__ == "__main__":
    main()

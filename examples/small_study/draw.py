"""Draw the small study's registers from a stated model: `python draw.py FOLDER PLAN_FILE`.

Model: episode (arm, seed, split, regime, step, task, schedule) succeeds with probability
    logistic(task_difficulty + seed_shift + step_gain * step/100 + arm_gain), arm_gain only for `rereads`,
where difficulty and shift are normal draws keyed by their names. Every draw is a keyed hash (BLAKE2b) of its own
coordinates, so the registers are the same bytes on every machine and in any order.
"""

from __future__ import annotations

import hashlib
import math
import sys
from pathlib import Path
from statistics import NormalDist

from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.file import sibling_of, write_register, write_runs
from prereg_kit.registers.formats import RunRow

ARMS = ("rereads", "plain")
SEEDS = (0, 1, 2)
TASKS = {"test": 60, "validation": 30}
SCHEDULES = 2
GAIN = {
    ("noisy", "rereads"): 0.45,
    ("noisy", "plain"): 0.0,
    ("clean", "rereads"): 0.0,
    ("clean", "plain"): 0.0,
}
BASE = {"noisy": -0.5, "clean": 1.8}


def uniform(*coordinates: object) -> float:
    """A number in (0, 1) that belongs to these coordinates and to nothing else."""
    name = "\x1f".join(map(str, coordinates)).encode()
    word = int.from_bytes(hashlib.blake2b(name, digest_size=8, person=b"small-study").digest(), "little")
    return (word + 0.5) / 2**64


def normal(sd: float, *coordinates: object) -> float:
    """A normal draw with mean 0 that belongs to these coordinates."""
    return NormalDist(0, sd).inv_cdf(uniform(*coordinates))


def success(arm: str, seed: int, split: str, regime: str, step: int, task: str, schedule: int) -> bool:
    """One episode of the model."""
    logit = BASE[regime] + normal(1.2, "task", split, task) + normal(0.15, "seed", seed)
    logit += 1.2 * step / 100 + GAIN[regime, arm] * (1 if step else 0)
    return uniform("episode", arm, seed, split, regime, step, task, schedule) < 1 / (1 + math.exp(-logit))


def rows(arm: str, seed: int) -> list[dict[str, object]]:
    """Every episode of one run."""
    cells = [("test", regime, 100) for regime in ("noisy", "clean")]
    cells += [("validation", "noisy", step) for step in (0, 50, 100)]
    return [
        {
            "run_id": f"{arm}-s{seed}", "condition": "refunds", "arm": arm, "seed": seed, "step": step,
            "split": split, "regime": regime, "task": f"{split}-{number:03d}", "schedule": schedule,
            "true_success": success(arm, seed, split, regime, step, f"{number}", schedule),
        }
        for split, regime, step in cells
        for number in range(TASKS[split])
        for schedule in range(SCHEDULES)
    ]  # fmt: skip


def main() -> None:
    """Write one episodes register per run and the index of runs."""
    folder, plan = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    runs = []
    for arm in ARMS:
        for seed in SEEDS:
            episodes = rows(arm, seed)
            (folder / f"{arm}-s{seed}").mkdir()
            columns = {name: [row[name] for row in episodes] for name in episodes[0]}
            info = write_register(folder / f"{arm}-s{seed}" / "episodes.parquet", "episodes", columns)
            runs.append(
                RunRow(
                    run_id=f"{arm}-s{seed}",
                    study="small-study",
                    plan_digest=sha256_file(plan),
                    condition="refunds",
                    arm=arm,
                    seed=seed,
                    registers=(sibling_of(folder / "runs.parquet", "episodes", info.path),),
                )
            )
    write_runs(folder / "runs.parquet", runs)


main()

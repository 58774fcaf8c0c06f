"""The probe's time and memory, beside a plain loop that stores every gradient.

    python benchmarks/probe.py width outcome                    # made-up gradients of 33,638,400 coordinates
    python benchmarks/probe.py width transition
    python benchmarks/probe.py checkpoint runs/c2-p0 50 outcome # a checkpoint of a small tier

`width` drives the probe's own pass over a few units (more units change no peak) and prints the memory beyond what the
process held before, and the time of the reduction against the time that its products need at the rate of this
machine's matrix multiplication. `checkpoint` makes the gradients of one probe twice from the same rollouts, each in a
process of its own: unit by unit, and stored all together before anything is reduced.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import numpy as np

from study.probe import evidence as files
from study.probe.passes import Origin, Pass, Scored
from study.probe.spec import Kind, Spec
from study.probe.stream import BLOCK, Unit, gram_of
from study.probe.units import Pieces

WIDTH = 33_638_400
LIMIT_GB = {"outcome": 2.2, "transition": 10.6}
SHA = "0" * 64


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def spec_for(kind: Kind, units: int) -> Spec:
    schedules = 1 if kind == "outcome" else 8
    return Spec(
        kind=kind, run_id="made-up", study="benchmark", plan_sha256=None, config_digest=SHA, condition="C2",
        arm="paired", seed=0, tier="full", checkpoint=0, base_sha256=SHA, adapter_sha256=SHA, pool="validation",
        pool_sha256=SHA, profile="natural", regime="clean", law="law", noise=("0", "0", SHA), tasks=units,
        schedules=schedules, samples=8, flip_rate=0.1, comparators=64, temperature=1.0, importance="sequence_mask",
        cap=3.0, coordinates="trained",
    )  # fmt: skip


class MadeUp:
    """Gradients of any width from a keyed generator, made in place."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.seconds = 0.0

    def write(self, index: int, row: np.ndarray) -> Scored:
        started = time.perf_counter()
        rng = np.random.default_rng(index)
        for start in range(0, self.width, 1 << 20):
            part = row[start : start + (1 << 20)]
            part[:] = rng.standard_normal(part.size, dtype=np.float32)
        self.seconds += time.perf_counter() - started
        return Scored(0.0, 0.0)

    def unchanged(self) -> None:
        return None


def multiplication_rate(rows: int) -> float:
    """Floating-point operations a second of a float64 product of the shape that the Gram matrix needs."""
    part = np.random.default_rng(0).normal(size=(rows, BLOCK))
    best = 0.0
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(8):
            part @ part.T
        best = max(best, 8 * 2.0 * rows * rows * BLOCK / (time.perf_counter() - started))
    return best


def width(kind: Kind) -> None:
    units = 2 if kind == "outcome" else 1
    spec = spec_for(kind, units)
    rng = np.random.default_rng(0)
    successes = rng.integers(0, 2, size=(units, spec.rows)).astype(np.uint8)
    tokens = np.full((units, spec.rows), 5, dtype="<i4")
    sampled = {"successes": successes, "own_tokens": tokens}
    source = MadeUp(WIDTH)
    rate = multiplication_rate(spec.rows)
    before = peak_gb()
    with tempfile.TemporaryDirectory(prefix="study-probe-") as name:
        work = Pass(spec, sampled, source, precision="float32")
        pieces = Pieces(Path(name) / "probe.partial", spec)
        started = time.perf_counter()
        with pieces.held():
            work.run(pieces)
            whole = time.perf_counter() - started
            peak = peak_gb() - before
            work.evidence(pieces, Origin(["t"] * units, 1, SHA, SHA, None, {}, {}))
    final = peak_gb() - before
    buffer = Unit(spec.rows, BLOCK * 16, np.float32)
    buffer.rows[:] = 1.0
    started = time.perf_counter()
    buffer.gram()
    gram = (time.perf_counter() - started) * WIDTH / (BLOCK * 16)
    least = 2.0 * spec.rows**2 * WIDTH / rate
    stored = {"outcome": 512, "transition": 1024}[kind] * WIDTH * 4 / 1e9
    print(f"{kind}, {WIDTH:,} coordinates, {units} units of {spec.rows} gradients, vectors {work.vectors}")
    print(
        f"  memory beyond the process: {peak:.2f} GB, with the evidence {final:.2f} GB; limit {LIMIT_GB[kind]} GB"
    )
    print(f"  all gradients stored in float32: {stored:.0f} GB, {stored / final:.0f} times as much")
    print(
        f"  seconds a unit: {whole / units:.1f}, of which making the gradients {source.seconds / units:.1f}"
    )
    needed = f"its products at {rate / 1e9:.1f} GFLOP/s need {least:.2f} s: {gram / least:.1f} times"
    print(f"  Gram matrix: {gram:.2f} s; {needed}")


def checkpoint(run: Path, step: str, kind: Kind, way: str | None) -> None:
    if way is None:
        for each in ("streamed", "stored"):
            subprocess.run([sys.executable, __file__, "checkpoint", str(run), step, kind, each], check=True)
        return
    from study.probe import played
    from study.probe.measure import ModelSource
    from study.probe.scores import Scores
    from study.probe.spec import spec_of
    from study.trained.checkpoint_policy import trained
    from study.trained.language_model import policy_model
    from study.training.train import quiet_process

    found = trained(f"{run}@{step}")
    quiet_process(found.run)
    (chosen,) = found.checkpoints
    spec = spec_of(found, chosen, kind)
    marks = [time.process_time()]
    sampled = played.play(found, policy_model(found, chosen), spec)
    marks.append(time.process_time())
    scores = Scores(policy_model(found, chosen), spec.temperature)
    source = ModelSource(scores, played.texts(sampled))
    for index in range(3):
        source.write(index, np.zeros(source.width))
    before = peak_gb()
    marks.append(time.process_time())
    if way == "streamed":
        with tempfile.TemporaryDirectory(prefix="study-probe-") as name:
            work = Pass(spec, sampled, source)
            pieces = Pieces(Path(name) / "probe.partial", spec)
            with pieces.held():
                work.run(pieces)
                made = work.evidence(pieces, Origin([""] * spec.tasks, 1, SHA, SHA, None, {}, {}))
        value = float(made.floats("gram").sum())
        size = len(files.encoded(made))
    else:
        rows = np.zeros((spec.tasks * spec.rows, source.width))
        for index, row in enumerate(rows):
            source.write(index, row)
        value = sum(float(gram_of(part).sum()) for part in np.split(rows, spec.tasks))
        size = rows.nbytes
    marks.append(time.process_time())
    episodes = spec.tasks * spec.rows
    print(
        f"{way:9s} {kind}: {episodes} episodes, played in {marks[1] - marks[0]:.1f} processor seconds, gradients and "
        f"reduction {marks[3] - marks[2]:.1f} ({(marks[3] - marks[2]) / episodes:.4f} each), memory beyond the model "
        f"{(peak_gb() - before) * 1e3:.0f} MB, kept {size / 1e6:.2f} MB, sum of products {value:.12g}"
    )


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["width"] and len(arguments) == 2 and arguments[1] in ("outcome", "transition"):
        width(arguments[1])
    elif arguments[:1] == ["checkpoint"] and arguments[3:4] in (["outcome"], ["transition"]):
        kind: Kind = "outcome" if arguments[3] == "outcome" else "transition"
        checkpoint(Path(arguments[1]), arguments[2], kind, arguments[4] if arguments[4:] else None)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

"""A training step of the cpu tier by part, and what pairing, registers and seeds cost inside it.

    python benchmarks/training.py [STEPS] [STORE]

Every figure is measured here in one process on one thread; processor seconds, since other work may share the
machine. The first step is left out. With STORE (a folder of step-0 checkpoints) the tier's own policy plays,
otherwise a freshly initialised one, whose episodes are shorter and fail. The trainer's own loop, without our
sampler and registers, is not timed beside it yet.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from study.config import Tier
from study.config_file import read_tier, resolve
from study.registers import Log
from study.training import seeds, step_zero
from study.training.progress import Progress
from study.training.train import assemble, quiet_process, small_parts, train

OWN = ("seats", "checks", "record")


def measured_run(arm: str, steps: int, store: Path | None, folder: Path):
    """Train a few steps without evaluations; seconds by part of each step, and the rollouts' own tokens."""
    table = read_tier("cpu").model_dump()
    if store is None:
        table["warm_start"]["steps"] = 1
        table["warm_start"]["short_steps"] = table["warm_start"]["refund_steps"] = 0
    run = resolve(Tier.model_validate(table), condition="C2", arm=arm, seed=0)
    quiet_process(run)
    folder.mkdir()
    start = step_zero.build(run, store or folder)
    progress = Progress(0, steps)
    assembly = assemble(
        run, small_parts(run, start), folder, Log.begin(folder, None), progress, lambda _: None
    )
    for callback in list(assembly.trainer.callback_handler.callbacks):
        if type(callback).__name__ == "Evaluations":
            assembly.trainer.remove_callback(callback)
    tokens = []
    finished = assembly.trainer._finished
    assembly.trainer._finished = lambda step: (
        tokens.append(sum(sum(one.mask) for one in step.rollouts)),
        finished(step),
    )
    clock, ends = time.process_time, []
    training_step = assembly.trainer.training_step

    def timed(*arguments, **options):
        loss = training_step(*arguments, **options)
        ends.append(clock())
        return loss

    assembly.trainer.training_step = timed
    begun = clock()
    train(assembly, None)
    whole = [later - earlier for earlier, later in zip([begun, *ends], [*ends, clock()], strict=False)][1:-1]
    return assembly.recorder.seconds[1:], whole, tokens[1:]


def draws_cost() -> float:
    """Seconds for one uniform number, a new key every eight of them."""
    begun = time.process_time()
    for number in range(20_000):
        source = seeds.uniforms(seeds.key("sample", 0, 0, number, 0, 0))
        for _ in range(8):
            next(source)
    return (time.process_time() - begun) / 160_000


def main() -> None:
    """Print the table."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    store = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    each = draws_cost()
    with tempfile.TemporaryDirectory() as place:
        for arm in ("paired", "independent"):
            parts, whole, tokens = measured_run(arm, steps, store, Path(place) / arm)
            mean = {name: statistics.fmean(one.get(name, 0.0) for one in parts) for name in parts[0]}
            drawn = statistics.fmean(tokens) * each
            step = statistics.fmean(whole)
            own = sum(mean.get(name, 0.0) for name in OWN) + drawn
            print(f"{arm}: {step:.2f} processor seconds a step over {len(whole)} steps of 8 x 8")
            print(f"  generation with tools  {mean['generation']:.3f} s (wall)")
            print(f"  loss forward           {mean.get('forward', 0.0):.3f} s (wall)")
            rest = mean["step"] - mean["generation"] - mean.get("forward", 0.0)
            print(f"  backward, scoring      {rest:.3f} s (wall)")
            print(f"  pairing, registers     {own - drawn:.4f} s (wall), seeds {drawn:.4f} s")
            print(f"  overhead of the three  {100 * own / mean['step']:.2f} % of a step")


if __name__ == "__main__":
    main()

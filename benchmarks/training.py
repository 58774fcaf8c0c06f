"""A training step of the cpu tier beside the plain trainer, by part, and what pairing, registers and seeds cost.

    python benchmarks/training.py [--steps 10] [--rounds 2] [--store DIR] [--only-bare]

Four trainers take the same steps from the same model on the same tasks, each in a process of its own, in turn:

    ours     paired and independent, as `study train` runs them
    bare     the same trainer and sampler without seats, proofs, advantage check, keyed numbers and registers. It is
             handed the schedules and uniform numbers that `ours` drew, so both play the same episodes token for
             token and differ in nothing but that work
    plain    TRL's GRPOTrainer and transformers' generate with our kernel for the gated-delta rule, and no more of
             ours than a reader for the policy's call syntax; groups share a schedule through a dataset column
    stock    plain with transformers' own kernel

Processor seconds, one thread, the first step left out; peak resident memory of the process. With --store (a folder
of step-0 checkpoints) the tier's own policy plays, otherwise a freshly initialised one, whose episodes fail early.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

OWN = ("seats", "checks", "record")
ORDER = (
    ("ours", "paired"),
    ("bare", "paired"),
    ("plain", "paired"),
    ("stock", "paired"),
    ("ours", "independent"),
    ("bare", "independent"),
)


def resolved(arm: str, store: Path | None):
    """The run, with no warm start to speak of where no store is given."""
    from study.config.file import read_tier, resolve
    from study.config.run_config import Tier

    table = read_tier("cpu").model_dump()
    if store is None:
        table["warm_start"]["steps"] = 1
        table["warm_start"]["short_steps"] = table["warm_start"]["refund_steps"] = 0
    return resolve(Tier.model_validate(table), condition="C2", arm=arm, seed=0)


def assembled(run, start: Path, folder: Path, steps: int):
    """The run put together without its evaluations and checkpoints."""
    from study.runs.log import Log
    from study.training.progress import Progress
    from study.training.settings import trl_arguments
    from study.training.train import assemble, small_parts

    arguments = trl_arguments(run, folder / "checkpoints") | {"save_strategy": "no"}
    progress, log = Progress(0, steps), Log.begin(folder, None)
    parts = small_parts(run, start)
    assembly = assemble(run, parts, folder, log, progress, lambda _: None, arguments=arguments)
    for callback in list(assembly.trainer.callback_handler.callbacks):
        if type(callback).__name__ in ("Evaluations", "StopAt"):
            assembly.trainer.remove_callback(callback)
    assembly.trainer.args.max_steps = steps
    return assembly


def tape_of(assembly) -> dict[str, Any]:
    """Train and write down every seat and every uniform number that was asked for."""
    from study.training import rollout, seeds

    tape: dict[str, Any] = {"seats": {}, "uniforms": {}}
    trainer = assembly.trainer
    secret, finished = trainer._secret, trainer._finished
    names: dict[bytes, str] = {}

    def named(one):
        own = secret(one)

        def at(turn: int) -> bytes:
            key = own(turn)
            names[key] = f"{one.row}/{one.slot}/{turn}"
            return key

        return at

    def listening(key: bytes):
        kept = tape["uniforms"].setdefault(names[key], [])
        for value in seeds.uniforms(key):
            kept.append(value)
            yield value

    def after(step) -> None:
        for seat in step.seats:
            tape["seats"][f"{seat.row}/{seat.slot}"] = [seat.schedule_seed, seat.noisy]
        finished(step)

    rollout.seeds = SimpleNamespace(uniforms=listening)  # type: ignore[assignment]
    trainer._secret, trainer._finished = named, after
    trainer.train()
    return tape


def strip(assembly, tape: dict[str, Any]) -> None:
    """Take seats, proofs, checks, keyed numbers and registers out of an assembled trainer."""
    import torch
    import trl

    from study.training import rollout, seeds
    from study.training.arms import Seat
    from study.training.train import RunTrainer
    from study.training.trainer import Step

    class Bare(RunTrainer):
        def _generate_and_score_completions(self, inputs):
            step, size = self.state.global_step, self.num_generations
            seats = [
                Seat(int(row["row"]), index % size, *tape["seats"][f"{row['row']}/{index % size}"])
                for index, row in enumerate(inputs)
            ]
            seated = [
                dict(row, rollout_slot=one.slot, schedule_seed=one.schedule_seed, noisy=one.noisy)
                for row, one in zip(inputs, seats, strict=True)
            ]
            self._now = Step(step, seats, [], [])
            output = trl.GRPOTrainer._generate_and_score_completions(self, seated)
            self._now.weights = [None] * len(seats)
            self._now.log_ratios = [None] * len(seats)
            output["row_index"] = torch.arange(len(seats))
            torch.manual_seed(seeds.integer("shuffle", self._run.seed, step))  # the same order of sums
            return output

        def _secret(self, one):
            return lambda turn: f"{one.row}/{one.slot}/{turn}"

    rollout.seeds = SimpleNamespace(uniforms=lambda name: iter(tape["uniforms"].get(name, ())))  # type: ignore[assignment]
    assembly.trainer.__class__ = Bare
    assembly.trainer._finished = lambda step: None


def plain_trainer(run, start: Path, folder: Path, steps: int):
    """TRL's own trainer around the same model, tasks and environment."""
    import trl
    from datasets import Dataset
    from trl.trainer import grpo_trainer

    from study.backoffice.schedule import train_seed
    from study.training import step_zero
    from study.training.dataset import Tasks, rows
    from study.training.environment import environment_class, observed_rewards
    from study.training.settings import trl_arguments
    from study.training.train import run_profile

    wire, tasks = step_zero.small_wire(run), Tasks(run)

    finish = wire.tokenizer.get_vocab()["finish("]

    def read(_tokenizer, ids, prefix=()):
        # The loop goes on as long as calls come, also after the episode's end; we let it have one turn more, not 22.
        calls = [
            {"type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in ([] if finish in prefix else wire.call(list(ids)))
        ]
        return {"role": "assistant", "content": ""} | ({"tool_calls": calls} if calls else {})

    grpo_trainer.parse_response = read
    columns = [
        row | {"schedule_seed": train_seed(run.seed, row["row"]), "noisy": True, "rollout_slot": 0}
        for row in rows(run, tasks)
    ]
    arguments = trl_arguments(run, folder) | {"save_strategy": "no", "max_steps": steps}
    arguments["generation_kwargs"] = {"max_new_tokens": run.tier.rollouts.max_turn_tokens}
    return trl.GRPOTrainer(
        model=step_zero.load(run, start).model,
        reward_funcs=observed_rewards,
        args=trl.GRPOConfig(**arguments),
        train_dataset=Dataset.from_list(columns),
        processing_class=wire.tokenizer,
        environment_factory=environment_class(run_profile(run), tasks.named, run.condition),
    )


def child(variant: str, arm: str, steps: int, store: Path | None, place: Path) -> dict[str, Any]:
    """Take the steps with one trainer, in this process."""
    import transformers

    from study.training import delta_rule, step_zero
    from study.training.train import quiet_process

    run = resolved(arm, store)
    quiet_process(run)
    start = step_zero.build(run, store or place / "step0")
    tape = place / f"tape-{arm}.json"
    parts: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(dir=place) as folder:
        if variant in ("plain", "stock"):
            if variant == "stock":
                delta_rule.bind("stock")
            trainer = plain_trainer(run, start, Path(folder), steps)
            trainer.remove_callback(transformers.PrinterCallback)
        else:
            assembly = assembled(run, start, Path(folder), steps)
            trainer = assembly.trainer
            if variant == "tape":
                tape.write_text(json.dumps(tape_of(assembly)))
                return {}
            if variant == "bare":
                strip(assembly, json.loads(tape.read_text()))
            parts = assembly.recorder.seconds
        clock, ends = time.process_time, []
        training_step = trainer.training_step

        def timed(*arguments, **options):
            loss = training_step(*arguments, **options)
            ends.append(clock())
            return loss

        trainer.training_step = timed
        trainer.train()
    return {
        "seconds": [later - earlier for earlier, later in pairwise(ends)],
        "parts": parts[1:],
        "reward": statistics.fmean(row["reward"] for row in trainer.state.log_history if "reward" in row),
        "tokens": trainer.state.num_input_tokens_seen,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_turn(
    order: Sequence[tuple[str, str]], steps: int, rounds: int, store: Path | None, place: Path
) -> dict[tuple[str, str], list[dict]]:
    """Every trainer in a process of its own, the order reversed every other round."""
    found: dict[tuple[str, str], list[dict]] = {key: [] for key in order}

    def ask(variant: str, arm: str) -> dict:
        command = [sys.executable, __file__, "--steps", str(steps), "--child", variant, arm, str(place)]
        command += ["--store", str(store)] if store else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    for arm in ("paired", "independent"):
        ask("tape", arm)
    for turn in range(rounds):
        for key in order if turn % 2 == 0 else order[::-1]:
            found[key].append(ask(*key))
    return found


def show(found: dict[tuple[str, str], list[dict]]) -> None:
    """Print the table."""
    mean = {key: statistics.fmean(s for one in rows for s in one["seconds"]) for key, rows in found.items()}
    print("processor seconds a step of 8 x 8, its ratio to ours, peak memory, tokens of all steps")
    for (variant, arm), rows in found.items():
        peak = max(one["peak_mib"] for one in rows)
        ratio = mean[variant, arm] / mean["ours", arm]
        each = " ".join(f"{statistics.fmean(one['seconds']):.3f}" for one in rows)
        print(
            f"  {variant:6} {arm:12} {mean[variant, arm]:6.3f} s  {ratio:5.2f}  {peak:6.0f} MiB"
            f"  {rows[0]['tokens']:7d}   (rounds: {each})"
        )
    for arm in ("paired", "independent"):
        gaps = [
            100 * (sum(ours["seconds"]) / sum(bare["seconds"]) - 1)
            for ours, bare in zip(found["ours", arm], found["bare", arm], strict=True)
        ]
        shown = " ".join(f"{gap:+.2f}" for gap in gaps)
        print(
            f"{arm}: ours takes {statistics.median(gaps):+.2f} % more than bare (median of rounds: {shown})"
        )
        parts = [part for one in found["ours", arm] for part in one["parts"]]
        total = {name: statistics.fmean(part.get(name, 0.0) for part in parts) for name in parts[0]}
        step = total["step"]
        rest = step - total["generation"] - total.get("forward", 0.0)
        for name, value in (
            ("generation with tools", total["generation"]),
            ("loss forward", total.get("forward", 0.0)),
            ("backward, optimiser, scoring", rest),
            ("seats, checks, registers", sum(total[name] for name in OWN)),
        ):
            print(f"  {name:30} {100 * value / step:5.2f} % of a step's wall time")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--only-bare", action="store_true", help="leave the plain trainers out")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        variant, arm, place = chosen.child
        print(json.dumps(child(variant, arm, chosen.steps, chosen.store, Path(place))))
        return
    with tempfile.TemporaryDirectory() as place:
        order = [key for key in ORDER if not chosen.only_bare or key[0] in ("ours", "bare")]
        show(in_turn(order, chosen.steps, chosen.rounds, chosen.store, Path(place)))


if __name__ == "__main__":
    main()

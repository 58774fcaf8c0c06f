"""A run's life around the trainer: folder, lock, lineage, step-0 checkpoint, registers, curves.

Called by `study train`; everything that is written below the run's folder is written from here.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prereg_kit.errors import Where
from study.config.run_config import RunConfig
from study.errors import DivergedError, StudyError
from study.runs import provenance, spare
from study.runs import record as run_record
from study.runs.log import Log
from study.runs.provenance import Binding
from study.training import checkpoints
from study.training.progress import Progress, Tell

StepZeroTold = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Request:
    """What a caller asks for.

    Attributes:
        run: the resolved config.
        out: the run's folder.
        store: folder of step-0 checkpoints.
        binding: the frozen plan that binds the config, None if exploratory.
        study: name in the index.
        stop: optimiser step to stop at; the run's last by default.
        resume: continue what lies in `out`.
    """

    run: RunConfig
    out: Path
    store: Path
    binding: Binding | None
    study: str
    stop: int
    resume: bool


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes:
        done: optimiser steps made.
        status: completed or stopped.
        record: run.json.
        progress: the evaluations of this attempt.
        seconds: seconds by part, summed over this attempt's steps.
    """

    done: int
    status: str
    record: dict[str, Any]
    progress: Progress
    seconds: dict[str, float]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run's folder; the kernel frees the lock when its owner ends, however it ends.

    Raises:
        StudyError: another process trains there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f".{folder.name}.lock")
    with path.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StudyError(
                "another process trains in this folder", where=Where(file=str(folder))
            ) from error
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def execute(request: Request, tell: Tell, told: StepZeroTold | None = None) -> Result:
    """Train one run, from the start or from its last complete checkpoint.

    Raises:
        ArchiveError: `out` holds something and `resume` is false.
        StudyError: what lies there belongs to another config, plan or study, or was begun on another device or
            with other versions.
        DivergedError: the run's numbers left every sensible range; run.json says at which step and which number,
            the registers hold what was played until then, and the index calls the run failed.
    """
    run, out = request.run, request.out
    with locked(out):
        spare.sweep(out)
        facts = _facts(run)
        record = run_record.begin(
            out, run, binding=request.binding, study=request.study, resume=request.resume, facts=facts
        )
        done = 0
        try:
            spare.hold(out)
            found = checkpoints.last_for(out / "checkpoints", run.digest) if request.resume else None
            resumed = None if found is None else found[0]
            done = resumed or 0
            log = Log.begin(out, resumed)
            run_record.update(out, record, log=log.attempt.number, resumed_from=resumed)
            progress = Progress(done, request.stop)
            cpu, wall = time.process_time(), time.perf_counter()
            if done < request.stop:
                seconds, done = _train(request, log, record, progress, tell, told, found)
            else:
                seconds = {}
            run_record.write_registers(out)
            spare.release(out)
            status = "completed" if done == run.tier.optimisation.steps else "stopped"
            spent = {"processor_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - wall}
            rounded: dict[str, Any] = {key: round(value, 1) for key, value in spent.items()}
            rounded["seconds_of_steps"] = {key: round(value, 2) for key, value in seconds.items()}
            run_record.end(out, record, status, done, **rounded)
        except KeyboardInterrupt:
            spare.release(out)
            run_record.end(out, record, "interrupted", done)
            raise
        except DivergedError as error:
            spare.release(out)
            run_record.end(
                out,
                record,
                "diverged",
                done if error.step is None else error.step,
                divergence=run_record.Divergence.of(error).model_dump(),
            )
            run_record.write_registers(out)
            run_record.write_index(out, record)
            raise
        except BaseException:
            spare.release(out)
            run_record.end(out, record, "failed", done)
            raise
        run_record.write_index(out, record)
        return Result(done, status, record, progress, seconds)


def _facts(run: RunConfig) -> dict[str, Any]:
    """What is recorded of this machine before anything is trained."""
    return {
        "code": provenance.code(),
        "versions": provenance.versions(),
        "device": provenance.processor() if run.tier.policy.kind == "small" else _accelerator(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def _accelerator() -> str:
    import torch

    return torch.cuda.get_device_name(0)


def _train(
    request: Request,
    log: Log,
    record: dict[str, Any],
    progress: Progress,
    tell: Tell,
    told: StepZeroTold | None,
    found: tuple[int, Path] | None,
) -> tuple[dict[str, float], int]:
    from study.runs import step_zero_record
    from study.training import delta_rule, step_zero
    from study.training.train import assemble, pretrained_parts, quiet_process, small_parts, train

    run = request.run
    quiet_process(run)
    zero: dict[str, Any] | None = None
    if run.tier.policy.kind == "small":
        start = step_zero.build(run, request.store, told)
        zero = step_zero_record.read_start(start)
        began = step_zero_record.began_from(record["attempts"])
        if began is not None:
            step_zero_record.same_start(began, zero, start)
        elif found is not None:
            raise StudyError(
                "there is a checkpoint, but the run's record does not say which weights it began from",
                where=Where(file=str(request.out / "run.json"), field="attempts.step_zero"),
                next_step="Train it again in another folder.",
            )
        parts = small_parts(run, start)
    else:
        parts = pretrained_parts(run)
    assembly = assemble(run, parts, request.out, log, progress, tell, resumed=found is not None)
    run_record.update(
        request.out,
        record,
        kernels=delta_rule.bound(),
        pools=assembly.tasks.digests,
        language=assembly.wire.digest,
        step_zero=zero,
    )
    done = train(assembly, None if found is None else found[1])
    totals: dict[str, float] = {}
    for part in assembly.recorder.seconds:
        for name, value in part.items():
            totals[name] = totals.get(name, 0.0) + value
    return totals, done

"""A trained policy by name: `DIR@STEP[,STEP...]`, checkpoints of a run's folder and the digests of their weights.

No torch: a name is resolved, and refused, before anything heavy is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prereg_kit.errors import Where
from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.config.run_config import RunConfig
from study.errors import ConfigError, StudyError
from study.runs import record as run_record
from study.runs import step_zero_record
from study.training import checkpoints

LAST = "last"
_LONGEST = 9  # digits of a step


@dataclass(frozen=True)
class Checkpoint:
    """One policy of a run.

    Attributes:
        step: optimiser steps.
        adapter: path of the adapters' weights.
        adapter_sha256: of that file, as the checkpoint's record names it.
        base_sha256: of the base that the run began from.
    """

    step: int
    adapter: Path
    adapter_sha256: str
    base_sha256: str

    @property
    def digest(self) -> str:
        """SHA-256 over both digests: equal weights have equal digests, wherever and whenever they were trained."""
        return sha256_bytes(canonical_json([self.base_sha256, self.adapter_sha256]))


@dataclass(frozen=True)
class Trained:
    """Checkpoints of one run.

    Attributes:
        folder: the run's folder.
        start: folder of its step-0 checkpoint.
        run: its resolved config.
        study: the study's name in its record.
        plan_sha256: of the frozen plan that binds it, None if it is exploratory.
        checkpoints: ascending by step.
    """

    folder: Path
    start: Path
    run: RunConfig
    study: str
    plan_sha256: str | None
    checkpoints: tuple[Checkpoint, ...]


def names_trained(name: str) -> bool:
    """Whether a policy's name is meant as one of a trained run."""
    return "@" in name


def trained(name: str, store: Path | None = None) -> Trained:
    """Find the checkpoints that a name means.

    Args:
        name: `DIR@STEP[,STEP...]`; STEP is a number of optimiser steps, 0 for the start, or `last`.
        store: of step-0 checkpoints; by default `step0` beside DIR, as in training.

    Raises:
        ConfigError: no run, or no complete checkpoint of a step.
        NotCheckedError: no step-0 checkpoint there.
        StudyError: not the start that the run began from, or a checkpoint of another config.
    """
    text, _, wanted = name.rpartition("@")
    folder = Path(text).resolve()  # so that `.` and `..` have a parent
    record = run_record.read(folder)
    run = run_record.config_of(record, str(folder / "run.json"))
    if run.tier.policy.kind != "small":
        raise ConfigError(
            "only policies of a small tier are played outside training",
            where=Where(file=str(folder / "run.json"), field="config.tier.policy.kind"),
            expected="small",
            found=run.tier.policy.kind,
        )
    start = step_zero_record.start_folder(run, store or folder.parent / "step0")
    base, adapter = _held_start(start, record, folder)
    found = {0: Checkpoint(0, start / step_zero_record.ADAPTER, adapter, base)}
    for step, path in checkpoints.complete(folder / "checkpoints"):
        if step > run.tier.optimisation.steps:
            continue  # no step of this run
        found[step] = Checkpoint(step, path / checkpoints.WEIGHTS, _adapter_of(path, run), base)
    steps = sorted({_step(word, sorted(found), record["done"], folder) for word in wanted.split(",")})
    bound = record["bound_by"]
    plan = None if bound is None else bound["sha256"]
    return Trained(folder, start, run, record["study"], plan, tuple(found[step] for step in steps))


def _held_start(start: Path, record: dict[str, Any], folder: Path) -> tuple[str, str]:
    began = step_zero_record.began_from(record["attempts"])
    if began is None:
        raise ConfigError(
            "the run's record does not say which weights it began from",
            where=Where(file=str(folder / "run.json"), field="attempts.step_zero"),
            expected="the step-0 checkpoint's record, written when training began",
            next_step="A run that never began training has no policy to play.",
        )
    held = step_zero_record.read_start(start)
    step_zero_record.same_start(began, held, start)
    return step_zero_record.weights_of(held)


def _adapter_of(path: Path, run: RunConfig) -> str:
    record = checkpoints.read_record(path) or {}
    if record.get("config_digest") != run.digest:
        raise StudyError(
            "the checkpoint belongs to another config",
            where=Where(file=str(path / "complete.json"), field="config_digest"),
            expected=run.digest,
            found=record.get("config_digest"),
        )
    return str(record["files"][checkpoints.WEIGHTS])


def _step(word: str, known: list[int], done: int | None, folder: Path) -> int:
    where = Where(file=str(folder / "checkpoints"))
    if word == LAST:
        if done is not None and known[-1] != done:
            raise ConfigError(
                "the checkpoint of the run's last step is damaged or gone",
                where=where,
                expected=f"{done}, as run.json says",
                found=f"{known[-1]}, the last complete one",
                next_step="Name the step that you mean.",
            )
        return known[-1]
    number = int(word) if word.isascii() and word.isdecimal() and len(word) <= _LONGEST else None
    if number not in known:
        raise ConfigError(
            "no complete checkpoint of this step",
            where=where,
            expected=f"one of {', '.join(map(str, known))}, or {LAST}",
            found=word[:40],
        )
    return number

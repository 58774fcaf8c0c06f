"""A trained policy by name: `DIR@STEP[,STEP...]`, checkpoints of a run's folder and the digests of their weights.

No torch: a name is resolved, and refused, before anything heavy is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prereg_kit.digest import sha256_file
from prereg_kit.errors import Where
from study import run_record
from study.config import RunConfig
from study.errors import ConfigError, StudyError
from study.training import checkpoints, step_zero_record

LAST = "last"


@dataclass(frozen=True)
class Trained:
    """Checkpoints of one run.

    Attributes:
        folder: the run's folder.
        start: folder of its step-0 checkpoint.
        run: its resolved config.
        study: the study's name in its record.
        checkpoints: (optimiser steps, SHA-256 of the record that lists the checkpoint's files), ascending.
    """

    folder: Path
    start: Path
    run: RunConfig
    study: str
    checkpoints: tuple[tuple[int, str], ...]


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
        StudyError: no step-0 checkpoint there, or not the one that the run began from.
    """
    text, _, wanted = name.rpartition("@")
    folder = Path(text)
    record = run_record.read(folder)
    run = run_record.config_of(record, str(folder / "run.json"))
    if run.tier.policy.kind != "small":
        raise ConfigError(
            "only policies of a small tier are played outside training",
            where=Where(file=str(folder / "run.json"), field="config.tier.policy.kind"),
            expected="small",
            found=run.tier.policy.kind,
        )
    start = step_zero_record.start_of(run, store or folder.parent / "step0", record["attempts"])
    records = {0: start / "step_zero.json"} | {
        step: path / "complete.json" for step, path in checkpoints.complete(folder / "checkpoints")
    }
    steps = sorted({_step(word, records, folder) for word in wanted.split(",")})
    for step in steps:
        _belongs(records[step], step, run)
    return Trained(
        folder, start, run, str(record["study"]), tuple((step, sha256_file(records[step])) for step in steps)
    )


def _step(word: str, records: dict[int, Path], folder: Path) -> int:
    found = max(records) if word == LAST else int(word) if word.isascii() and word.isdecimal() else None
    if found not in records:
        raise ConfigError(
            "no complete checkpoint of this step",
            where=Where(file=str(folder / "checkpoints")),
            expected=f"one of {', '.join(map(str, sorted(records)))}, or {LAST}",
            found=word,
        )
    return found


def _belongs(path: Path, step: int, run: RunConfig) -> None:
    found = (checkpoints.read_record(path.parent) or {}).get("config_digest") if step else run.digest
    if found != run.digest:
        raise StudyError(
            "the checkpoint belongs to another config",
            where=Where(file=str(path), field="config_digest"),
            expected=run.digest,
            found=found,
        )

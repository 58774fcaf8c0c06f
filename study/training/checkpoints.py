"""Checkpoints that are complete or do not count: written aside, listed with their digests, renamed.

    checkpoints/checkpoint-20/   adapter_model.safetensors, optimizer.pt, scheduler.pt, trainer_state.json, ...
                    complete.json  step, config digest, SHA-256 of every file; written last

A folder without a complete.json that fits its name and its files is never resumed from, and never deleted either.
No pickled objects are kept: optimizer.pt and scheduler.pt load with `weights_only`, the trainer's pickled arguments
are dropped, and no generator state is stored because nothing draws from a global generator.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

from prereg_kit.foundation.digest import readable_json, sha256_file
from prereg_kit.foundation.durable import sync_folder, write_bytes
from study.errors import StudyError

FORMAT = "study.checkpoint/1"
WEIGHTS = "adapter_model.safetensors"
_DROPPED = ("training_args.bin", "rng_state.pth", "README.md")


def name_of(step: int) -> str:
    """The folder's name at a step, the one that transformers reads the step from."""
    return f"checkpoint-{step}"


def finalise(written: Path, target: Path, step: int, config_digest: str) -> None:
    """Turn a folder that a trainer has just written into a checkpoint.

    Args:
        written: the folder, on the same file system as `target`.
        target: where the checkpoint will be; if a complete one is there already the new one is discarded, an
            incomplete one is moved aside.
        step: optimiser steps made.
        config_digest: of the resolved run.
    """
    for name in _DROPPED:
        (written / name).unlink(missing_ok=True)
    _settle(written / "adapter_config.json")
    files = {
        path.relative_to(written).as_posix(): sha256_file(path)
        for path in sorted(written.rglob("*"))
        if path.is_file()
    }
    for path in written.rglob("*"):
        if path.is_file():
            with path.open("rb+") as handle:
                os.fsync(handle.fileno())
    record = {"format": FORMAT, "step": step, "config_digest": config_digest, "files": files}
    write_bytes(written / "complete.json", readable_json(record))
    if target.exists():
        if is_complete(target):
            shutil.rmtree(written)
            return
        target.rename(target.with_name(f"incomplete-{target.name}-{secrets.token_hex(4)}"))
    written.rename(target)
    sync_folder(target.parent)


def _settle(config: Path) -> None:
    """PEFT writes its set of target modules in the order of salted hashes; sort it."""
    if config.exists():
        value = json.loads(config.read_bytes())
        modules = value.get("target_modules")
        if isinstance(modules, list):
            value["target_modules"] = sorted(modules)
        config.write_bytes(readable_json(value))


def read_record(folder: Path) -> dict[str, Any] | None:
    """complete.json, or None if it is absent, unreadable or lists no weights."""
    try:
        record = json.loads((folder / "complete.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return None
    files = record.get("files")
    return record if isinstance(files, dict) and WEIGHTS in files else None


def is_complete(folder: Path) -> bool:
    """Whether the record is of this very step and every file that it lists is there with its digest."""
    record = read_record(folder)
    if record is None or type(record.get("step")) is not int or record["step"] < 1:
        return False
    try:
        return folder.name == name_of(record["step"]) and all(
            (folder / name).is_file() and sha256_file(folder / name) == want
            for name, want in record["files"].items()
        )
    except (OSError, ValueError):  # a name that no file can have
        return False


def complete(folder: Path) -> list[tuple[int, Path]]:
    """(step, path) of the complete checkpoints under a `checkpoints` folder, by step."""
    found = []
    for path in folder.glob("checkpoint-*"):
        if is_complete(path):
            found.append((int(path.name.removeprefix("checkpoint-")), path))
    return sorted(found)


def last_for(folder: Path, config_digest: str) -> tuple[int, Path] | None:
    """The last complete checkpoint of this very config.

    Raises:
        StudyError: the checkpoints belong to another config.
    """
    usable = complete(folder)
    if not usable:
        return None
    step, path = usable[-1]
    record = read_record(path) or {}
    if record.get("config_digest") != config_digest:
        raise StudyError(
            "the checkpoints belong to another config",
            expected=config_digest,
            found=record.get("config_digest"),
            next_step="Resume with the config that wrote them, or choose another folder.",
        )
    return step, path

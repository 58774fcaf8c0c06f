"""What is written beside the weights of a step-0 checkpoint, and whether it is the one a run began from. No torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from prereg_kit.digest import sha256_file
from prereg_kit.errors import Where
from study.config import RunConfig, step_zero_digest
from study.errors import StudyError

FORMAT = "study.step0/1"
BASE_FORMAT = "study.base/1"


def read(path: Path) -> dict[str, Any]:
    """step_zero.json or base.json.

    Raises:
        StudyError: there is none, or it lists no files.
    """
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
        if isinstance(record["files"], dict) and isinstance(record.get("base", {}).get("files", {}), dict):
            return record
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StudyError(
            "no step-0 checkpoint here",
            where=Where(file=str(path)),
            next_step="Name the store of step-0 checkpoints that the run was trained with (--step-zero).",
        ) from error
    raise StudyError("a step-0 checkpoint that lists no files", where=Where(file=str(path), field="files"))


def examine(folder: Path, record: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Hold a folder to its record, and the record to what is expected of it.

    Raises:
        StudyError: another value than expected, or a file that is not the one listed.
    """
    for field, value in expected.items():
        if record.get(field) != value:
            raise StudyError(
                "the step-0 checkpoint is not this run's",
                where=Where(file=str(folder), field=field),
                expected=value,
                found=record.get(field),
                next_step="Remove the folder to have it built again.",
            )
    for name, digest in record["files"].items():
        if not (folder / name).is_file() or sha256_file(folder / name) != digest:
            raise StudyError("a damaged step-0 checkpoint", where=Where(file=str(folder / name)))


def began_from(attempts: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The step-0 record that a run's attempts name, None if none of them got that far."""
    named = [attempt["step_zero"] for attempt in attempts if attempt.get("step_zero")]
    return named[-1] if named else None


def same_start(attempts: Iterable[Mapping[str, Any]], found: Mapping[str, Any], where: Path) -> None:
    """Hold a step-0 checkpoint to the one that a run began from.

    A store vouches for itself: whoever can change its weights can change the digests beside them. A run's own
    record, written when it began, cannot be changed that way.

    Args:
        attempts: of run.json.
        found: the record of the checkpoint that is about to be used.
        where: its folder.

    Raises:
        StudyError: another one.
    """
    recorded = began_from(attempts)
    if recorded is not None and weights_of(recorded) != weights_of(found):
        raise StudyError(
            "the step-0 checkpoint is not the one that this run began from",
            where=Where(file=str(where)),
            expected=repr(weights_of(recorded)),
            found=weights_of(found),
            next_step="Name the store that the run was trained with (--step-zero).",
        )


def start_of(run: RunConfig, store: Path, attempts: Iterable[Mapping[str, Any]]) -> Path:
    """The folder of the step-0 checkpoint that a run began from; never built here.

    Raises:
        StudyError: the store lacks it or holds another one.
    """
    folder = store / step_zero_digest(run)
    same_start(attempts, read(folder / "step_zero.json"), folder)
    return folder


def weights_of(record: Mapping[str, Any]) -> dict[str, str]:
    """SHA-256 of the adapters' and the base's file, by name; figures and times beside them may differ."""
    return {**record["files"], **record["base"]["files"]}

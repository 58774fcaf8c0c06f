"""What is written beside the weights of a step-0 checkpoint, and whether it is the one a run began from. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prereg_kit.errors import NotCheckedError, Where
from study.config.run_config import RunConfig, base_digest, step_zero_digest
from study.errors import StudyError
from study.runs.json_file import read_json

FORMAT = "study.step0/1"
BASE_FORMAT = "study.base/1"
ADAPTER, MODEL = "adapter.safetensors", "model.safetensors"
STORE = "Name the store of step-0 checkpoints that the run was trained with (--step-zero)."


def read_start(folder: Path) -> dict[str, Any]:
    """step_zero.json of a folder.

    Raises:
        NotCheckedError: there is none.
        StudyError: one that does not name exactly the adapters and the base.
    """
    path = folder / "step_zero.json"
    record = _read(path)
    hold_start(record, path)
    return record


def read_base(folder: Path) -> dict[str, Any]:
    """base.json of a folder.

    Raises:
        NotCheckedError: there is none.
        StudyError: one that does not name exactly the weights.
    """
    path = folder / "base.json"
    record = _read(path)
    _hold_files(record, MODEL, path, "files")
    return record


def hold_start(record: Any, path: Path, field: str = "") -> None:
    """Hold a start's record to its shape: exactly the adapters' file, and exactly the base's.

    Args:
        record: from step_zero.json, or as run.json carries it.
        path: the file that it stands in.
        field: where in that file, with a dot behind it.

    Raises:
        StudyError: another shape.
    """
    _hold_files(record, ADAPTER, path, f"{field}files")
    _hold_files(record.get("base"), MODEL, path, f"{field}base.files")
    if not isinstance(record.get("digest"), str):
        raise StudyError(
            "a step-0 checkpoint without a digest", where=Where(file=str(path), field=f"{field}digest")
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path, "a step-0 checkpoint's record")
    except FileNotFoundError as error:
        raise NotCheckedError(
            "no step-0 checkpoint here", where=Where(file=str(path)), next_step=STORE
        ) from error


def _hold_files(record: object, name: str, path: Path, field: str) -> None:
    files = record.get("files") if isinstance(record, dict) else None
    if not isinstance(files, dict) or list(files) != [name] or not isinstance(files[name], str):
        raise StudyError(
            "a step-0 checkpoint does not name its weights",
            where=Where(file=str(path), field=field),
            expected=f"{name} and its SHA-256, nothing else",
            found=files,
        )


def hold(record: Mapping[str, Any], expected: Mapping[str, Any], folder: Path) -> None:
    """Hold a record to what a run expects of it.

    Raises:
        StudyError: another value.
    """
    for field, value in expected.items():
        if record.get(field) != value:
            raise StudyError(
                "the step-0 checkpoint is not this run's",
                where=Where(file=str(folder), field=field),
                expected=repr(value),
                found=record.get(field),
                next_step=STORE,
            )


def began_from(attempts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The step-0 record that a run's attempts name, None if none of them got that far.

    Raises:
        StudyError: the attempts name different weights.
    """
    named = [attempt["step_zero"] for attempt in attempts if attempt.get("step_zero")]
    if len({weights_of(record) for record in named}) > 1:
        raise StudyError(
            "the run's attempts began from different weights",
            where=Where(file="run.json", field="attempts.step_zero"),
            expected="one step-0 checkpoint for all attempts",
        )
    return named[-1] if named else None


def same_start(recorded: Mapping[str, Any], found: Mapping[str, Any], folder: Path) -> None:
    """Hold a step-0 checkpoint to the one that a run began from.

    A store vouches for itself: whoever can change its weights can change the digests beside them. A run's own
    record, written when it began, is not changed that way.

    Args:
        recorded: what run.json names.
        found: the record of the checkpoint that is about to be used.
        folder: where it lies.

    Raises:
        StudyError: another one.
    """
    if weights_of(recorded) != weights_of(found):
        raise StudyError(
            "the step-0 checkpoint is not the one that this run began from",
            where=Where(file=str(folder)),
            expected=repr(weights_of(recorded)),
            found=weights_of(found),
            next_step=STORE,
        )


def weights_of(record: Mapping[str, Any]) -> tuple[str, str]:
    """SHA-256 of the base's and of the adapters' file; figures and times beside them may differ."""
    return record["base"]["files"][MODEL], record["files"][ADAPTER]


def start_folder(run: RunConfig, store: Path) -> Path:
    """Where a store keeps the step-0 checkpoint of a run."""
    return store / step_zero_digest(run)


def base_folder(run: RunConfig, store: Path) -> Path:
    """Where a store keeps the warm-started base of a run."""
    return store / f"base-{base_digest(run)}"

"""Pieces of a probe in progress: a process that is killed goes on at the next unit and ends with the same bytes.

    DIR/NAME.partial/spec.json       what is probed; another probe never continues here
    DIR/NAME.partial/samples.npz     everything that the policy played, before any gradient
    DIR/NAME.partial/unit-0007.npz   Gram matrix, log-ratios and vectors of the eighth unit
    DIR/NAME.partial/lock            held by the process that works there

Every piece appears whole or not at all. With `running` vectors a piece holds the totals so far and replaces the one
before it, so no more than two sets of full width lie on the disk.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import NotCheckedError, Where
from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.durable import sync_folder, write_bytes
from study.errors import StudyError
from study.probe.spec import Spec

Arrays = Mapping[str, npt.NDArray[Any]]


class Pieces:
    """The folder of a probe in progress.

    Args:
        folder: NAME.partial.
        spec: what is probed.
    """

    def __init__(self, folder: Path, spec: Spec) -> None:
        self.folder = folder
        self._spec = readable_json({"format": "study.probe.partial/1", "spec": spec.model_dump(mode="json")})

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make or enter the folder and hold it; the kernel frees the lock however the process ends.

        Raises:
            NotCheckedError: another process works there.
            StudyError: the pieces belong to another probe.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise NotCheckedError(
                    "another process works at this probe",
                    where=Where(file=str(self.folder)),
                    next_step="Wait for it, or end it; a probe that ended goes on where it stopped.",
                ) from error
            self._same_spec()
            yield

    def _same_spec(self) -> None:
        path = self.folder / "spec.json"
        if not path.exists():
            write_bytes(path, self._spec)
        elif path.read_bytes() != self._spec:
            raise StudyError(
                "these pieces belong to another probe",
                where=Where(file=str(path)),
                next_step="Move the folder away.",
            )

    def samples(self) -> dict[str, npt.NDArray[Any]] | None:
        """What was played, None if that is not there yet."""
        return _read(self.folder / "samples.npz")

    def keep_samples(self, arrays: Arrays) -> None:
        """Write what was played."""
        _write(self.folder / "samples.npz", arrays)

    def has(self, index: int) -> bool:
        """Whether a unit's piece is there."""
        return self._path(index).exists()

    def unit(self, index: int) -> dict[str, npt.NDArray[Any]]:
        """One unit's piece.

        Raises:
            StudyError: it is not there.
        """
        found = _read(self._path(index))
        if found is None:
            raise StudyError("a piece of the probe is gone", where=Where(file=str(self._path(index))))
        return found

    def keep(self, index: int, arrays: Arrays, *, replaces: bool) -> None:
        """Write one unit's piece.

        Args:
            index: the unit.
            arrays: what it left behind.
            replaces: the vectors are running totals: those in the piece before this one have served.
        """
        _write(self._path(index), arrays)
        if replaces and index:
            before = _read(self._path(index - 1), without="vectors")
            if before is not None:
                _write(self._path(index - 1), before)

    def _path(self, index: int) -> Path:
        return self.folder / f"unit-{index:04d}.npz"

    def clear(self) -> None:
        """Remove the folder after the evidence was written."""
        shutil.rmtree(self.folder)
        sync_folder(self.folder.parent)


def _write(path: Path, arrays: Arrays) -> None:
    """Write arrays aside and rename. They go to the disk in parts: vectors of full width have no second copy."""
    named: dict[str, Any] = dict(arrays)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with part.open("xb") as handle:
            np.savez(handle, allow_pickle=False, **named)
            handle.flush()
            os.fsync(handle.fileno())
        part.replace(path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path, without: str | None = None) -> dict[str, npt.NDArray[Any]] | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files if name != without}

"""Space kept back for a run's last words: on a full disk run.json can still say that the run failed.

`hold` writes a file that `release` deletes before the record is closed. A process that is killed leaves it, and the
next attempt writes it anew.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = ".spare"
SIZE = 1 << 18
"""Bytes: several times what run.json has after dozens of attempts."""


def hold(folder: Path) -> None:
    """Keep the space.

    Raises:
        OSError: there is none.
    """
    with (folder / NAME).open("wb") as handle:
        handle.write(secrets.token_bytes(SIZE))  # no zeros: a file system may store them in no space at all
        handle.flush()
        os.fsync(handle.fileno())


def release(folder: Path) -> None:
    """Give the space back."""
    (folder / NAME).unlink(missing_ok=True)


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A path to write at before a rename; whatever still lies there afterwards is removed.

    Args:
        path: beside the target; a file or a folder may come to lie there.
    """
    try:
        yield path
    finally:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what a killed attempt left half-written; only for whoever holds the folder's lock."""
    for pattern in (".*.partial", ".curves.*.png", "checkpoints/.writing-*"):
        for path in folder.glob(pattern):
            with temporary(path):
                pass

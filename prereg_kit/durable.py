"""Files that appear whole or not at all: write beside, fsync, rename, fsync the folder.

A reader, or a process killed at any moment, sees the old state or the new one (POSIX rename is atomic within
a file system). Existing files are never overwritten unless the caller says so.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from prereg_kit.errors import ArchiveError, Where


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that a rename survives a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write `data` to `path` so that the file is there whole or not at all.

    Args:
        path: the target; its folder must exist.
        data: the exact bytes.
        replace: allow an existing file to be replaced in one step.

    Raises:
        ArchiveError: `path` exists and `replace` is false.
        OSError: the disk refused; the target is untouched and the temporary file removed.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    try:
        with temporary.open("xb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        if replace:
            temporary.replace(path)
        else:
            try:
                os.link(temporary, path)  # link fails if the target exists; rename would overwrite it
            except FileExistsError as error:
                raise ArchiveError(
                    "the file exists and is never overwritten",
                    where=Where(file=str(path)),
                    next_step="Choose another name, or remove the file yourself if it is not evidence.",
                    code="exists",
                ) from error
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)

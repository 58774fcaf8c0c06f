"""Files that appear whole or not at all: write beside, fsync, rename, fsync the folder.

A reader, or a process killed at any moment, sees the old state or the new one (POSIX rename is atomic within
a file system). Existing files are never overwritten unless the caller says so.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
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
        OSError: the disk refused; the target is untouched and the temporary file removed. It names the target.
    """
    write_together({path: data}, replace=(path,) if replace else ())


def write_together(files: Mapping[Path, bytes], *, replace: tuple[Path, ...] = ()) -> None:
    """Write several files so that a refusal leaves none of them: all are on disk before the first gets its name.

    Args:
        files: target -> bytes; named in this order, so that the last one stands for the whole.
        replace: targets that may exist and are replaced in one step.

    Raises:
        ArchiveError: a target exists and may not be replaced.
        OSError: the disk refused; no new file is left. The error names the target.
    """
    waiting: dict[Path, Path] = {}
    named: list[Path] = []
    path = None
    try:
        for path, data in files.items():
            waiting[path] = path.with_name(f".{secrets.token_hex(6)}.partial")
            with waiting[path].open("xb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
        for path, temporary in waiting.items():
            if path in replace:
                temporary.replace(path)
            else:
                _name(temporary, path)
                named.append(path)
        for folder in {path.parent for path in files}:
            sync_folder(folder)
    except BaseException as error:
        for done in named:
            done.unlink(missing_ok=True)
        if isinstance(error, OSError) and path is not None:
            # the temporary file's name would tell a reader nothing
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        for temporary in waiting.values():
            temporary.unlink(missing_ok=True)


def _name(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)  # link fails if the target exists; rename would overwrite it
    except FileExistsError as error:
        raise ArchiveError(
            "the file exists and is never overwritten",
            where=Where(file=str(path)),
            next_step="Choose another name, or remove the file yourself if it is not evidence.",
            code="exists",
        ) from error

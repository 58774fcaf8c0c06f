"""Taking a document from the user's folder: what is refused by name, and what a reader should be warned of."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, NotCheckedError, Where
from prereg_kit.evidence.archive.paths import MAX_BYTES, code_points, same_name
from prereg_kit.evidence.archive.sniff import refuse_pointer, remarks

MAX_DOCUMENT = MAX_BYTES


@dataclass(frozen=True)
class Taken:
    """A document's bytes under its own name; `notes` are remarks for the person who freezes it."""

    path: Path
    name: str
    data: bytes
    notes: tuple[str, ...]


def _refuse_folder(path: Path) -> ArchiveError:
    empty = not any(path.iterdir())
    problem = "a folder, not a document"
    step = "Freeze a file; for many files freeze a manifest: `sha256sum FILES > MANIFEST`, `prereg freeze MANIFEST`."
    if empty:
        problem = "an empty folder"
        for parent in path.resolve().parents:
            modules = parent / ".gitmodules"
            if modules.is_file():
                inside = path.resolve().relative_to(parent).as_posix()
                listed = modules.read_text(errors="replace").splitlines()
                if any(line.split("=")[-1].strip() == inside for line in listed if "path" in line):
                    problem = "an empty submodule folder: .gitmodules names it and nothing is checked out"
                    step = f"Run `git submodule update --init {inside}` and freeze a file of it."
                break
    return ArchiveError(
        problem, where=Where(file=str(path)), expected="a file", next_step=step, code="folder"
    )


def take(path: Path | str) -> Taken:
    """Read a document for a freeze.

    Args:
        path: the file; found also under the other Unicode form of its name if only that one is there.

    Raises:
        NotCheckedError: no such file.
        ArchiveError: a folder, a symbolic link, a git-lfs pointer, an empty file, more than 256 MiB, or a name
            that is present in both Unicode forms.
    """
    path = Path(path)
    notes: list[str] = []
    if path.name not in ("", ".", "..") and path.parent.is_dir():
        try:
            found = same_name(path.parent, path.name)
        except ArchiveError as error:
            if error.code == "ambiguous-name":
                raise
            found = path.name
        if found != path.name:
            notes.append(f"Unicode form differs: found as {code_points(found)}")
            path = path.parent / found
    if path.is_symlink():
        raise ArchiveError(
            "a symbolic link",
            where=Where(file=str(path)),
            expected="the document itself",
            next_step="Give the file that the link stands for.",
            code="link",
        )
    if path.is_dir():
        raise _refuse_folder(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not path.is_file():
                raise ArchiveError("not a regular file", where=Where(file=str(path)), code="not-a-file")
            data = file.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise NotCheckedError(
            "the document cannot be read", where=Where(file=str(path)), found=error.strerror, code="absent"
        ) from error
    refuse_pointer(data, str(path))
    if not data:
        raise ArchiveError("the document is empty", where=Where(file=str(path)), code="empty")
    if len(data) > MAX_DOCUMENT:
        raise ArchiveError(
            "the document is larger than 256 MiB",
            where=Where(file=str(path)),
            next_step="Freeze a manifest of it: `sha256sum FILE > MANIFEST`, `prereg freeze MANIFEST`.",
            code="too-large",
        )
    notes += [f"the document {remark}" for remark in remarks(data)]
    return Taken(path, path.name, data, tuple(notes))


def _git(folder: Path, *arguments: str) -> str | None:
    program = shutil.which("git")
    if program is None or not folder.is_dir():
        return None
    command = [program, "-C", str(folder), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def pinned_by_git(folder: Path, name: str) -> bool | None:
    """Whether a git attribute pins the line endings of a file: `-text` or an `eol`; None outside git."""
    found = _git(folder, "check-attr", "-z", "text", "eol", "--", name)
    if found is None or _git(folder, "rev-parse", "--is-inside-work-tree") != "true\n":
        return None
    values = found.split("\0")[2::3]
    return len(values) == 2 and (values[0] == "unset" or values[1] in ("lf", "crlf"))


def git_warnings(taken: Taken, frozen_folder: Path) -> tuple[str, ...]:
    """Warnings about line endings that git may rewrite, for the document and for its frozen copy."""
    warnings = []
    tracked = _git(taken.path.parent, "ls-files", "--error-unmatch", "--", taken.name) is not None
    if tracked and pinned_by_git(taken.path.parent, taken.name) is False:
        warnings.append(
            f"{taken.name} is tracked by git and no attribute pins its line endings: another checkout may have "
            f"other bytes. Add `{taken.name} -text` to .gitattributes."
        )
    copy = frozen_folder / taken.name
    home = next((p for p in frozen_folder.parents if p.is_dir()), None)
    if home is not None and pinned_by_git(home, str(copy.resolve())) is False:
        warnings.append(
            f"no git attribute pins the bytes under {frozen_folder.parent.name}/: add "
            f"`{frozen_folder.parent.name}/** -text` to .gitattributes before you commit."
        )
    return tuple(warnings)

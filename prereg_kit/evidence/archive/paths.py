"""Names that stay inside a folder: traversal, links, and the two Unicode forms of one name.

Floor 3: reads directory entries, never a file's content. A name is matched by its canonical equivalence class
(Unicode UAX #15): one candidate under another form is accepted and said; two candidates are refused, because
macOS hands out decomposed names while Linux keeps both forms side by side as different files.
"""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, Where

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9_-])?", re.ASCII)
_DRIVE = re.compile(r"[A-Za-z]:")
MAX_BYTES = 256 << 20
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


@dataclass(frozen=True)
class Located:
    """A file under a root: `found` and `name` differ at most in Unicode form; `link` if one was followed."""

    name: str
    found: str
    path: Path
    link: bool = False

    @property
    def other_form(self) -> bool:
        """True if the stored and the found name differ in Unicode form."""
        return self.name != self.found


def code_points(text: str) -> str:
    """A name with its non-ASCII characters as code points: `e<U+0301>tude.md`."""
    return "".join(c if " " <= c <= "~" else f"<U+{ord(c):04X}>" for c in text)


def suggest_id(stem: str) -> str:
    """An identifier made from a file's stem, for an error's next step; may be `document`."""
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-._")[:80].rstrip("-._")
    return slug or "document"


def check_id(identifier: str, source: str = "") -> str:
    """The identifier, if it is safe as a folder name on every file system.

    Raises:
        ArchiveError: other than 1 to 80 ASCII letters, digits, dots, hyphens and underscores, starting with a
            letter or digit and not ending with a dot; or a name that Windows reserves.
    """
    if _ID.fullmatch(identifier) and not _DEVICES.fullmatch(identifier):
        return identifier
    raise ArchiveError(
        "not usable as the name of a frozen folder",
        where=Where(file=source or None, field="id"),
        expected="1 to 80 ASCII letters, digits, dots, hyphens and underscores",
        found=identifier,
        next_step=f"Give one with --id, for instance --id {suggest_id(identifier)}.",
        code="id",
    )


def same_name(folder: Path, name: str) -> str:
    """The entry of `folder` that is `name` in some Unicode form.

    Raises:
        ArchiveError: `ambiguous-name` if two forms are present, `absent` if none is.
    """
    wanted = unicodedata.normalize("NFC", name)
    try:
        entries = os.listdir(folder)  # noqa: PTH208 - the names as text, no Path objects for large folders
    except OSError as error:
        raise ArchiveError(
            "the folder cannot be read", where=Where(file=str(folder)), found=error.strerror, code="absent"
        ) from error
    candidates = sorted(e for e in entries if unicodedata.normalize("NFC", e) == wanted)
    if not candidates:
        raise ArchiveError(
            "no such file",
            where=Where(file=name),
            expected=f"a file in {str(folder)!r}",
            next_step="Check the name, or restore the file.",
            code="absent",
        )
    if len(candidates) > 1:
        shown = " and ".join(f"{c!r} = {code_points(c)}" for c in candidates)
        raise ArchiveError(
            f"ambiguous name: both Unicode forms are present, {shown}",
            where=Where(file=name),
            next_step="Rename or remove one of them.",
            code="ambiguous-name",
        )
    return candidates[0]


def _parts(entry: str) -> list[str]:
    problem = None
    if not entry or "\0" in entry:
        problem = "an empty name, or one with a NUL character"
    elif entry.startswith("/") or _DRIVE.match(entry):
        problem = "an absolute path"
    elif "\\" in entry:
        problem = "a backslash, which is a separator on other systems"
    parts = [part for part in entry.split("/") if part != "."]
    if problem is None and (".." in parts or "" in parts or not parts):
        problem = "a path that climbs out of its folder, or has an empty part"
    if problem:
        raise ArchiveError(
            f"refused: {problem}",
            where=Where(file=entry),
            expected="a relative path inside the root, with / between its parts",
            code="outside",
        )
    return parts


def locate(root: Path, entry: str) -> Located:
    """Find a manifest entry under `root` without leaving it; nothing is read.

    Args:
        root: the folder that bounds the search.
        entry: a relative path with `/`.

    Returns:
        The file; `path` is fully resolved and lies under the resolved root.

    Raises:
        ArchiveError: `outside` (absolute, `..`, or a link that leads out), `link` (a loop or a dangling
            link), `ambiguous-name`, `absent`, or `not-a-file`.
    """
    top = Path(os.path.realpath(root))
    here, found, link = top, [], False
    for part in _parts(entry):
        try:
            name = same_name(here, part)
        except ArchiveError as error:
            if error.code == "ambiguous-name":
                raise
            raise ArchiveError(
                "no such file", where=Where(file=entry), expected=f"a file under {str(root)!r}", code="absent"
            ) from error
        found.append(name)
        step = here / name
        if step.is_symlink():
            link = True
            step = _follow(step, top, entry)
        here = step
    if not here.is_file():
        raise ArchiveError(
            "not a regular file",
            where=Where(file=entry),
            expected="a file",
            found="a folder" if here.is_dir() else "something else",
            code="not-a-file",
        )
    stored = "/".join(_parts(entry))
    return Located(name=stored, found="/".join(found), path=here, link=link)


def _follow(step: Path, top: Path, entry: str) -> Path:
    try:
        target = Path(os.path.realpath(step, strict=True))
    except OSError as error:
        loop = error.errno == errno.ELOOP
        raise ArchiveError(
            "refused: a symbolic link that leads round in a loop"
            if loop
            else "refused: a dangling symbolic link",
            where=Where(file=entry),
            next_step="Replace the link by the file itself.",
            code="link",
        ) from error
    if not target.is_relative_to(top):
        raise ArchiveError(
            "refused: a symbolic link that leads out of the root",
            where=Where(file=entry),
            next_step="Put the file itself under the root.",
            code="outside",
        )
    return target


def read_inside(located: Located, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a located file; the last component is opened without following a link.

    Raises:
        ArchiveError: the file cannot be read, turned into a link in the meantime, or is larger than `limit`.
    """
    try:
        handle = os.open(located.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ArchiveError(
            "the file cannot be read", where=Where(file=located.name), found=error.strerror, code="absent"
        ) from error
    if len(data) > limit:
        raise ArchiveError(f"larger than {limit} bytes", where=Where(file=located.name), code="too-large")
    return data

"""What the bytes of a document look like, and how two versions of them differ.

Pure: bytes in, findings out. Nothing is ever normalised before it is hashed; the findings only explain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from prereg_kit.errors import ArchiveError, Where
from prereg_kit.foundation.digest import sha256_bytes

BOM = b"\xef\xbb\xbf"
EMPTY_SHA256 = sha256_bytes(b"")
_LFS = re.compile(rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v\d+\r?\n")
_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})\r?$", re.MULTILINE)
_SIZE = re.compile(rb"^size (\d{1,20})\r?$", re.MULTILINE)

GIT_REMEDY = (
    "Probably git's core.autocrlf; pin the bytes in .gitattributes (`PATH -text`) "
    "and check the file out again."
)


@dataclass(frozen=True)
class LfsPointer:
    """The few lines that git-lfs leaves where the data should be."""

    oid: str
    size: int | None


def lfs_pointer(data: bytes) -> LfsPointer | None:
    """The pointer that `data` is, or None if `data` is data (git-lfs specification v1: under 1024 bytes)."""
    if len(data) >= 1024 or not _LFS.match(data):
        return None
    oid, size = _OID.search(data), _SIZE.search(data)
    return LfsPointer(oid[1].decode() if oid else "unknown", int(size[1]) if size else None)


def refuse_pointer(data: bytes, source: str) -> None:
    """Refuse a git-lfs pointer by name, before anything is hashed.

    Raises:
        ArchiveError: `data` is a pointer; its object id and size are quoted, its own digest is not.
    """
    pointer = lfs_pointer(data)
    if pointer is not None:
        raise ArchiveError(
            f"a git LFS pointer, not the data: it stands for object {pointer.oid} of {pointer.size} bytes",
            where=Where(file=source),
            next_step="Run `git lfs pull` and try again.",
            code="lfs-pointer",
        )


def remarks(data: bytes) -> tuple[str, ...]:
    """What a reader should know of a document's bytes: BOM, CRLF, text not in NFC. Binary gives none."""
    found = []
    if data.startswith(BOM):
        found.append("starts with a byte-order mark (bytes kept)")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return tuple(found)
    if "\0" in text:
        return tuple(found)
    if "\r\n" in text:
        mixed = re.search(r"(?<!\r)\n", text) is not None
        found.append(f"has {'mixed' if mixed else 'CRLF'} line endings (bytes kept)")
    if not unicodedata.is_normalized("NFC", text):
        found.append("holds text that is not in Unicode normal form C (bytes kept)")
    return tuple(found)


def _variants(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Versions of `data` that programs make without being asked, each with the name of the change."""
    unix = data.replace(b"\r\n", b"\n")
    endings = [("", data), ("line endings", unix), ("line endings", unix.replace(b"\n", b"\r\n"))]
    for ending, version in endings:
        marked = version[len(BOM) :] if version.startswith(BOM) else BOM + version
        last = version[:-1] if version.endswith(b"\n") else version + b"\n"
        for extra, bytes_ in (("", version), ("the byte-order mark", marked), ("the final newline", last)):
            names = [n for n in (ending, extra) if n]
            yield " and ".join(names), bytes_
            try:
                text = bytes_.decode()
            except UnicodeDecodeError:
                continue
            for form in ("NFC", "NFD"):
                other = unicodedata.normalize(form, text).encode()
                yield " and ".join([*names, "Unicode normal form (NFC/NFD)"]), other


def difference(found: bytes, recorded: str) -> str | None:
    """In what `found` differs from the bytes whose SHA-256 is `recorded`, if by one of the usual accidents.

    Returns:
        For instance `line endings` or `Unicode normal form (NFC/NFD)`; None if no simple change explains it.
    """
    if sha256_bytes(found) == recorded:
        return None
    return next((name for name, data in _variants(found) if name and sha256_bytes(data) == recorded), None)


def mismatch(found: bytes, recorded: str, source: str) -> ArchiveError:
    """The error for bytes that are not the recorded ones: both digests, and the probable accident."""
    name = difference(found, recorded)
    step = "Restore the frozen bytes from version control or a copy; what was stamped is the recorded digest."
    problem = "the bytes are not the frozen ones"
    if name is not None:
        problem += f"; the two differ only in {name}"
        if "line endings" in name:
            step = GIT_REMEDY
        elif "Unicode" in name:
            step = "Content is never normalised before hashing: restore the original bytes."
    return ArchiveError(
        problem,
        where=Where(file=source),
        expected=f"SHA-256 {recorded}",
        found=sha256_bytes(found) if found else "an empty file",
        next_step=step,
        code="altered",
    )

"""Lists of files with digests: every entry is looked up inside one root, compared, and reported by name.

A digest is printed only for a file that lies inside the root. An empty file is called empty; the digest of
empty input is never printed, since it usually means that something was not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prereg_kit.errors import ArchiveError, Where
from prereg_kit.evidence.archive.paths import locate, read_inside
from prereg_kit.evidence.archive.sniff import EMPTY_SHA256, difference, lfs_pointer
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.foundation.strict_json import read_json
from prereg_kit.foundation.text_bytes import read_text

Status = Literal["match", "differs", "refused", "absent"]
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


@dataclass(frozen=True)
class Entry:
    """One entry's result. `sha256` is None where nothing was hashed; `notes` are for a person."""

    name: str
    status: Status
    expected: str
    sha256: str | None = None
    found: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ManifestReport:
    """All entries in the manifest's order; `ok` only if there is at least one and each matches."""

    entries: tuple[Entry, ...]

    @property
    def ok(self) -> bool:
        """True if every entry matches and there is one."""
        return bool(self.entries) and all(entry.status == "match" for entry in self.entries)

    def to_json(self) -> dict[str, Any]:
        """The `prereg.manifest-report/1` object."""
        rows = []
        for entry in self.entries:
            row: dict[str, Any] = {"path": entry.name, "status": entry.status, "expected": entry.expected}
            if entry.expected == EMPTY_SHA256:
                row["expected"] = "empty"
            if entry.sha256 is not None:
                row["sha256"] = "empty" if entry.sha256 == EMPTY_SHA256 else entry.sha256
            if entry.found is not None and entry.found != entry.name:
                row["found"] = entry.found
            rows.append(row | ({"notes": list(entry.notes)} if entry.notes else {}))
        return {"format": "prereg.manifest-report/1", "ok": self.ok, "files": rows}


def check_manifest(manifest: Mapping[str, str], root: Path | str) -> ManifestReport:
    """Check files under `root` against a manifest.

    Args:
        manifest: relative path with `/` -> SHA-256 in hex of either case. Nothing else is opened.
        root: the folder that bounds the entries; links that lead out of it are refused unread.

    Raises:
        ArchiveError: a digest that is not 64 hex digits.
    """
    for name, expected in manifest.items():
        if not isinstance(expected, str) or not _HEX.fullmatch(expected):
            raise ArchiveError(
                "not a SHA-256 digest",
                where=Where(key=name, field="sha256"),
                expected="64 hex digits",
                found=expected,
                code="manifest",
            )
    return ManifestReport(
        tuple(_check(name, expected.lower(), Path(root)) for name, expected in manifest.items())
    )


def _check(name: str, expected: str, root: Path) -> Entry:
    try:
        # Windows programs write backslashes; no name under a root may hold one (`locate`), so nothing is ambiguous
        located = locate(root, name.replace("\\", "/"))
        data = read_inside(located)
    except ArchiveError as error:
        status: Status = "absent" if error.code == "absent" else "refused"
        return Entry(name, status, expected, notes=(str(error),))
    notes = []
    if located.other_form:
        notes.append("Unicode form differs: the stored and the found name are the same text in NFC and NFD")
    if located.link:
        notes.append("reached through a symbolic link inside the root")
    pointer = lfs_pointer(data)
    if pointer is not None and sha256_bytes(data) != expected:
        notes.append(f"a git LFS pointer, not the data: object {pointer.oid} of {pointer.size} bytes")
        notes.append("run `git lfs pull`")
        return Entry(name, "refused", expected, found=located.found, notes=tuple(notes))
    digest = sha256_bytes(data)
    if not data:
        notes.append("the file is empty")
    if digest != expected:
        accident = difference(data, expected)
        if accident:
            notes.append(f"differs only in {accident}")
        return Entry(name, "differs", expected, digest, located.found, tuple(notes))
    return Entry(name, "match", expected, digest, located.found, tuple(notes))


def _add(found: dict[str, str], name: object, digest: object, source: str) -> None:
    if not isinstance(name, str) or not isinstance(digest, str) or name in found:
        raise ArchiveError(
            "a manifest entry that stands twice" if name in found else "not a manifest entry",
            where=Where(file=source, key=str(name)),
            expected="one path and one SHA-256 digest",
            found=digest,
            code="manifest",
        )
    found[name] = digest.lower()


def read_manifest(path: Path | str) -> dict[str, str]:
    """A manifest file: `sha256sum` lines, or JSON, {"files": [{"path", "sha256"}]} or {path: sha256}.

    Raises:
        ArchiveError: absent, another shape, an entry that stands twice, or no entry at all.
        DocumentError: not UTF-8 (UTF-16 is named), two byte-order marks, or JSON that is not strict.
    """
    source = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ArchiveError(
            "the manifest cannot be read", where=Where(file=source), found=error.strerror, code="absent"
        ) from error
    found: dict[str, str] = {}
    if read_text(data, source).lstrip()[:1] in ("{", "["):
        value = read_json(data, source)
        rows = value.get("files") if isinstance(value, dict) and "files" in value else value
        if isinstance(rows, dict):
            for name, digest in rows.items():
                _add(found, name, digest, source)
        elif isinstance(rows, list):
            for row in rows:
                entry = row if isinstance(row, dict) else {}
                _add(found, entry.get("path"), entry.get("sha256"), source)
    else:
        return read_lines(data, source)
    if not found:
        raise ArchiveError("the manifest names no file", where=Where(file=source), code="manifest")
    return found


def read_lines(data: bytes, source: str) -> dict[str, str]:
    """A manifest's bytes as `sha256sum` writes them: path as written -> digest in lower-case hex, in order.

    A byte-order mark, CRLF and upper-case hex are what Windows programs write, and are read; so are backslashes as
    separators, which `check_manifest` takes for `/`.

    Raises:
        DocumentError: not UTF-8, UTF-16, two byte-order marks.
        ArchiveError: another line, an entry that stands twice, or no entry at all.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(data, source).splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match:
            _add(found, match[2], match[1], source)
        elif line.strip():
            raise ArchiveError(
                "not a manifest line",
                where=Where(file=source, line=number),
                expected="64 hex digits, two spaces, a path, as `sha256sum` writes them",
                found=line,
                code="manifest",
            )
    if not found:
        raise ArchiveError("the manifest names no file", where=Where(file=source), code="manifest")
    return found

"""Reading frozen folders: the bytes are checked against the record before anybody sees them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, DocumentError, Where
from prereg_kit.evidence.archive.paths import locate, read_inside
from prereg_kit.evidence.archive.record import RECORD_NAME, FileRef, FreezeRecord, parse
from prereg_kit.evidence.archive.sniff import lfs_pointer, mismatch, refuse_pointer
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.foundation.strict_json import read_json

HOMES = ("frozen", "amendments")
_RECORD_LIMIT = 4 << 20
_DEPTH = 3


@dataclass(frozen=True)
class FrozenDocument:
    """A frozen document whose bytes match its record. `digest` is their SHA-256 in hex."""

    id: str
    folder: Path
    document_path: Path
    data: bytes
    digest: str
    record: FreezeRecord


def read_record(folder: Path) -> FreezeRecord:
    """The record of a frozen folder.

    Raises:
        ArchiveError: no record (`no-record`), or one that cannot be read.
    """
    path = folder / RECORD_NAME
    try:
        with path.open("rb") as handle:
            data = handle.read(_RECORD_LIMIT + 1)
    except OSError as error:
        raise ArchiveError(
            "no freeze record",
            where=Where(file=str(folder)),
            expected=f"a frozen folder, with {RECORD_NAME}",
            found=error.strerror,
            next_step="Freeze a document with `prereg freeze FILE`, or restore the record.",
            code="no-record",
        ) from error
    if len(data) > _RECORD_LIMIT:
        raise ArchiveError("the freeze record is over 4 MiB", where=Where(file=str(path)), code="record")
    refuse_pointer(data, str(path))
    try:
        value = read_json(data, str(path))
    except DocumentError as error:
        raise ArchiveError(
            f"the freeze record cannot be read: {error.problem}",
            where=error.where,
            next_step="Restore it from version control or a copy.",
            code="record",
        ) from error
    return parse(value, str(path))


def read_file(folder: Path, ref: FileRef) -> bytes:
    """A recorded file's bytes, found inside the folder and checked against its digest.

    Raises:
        ArchiveError: absent, outside the folder, a git-lfs pointer, or other bytes (both digests are given).
    """
    located = locate(folder, ref.path)
    data = read_inside(located)
    source = str(folder / ref.path)
    if sha256_bytes(data) != ref.sha256:
        if lfs_pointer(data):
            refuse_pointer(data, source)
        raise mismatch(data, ref.sha256, source)
    return data


def load_frozen(folder: Path | str) -> FrozenDocument:
    """Load a frozen folder, its document's bytes checked against freeze.json.

    Raises:
        ArchiveError: no record, or bytes that do not match it; both digests are given, and said if the two
            differ only in line endings, byte-order mark, final newline or Unicode form.
    """
    folder = Path(folder)
    record = read_record(folder)
    data = read_file(folder, record.document)
    return FrozenDocument(
        id=record.id,
        folder=folder,
        document_path=folder / locate(folder, record.document.path).found,
        data=data,
        digest=record.document.sha256,
        record=record,
    )


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
            continue
        path = Path(entry.path)
        yield path
        if depth > 1 and not (path / RECORD_NAME).exists():
            yield from _below(path, depth - 1)


def find_frozen(root: Path | str) -> list[Path]:
    """Frozen folders of a project, sorted within each home; nothing is read.

    Args:
        root: a frozen folder itself, a folder of frozen folders, or a project with frozen/ or amendments/
            (searched three levels deep; links and hidden folders are not followed: see `find_links`).

    Returns:
        Folders that hold a freeze.json; each may still turn out altered when it is loaded.
    """
    root = Path(root)
    if (root / RECORD_NAME).exists():
        return [root]
    homes = [root / home for home in HOMES if (root / home).is_dir()]
    found = [folder for home in homes for folder in _below(home, _DEPTH) if (folder / RECORD_NAME).exists()]
    if not homes:
        found = [folder for folder in _below(root, 1) if (folder / RECORD_NAME).exists()]
    return found


def find_unrecorded(root: Path | str) -> list[Path]:
    """Folders directly under frozen/ or amendments/ that hold files and no freeze.json anywhere.

    A record that was deleted must not make its document vanish from a report.
    """
    root = Path(root)
    if (root / RECORD_NAME).exists():
        return []
    homes = _homes(root)
    return [
        folder
        for home in homes
        for folder in _below(home, 1)
        if not (folder / RECORD_NAME).exists()
        and not any((inner / RECORD_NAME).exists() for inner in _below(folder, _DEPTH - 1))
        and any(path.is_file() for path in folder.rglob("*"))
    ]


def find_links(root: Path | str) -> list[Path]:
    """Symbolic links under frozen/ or amendments/, where only folders belong; none is followed.

    A folder that was replaced by a link must not vanish from a report.
    """
    root = Path(root)
    if (root / RECORD_NAME).exists():
        return []
    homes = _homes(root)
    places = [place for home in homes for place in (home, *_below(home, _DEPTH - 1))]
    return sorted(
        entry
        for place in places
        if not (place / RECORD_NAME).exists()
        for entry in place.iterdir()
        if entry.is_symlink()
    )


def _homes(root: Path) -> list[Path]:
    """The folders of frozen folders at a project, or `root` itself if it is such a folder."""
    homes = [root / home for home in HOMES if (root / home).is_dir()]
    return homes or ([root] if root.name in HOMES and root.is_dir() else [])


def find_by_digest(root: Path | str, digest: str) -> list[FrozenDocument]:
    """The frozen documents under `root` whose recorded digest is `digest`, loaded and checked.

    Raises:
        ArchiveError: a record that names the digest, and bytes that do not match it.
    """
    matches = []
    for folder in find_frozen(root):
        try:
            record = read_record(folder)
        except ArchiveError:
            continue  # an unreadable neighbour is `verify-timestamps`'s business
        if record.document.sha256 == digest:
            matches.append(load_frozen(folder))
    return matches

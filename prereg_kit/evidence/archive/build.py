"""Building and completing frozen folders so that a kill at any step leaves the old state or the new one.

A new folder is built as `.partial-<id>-<random>` beside its target, flushed, and renamed: rename fails if
the target has content, so of two freezes at once one wins and the other says so. A frozen folder grows by
new files first and freeze.json last: readers look only at files that freeze.json names, so the replacement
of freeze.json is the moment the new state begins. Partial folders of dead processes are swept; a live one
holds a lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prereg_kit import __version__
from prereg_kit.errors import ArchiveError, Where
from prereg_kit.evidence.archive import filing
from prereg_kit.evidence.archive.load import FrozenDocument, load_frozen
from prereg_kit.evidence.archive.paths import check_id
from prereg_kit.evidence.archive.readme import derived_files
from prereg_kit.evidence.archive.record import RECORD_NAME, FreezeRecord, Kind, Stamper, Stamps, rfc3339
from prereg_kit.evidence.archive.sniff import mismatch, refuse_pointer, remarks
from prereg_kit.foundation import durable
from prereg_kit.foundation.digest import readable_json, sha256_bytes

_RESERVED = {RECORD_NAME, "README.md", "SHA256SUMS", "stamps", "check.json"}
_PARTIAL = ".partial-"


@dataclass(frozen=True)
class Frozen:
    """A freeze's result: the document, what this round of stamps brought, whether it was there before."""

    document: FrozenDocument
    stamps: Stamps
    existed: bool = False


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive advisory lock on a folder; the lock dies with the process.

    Raises:
        ArchiveError: another process holds it.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ArchiveError(
                "another process is writing to this frozen folder",
                where=Where(file=str(folder)),
                next_step="Wait for it and run the command again.",
                code="busy",
            ) from error
        yield
    finally:
        os.close(handle)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def _sweep(parent: Path) -> None:
    """Remove partial folders whose maker is gone (its lock went with it)."""
    for leftover in parent.glob(f"{_PARTIAL}*"):
        with contextlib.suppress(ArchiveError, OSError), locked(leftover):
            shutil.rmtree(leftover)


def _make_folder(target: Path, files: Mapping[str, bytes]) -> None:
    parent = target.parent
    parent.mkdir(parents=True, exist_ok=True)
    _sweep(parent)
    partial = parent / f"{_PARTIAL}{target.name}-{secrets.token_hex(6)}"
    partial.mkdir()
    try:
        with locked(partial):
            folders = {partial}
            for name, data in files.items():
                path = partial / name
                if path.parent not in folders:
                    path.parent.mkdir()
                    folders.add(path.parent)
                _write(path, data)
            for folder in sorted(folders, key=lambda f: -len(f.parts)):
                durable.sync_folder(folder)
            try:
                partial.rename(target)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                raise ArchiveError(
                    "the folder exists and is never overwritten",
                    where=Where(file=str(target)),
                    next_step="Another freeze got there first, or the name is taken: choose another id.",
                    code="exists",
                ) from error
            durable.sync_folder(parent)
    finally:
        if partial.exists():
            shutil.rmtree(partial, ignore_errors=True)


def _check_name(name: str, source: str) -> None:
    control = any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in name)
    separators = "/" in name or "\\" in name
    if (
        not name
        or name in _RESERVED
        or name.startswith(".")
        or separators
        or control
        or len(name.encode()) > 200
    ):
        raise ArchiveError(
            "not usable as the name of a frozen document",
            where=Where(file=source, field="name"),
            expected=f"a plain file name other than {', '.join(sorted(_RESERVED))}",
            found=name,
            next_step="Rename the document.",
            code="name",
        )


def _existing(target: Path, data: bytes) -> FrozenDocument | None:
    twin = None
    if target.parent.is_dir():
        names = (entry.name for entry in target.parent.iterdir())
        twin = next((n for n in names if n.casefold() == target.name.casefold()), None)
    if twin is None or (target.is_dir() and not any(target.iterdir())):
        return None
    if twin != target.name:
        raise ArchiveError(
            f"the id differs only in case from the frozen {twin!r}",
            where=Where(file=str(target)),
            next_step="Choose another id with --id: the two would be one folder on other systems.",
            code="exists",
        )
    document = load_frozen(target)
    if document.data != data:
        error = mismatch(data, document.digest, str(target))
        raise ArchiveError(
            "frozen already with other bytes, and never overwritten",
            where=Where(file=str(target)),
            expected=error.expected,
            found=error.found,
            next_step="Write an amendment (`prereg amend`), or freeze it under another id with --id.",
            code="exists",
        )
    return document


def freeze(
    data: bytes,
    name: str,
    target: Path | str,
    stamper: Stamper | None = None,
    *,
    kind: Kind = "document",
    quorum: int = 2,
    attachments: Mapping[str, bytes] | None = None,
) -> Frozen:
    """Freeze a document's exact bytes as the folder `target`, with what the stamper brings.

    Args:
        data: the document's bytes; kept and hashed as they are.
        name: the document's own file name, kept in the folder.
        target: the new folder, frozen/<id> or amendments/<id>; its last part is the id.
        stamper: asks the authorities for the digest, before the folder exists; None freezes without a stamp.
        kind: what the document is.
        quorum: distinct operators that verification will ask for, 1 to 16.
        attachments: further files frozen beside it, name -> bytes (for instance check.json).

    Returns:
        The loaded folder. If the same bytes are frozen there already, that folder, unchanged, and no stamp is
        asked for (`complete` adds stamps).

    Raises:
        ArchiveError: the id or name is unusable; the document is empty or a git-lfs pointer; the folder
            exists with other bytes, or appeared meanwhile.
        OSError: the disk refused; nothing is left behind.
    """
    target = Path(target)
    check_id(target.name, name)
    _check_name(name, name)
    if not data:
        raise ArchiveError(
            "the document is empty",
            where=Where(file=name),
            expected="at least one byte",
            next_step="Write the document first.",
            code="empty",
        )
    refuse_pointer(data, name)
    document = _existing(target, data)
    if document is not None:
        return Frozen(document, Stamps(), existed=True)
    asked = datetime.now(UTC)
    digest = sha256_bytes(data)
    stamps = stamper(digest) if stamper is not None else Stamps()
    extra = dict(attachments or {})
    files = {name: data, **extra}
    record = FreezeRecord(
        id=target.name,
        kind=kind,
        document=filing.reference(name, data),
        frozen_at=rfc3339(asked),
        frozen_by=f"prereg_kit {__version__}",
        quorum=quorum,
        remarks=remarks(data),
        attachments=tuple(filing.reference(n, d) for n, d in extra.items()),
    )
    record, new = filing.with_stamps(record, stamps, taken=set())
    files |= new
    files |= derived_files(record)
    files[RECORD_NAME] = readable_json(record.to_json())
    _make_folder(target, files)
    return Frozen(load_frozen(target), stamps)


def update(folder: Path, record: FreezeRecord, files: Mapping[str, bytes]) -> FrozenDocument:
    """Add new files to a frozen folder and replace its record in one step; the caller holds the lock.

    Raises:
        ArchiveError: a file of that name exists.
        OSError: the disk refused; the record still describes the old state.
    """
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_bytes(path, data)
    durable.write_bytes(folder / RECORD_NAME, readable_json(record.to_json()), replace=True)
    for name, data in derived_files(record).items():
        durable.write_bytes(folder / name, data, replace=True)
    waiting = {item.query.path for item in record.pending if item.query}
    for path in (folder / "stamps").glob("*.pending.tsq"):
        if path.relative_to(folder).as_posix() not in waiting:
            path.unlink()  # its query now lies beside the answer
    return load_frozen(folder)


def complete(folder: Path | str, stamper: Stamper) -> Frozen:
    """Ask for further stamps over a frozen document and file them; earlier ones are kept.

    Raises:
        ArchiveError: the document does not match its record, or another process writes to the folder.
    """
    folder = Path(folder)
    load_frozen(folder)
    with locked(folder):
        document = load_frozen(folder)
        stamps = stamper(document.digest)
        taken = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        record, files = filing.with_stamps(document.record, stamps, taken=taken)
        if record == document.record:
            return Frozen(document, stamps, existed=True)
        return Frozen(update(folder, record, files), stamps, existed=True)

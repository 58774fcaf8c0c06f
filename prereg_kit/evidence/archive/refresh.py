"""Fetching revocation data again: a list issued after a stamp says more about it than one issued before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prereg_kit.evidence.archive import filing
from prereg_kit.evidence.archive.build import locked, update
from prereg_kit.evidence.archive.load import FrozenDocument, load_frozen, read_file
from prereg_kit.evidence.archive.record import Revocation, RevocationRef, StampRecord, rfc3339
from prereg_kit.foundation.digest import sha256_bytes

Fetch = Callable[[bytes], tuple[Revocation, ...]]
"""PEM chain, signer first, anchor last -> what could be fetched."""


def _more(
    folder: Path, stamp: StampRecord, fetch: Fetch, taken: set[str]
) -> tuple[StampRecord, dict[str, bytes]]:
    if stamp.demo or stamp.anchor is None or stamp.chain is None:
        return stamp, {}
    base = stamp.response.path.removesuffix(".tsr")
    have = {item.file.sha256 for item in stamp.revocation}
    entries, number = list(stamp.revocation), 1
    files: dict[str, bytes] = {}
    for item in fetch(read_file(folder, stamp.chain)):
        if sha256_bytes(item.data) in have:
            continue
        while (path := f"{base}.{number}.{item.kind}") in taken | set(files):
            number += 1
        files[path] = item.data
        entries.append(
            RevocationRef(
                kind=item.kind,
                url=item.url,
                fetched_at=rfc3339(item.fetched_at),
                file=filing.reference(path, item.data),
            )
        )
    return stamp.model_copy(update={"revocation": tuple(entries)}), files


def refresh_revocation(folder: Path | str, fetch: Fetch) -> tuple[FrozenDocument, int]:
    """Fetch revocation data for every anchored stamp and file what is new beside it.

    Returns:
        The document, and the number of files added; earlier data stays.

    Raises:
        ArchiveError: the folder does not match its record, or another process writes to it.
    """
    folder = Path(folder)
    load_frozen(folder)
    with locked(folder):
        document = load_frozen(folder)
        taken = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
        stamps: list[StampRecord] = []
        files: dict[str, bytes] = {}
        for stamp in document.record.stamps:
            changed, new = _more(folder, stamp, fetch, taken)
            stamps.append(changed)
            files |= new
        if not files:
            return document, 0
        record = document.record.model_copy(update={"stamps": tuple(stamps)})
        return update(folder, record, files), len(files)

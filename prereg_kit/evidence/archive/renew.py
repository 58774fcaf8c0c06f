"""Renewing evidence: a list of every file that is evidence so far, stamped anew before the old stamps lapse.

The list is what `sha256sum` writes, kept as renewals/<n>/manifest.sha256; new stamps over its bytes lie beside
it. Earlier files are never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from prereg_kit.errors import ArchiveError, TimestampError, Where
from prereg_kit.evidence.archive import filing
from prereg_kit.evidence.archive.build import Frozen, locked, update
from prereg_kit.evidence.archive.load import load_frozen, read_file
from prereg_kit.evidence.archive.record import FileRef, RenewalRecord, Stamper, rfc3339
from prereg_kit.foundation.digest import sha256_bytes


def manifest_of(files: Sequence[FileRef]) -> bytes:
    """The list's bytes, one line a file, sorted by path."""
    return "".join(f"{ref.sha256}  {ref.path}\n" for ref in sorted(files, key=lambda ref: ref.path)).encode()


def renew(folder: Path | str, files: Sequence[FileRef], stamper: Stamper) -> Frozen:
    """Stamp a list of a frozen folder's evidence.

    Args:
        folder: the frozen folder.
        files: everything that is evidence so far, as `prereg_kit.evidence.folder.evidence_files` gives it.
        stamper: asks the authorities for the digest of the list.

    Raises:
        ArchiveError: nothing is stamped yet, a file does not match the record, or another process writes there.
        TimestampError: no authority answered; nothing was added.
    """
    folder = Path(folder)
    load_frozen(folder)
    with locked(folder):
        document = load_frozen(folder)
        record = document.record
        if not record.stamps:
            raise ArchiveError(
                "nothing to renew: not stamped yet",
                where=Where(file=str(folder)),
                next_step="`prereg stamp` asks for the first stamps.",
                code="not-stamped",
            )
        for ref in files:
            read_file(folder, ref)
        manifest = manifest_of(files)
        asked = datetime.now(UTC)
        stamps = stamper(sha256_bytes(manifest))
        if not stamps.done:
            problems = "; ".join(item.problem for item in stamps.pending)
            raise TimestampError(
                f"no authority stamped the renewal: {problems}",
                where=Where(file=str(folder)),
                next_step="Nothing was added; try again.",
            )
        taken = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
        number = len(record.renewals) + 1
        while f"renewals/{number}" in taken:  # left by an interrupted renewal
            number += 1
        base = f"renewals/{number}"
        new, entries = {f"{base}/manifest.sha256": manifest}, []
        for stamp in stamps.done:
            entry, made = filing.file_stamp(stamp, base, {*taken, *new})
            entries.append(entry)
            new |= made
        renewal = RenewalRecord(
            manifest=filing.reference(f"{base}/manifest.sha256", manifest),
            renewed_at=rfc3339(asked),
            stamps=tuple(entries),
        )
        changed = record.model_copy(update={"renewals": (*record.renewals, renewal)})
        return Frozen(update(folder, changed, new), stamps, existed=True)

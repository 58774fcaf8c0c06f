"""Which files of a frozen folder are evidence, and which are not in its record."""

from __future__ import annotations

from pathlib import Path

from prereg_kit.evidence.archive.record import FileRef, FreezeRecord, StampRecord
from prereg_kit.evidence.deviations import LOG_NAME


def stamp_files(stamp: StampRecord) -> list[FileRef]:
    """Query, response, chain, anchor and revocation data of one stamp."""
    files = [stamp.query, stamp.response, *(item.file for item in stamp.revocation)]
    return files + [ref for ref in (stamp.chain, stamp.anchor) if ref is not None]


def vouching_files(stamp: StampRecord) -> list[FileRef]:
    """What a stamp needs to be verified: query, response, chain. Revocation data may be fetched again later."""
    return [stamp.query, stamp.response] + ([stamp.chain] if stamp.chain is not None else [])


def evidence_files(record: FreezeRecord) -> list[FileRef]:
    """Every file that a renewal must carry on: document, attachments, stamps, earlier manifests and theirs."""
    files = [record.document, *record.attachments]
    for stamp in record.stamps:
        files += stamp_files(stamp)
    for renewal in record.renewals:
        files.append(renewal.manifest)
        for stamp in renewal.stamps:
            files += stamp_files(stamp)
    return files


def leftovers(folder: Path, record: FreezeRecord) -> list[str]:
    """Files of the folder that its record does not name, as remarks; an interrupted stamp leaves such files."""
    known = {ref.path for ref in evidence_files(record)} | {
        "freeze.json",
        "README.md",
        "SHA256SUMS",
        LOG_NAME,
    }
    known |= {item.query.path for item in record.pending if item.query}
    found = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    return [f"{name}: not in the record and not examined" for name in found if name not in known]

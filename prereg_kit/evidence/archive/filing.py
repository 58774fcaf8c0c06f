"""Where the pieces of a stamp go: stamps/<operator>.tsq .tsr .chain.pem, and their entries in the record.

Pure: a record and new stamps in, a new record and the files to write out.
"""

from __future__ import annotations

from collections.abc import Collection

from prereg_kit.evidence.archive.record import (
    FileRef,
    FreezeRecord,
    NewStamp,
    PendingRecord,
    RevocationRef,
    StampRecord,
    Stamps,
    rfc3339,
)
from prereg_kit.foundation.digest import sha256_bytes


def reference(path: str, data: bytes) -> FileRef:
    """A file's entry: path, SHA-256, size."""
    return FileRef(path=path, sha256=sha256_bytes(data), size=len(data))


def _base(operator: str, folder: str, taken: Collection[str]) -> str:
    number = 1
    while True:
        base = f"{folder}/{operator}" + (f"-{number}" if number > 1 else "")
        if not any(path == base or path.startswith(base + ".") for path in taken):
            return base
        number += 1


def file_stamp(stamp: NewStamp, folder: str, taken: Collection[str]) -> tuple[StampRecord, dict[str, bytes]]:
    """The entry and the files of one stamp; a name in `taken` is never used again."""
    base = _base(stamp.operator, folder, taken)
    query, response = f"{base}.tsq", f"{base}.demo.tsr" if stamp.demo else f"{base}.tsr"
    files = {query: stamp.query, response: stamp.response}
    chain = None
    if stamp.chain:
        files[f"{base}.chain.pem"] = stamp.chain
        chain = reference(f"{base}.chain.pem", stamp.chain)
    anchor = None
    if stamp.anchor:
        files[f"{base}.anchor.pem"] = stamp.anchor
        anchor = reference(f"{base}.anchor.pem", stamp.anchor)
    revocation = []
    for number, item in enumerate(stamp.revocation, 1):
        path = f"{base}.{number}.{'crl' if item.kind == 'crl' else 'ocsp'}"
        files[path] = item.data
        revocation.append(
            RevocationRef(
                kind=item.kind,
                url=item.url,
                fetched_at=rfc3339(item.fetched_at),
                file=reference(path, item.data),
            )
        )
    record = StampRecord(
        operator=stamp.operator,
        url=stamp.url,
        demo=stamp.demo,
        query=reference(query, stamp.query),
        response=reference(response, stamp.response),
        chain=chain,
        anchor=anchor,
        revocation=tuple(revocation),
        anchor_sha256=stamp.anchor_sha256,
        sent_at=rfc3339(stamp.sent_at) if stamp.sent_at else None,
        received_at=rfc3339(stamp.received_at) if stamp.received_at else None,
        gen_time=rfc3339(stamp.gen_time) if stamp.gen_time else None,
        accuracy_s=stamp.accuracy_s,
        policy=stamp.policy,
        serial=None if stamp.serial is None else f"{stamp.serial:x}",
        tsa=stamp.tsa,
        warnings=stamp.warnings,
    )
    return record, files


def with_stamps(
    record: FreezeRecord, stamps: Stamps, *, taken: Collection[str]
) -> tuple[FreezeRecord, dict[str, bytes]]:
    """The record with new stamps and what is still pending, and the files to write.

    A stamp settles the pending entry of the same operator and URL; a new failure replaces an older one.
    """
    files: dict[str, bytes] = {}
    entries = list(record.stamps)
    for stamp in stamps.done:
        entry, new = file_stamp(stamp, "stamps", {*taken, *files})
        entries.append(entry)
        files |= new
    earlier = {(p.operator, p.url): p for p in record.pending}
    settled = {(s.operator, s.url) for s in stamps.done} | {(p.operator, p.url) for p in stamps.pending}
    pending = [p for place, p in earlier.items() if place not in settled]
    for item in stamps.pending:
        before = earlier.get((item.operator, item.url))
        if before is not None and before.query is not None and not item.query:
            pending.append(before.model_copy(update={"problem": item.problem}))
            continue  # a prepared query outlives a failed attempt: its answer may still be on its way
        query = None
        if item.query:
            path = f"{_base(item.operator, 'stamps', {*taken, *files})}.pending.tsq"
            files[path] = item.query
            query = reference(path, item.query)
        pending.append(
            PendingRecord(
                operator=item.operator,
                url=item.url,
                query=query,
                asked_at=rfc3339(item.asked_at),
                problem=item.problem,
            )
        )
    return record.model_copy(update={"stamps": tuple(entries), "pending": tuple(pending)}), files

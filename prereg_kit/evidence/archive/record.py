"""`prereg.freeze/1`: the record beside a frozen document, and what a stamp brings before it is stored.

The record names every file by relative path and SHA-256, so a missing or exchanged token is seen. Times are
UTC, RFC 3339. Times of this machine's clock (`frozen_at`, `sent_at`, `received_at`) are declared; only a
token's `gen_time` is vouched for by somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from prereg_kit.errors import ArchiveError, Where

FORMAT = "prereg.freeze/1"
RECORD_NAME = "freeze.json"
Kind = Literal["document", "plan", "amendment"]
HEX256 = r"^[0-9a-f]{64}$"


def rfc3339(moment: datetime) -> str:
    """A UTC time as RFC 3339 with Z; microseconds only where there are any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The aware UTC time that `rfc3339` wrote.

    Raises:
        ValueError: not a time, or one without an offset.
    """
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        raise ValueError(f"a time without an offset: {text!r}")
    return value.astimezone(UTC)


def _timely(text: str) -> str:
    moment(text)
    return text


Time = Annotated[str, AfterValidator(_timely)]
# Strict: pydantic would take `true` for 1 and "2" for 2, and a quorum of `true` would pass as one operator.
Whole = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileRef(_Value):
    """A file of the folder: relative path with `/`, SHA-256 in hex, size in bytes."""

    path: str
    sha256: str = Field(pattern=HEX256)
    size: Whole


class RevocationRef(_Value):
    """A CRL or an OCSP response as fetched, with its source and the time of the fetch."""

    kind: Literal["crl", "ocsp"]
    url: str
    fetched_at: Time
    file: FileRef


class StampRecord(_Value):
    """One token. The facts repeat what the token says, for a reader; verification reads the token itself."""

    operator: str
    url: str
    demo: Flag = False
    query: FileRef
    response: FileRef
    chain: FileRef | None = None
    anchor: FileRef | None = None
    revocation: tuple[RevocationRef, ...] = ()
    anchor_sha256: tuple[str, ...] = ()
    sent_at: Time | None = None
    received_at: Time | None = None
    gen_time: Time | None = None
    accuracy_s: Annotated[float, Field(strict=True)] | None = None
    policy: str | None = None
    serial: str | None = None
    tsa: str | None = None
    warnings: tuple[str, ...] = ()


class PendingRecord(_Value):
    """An authority that was asked, or is to be asked, and has not answered: its query is kept if offline."""

    operator: str
    url: str
    query: FileRef | None = None
    asked_at: Time
    problem: str


class RenewalRecord(_Value):
    """A manifest of all earlier evidence and the stamps over the manifest's bytes."""

    manifest: FileRef
    renewed_at: Time
    stamps: tuple[StampRecord, ...]


class FreezeRecord(_Value):
    """freeze.json."""

    format: Literal["prereg.freeze/1"] = "prereg.freeze/1"
    id: str
    kind: Kind = "document"
    document: FileRef
    frozen_at: Time
    frozen_by: str
    quorum: Annotated[Whole, Field(ge=1, le=16)] = 2
    remarks: tuple[str, ...] = ()
    attachments: tuple[FileRef, ...] = ()
    stamps: tuple[StampRecord, ...] = ()
    pending: tuple[PendingRecord, ...] = ()
    renewals: tuple[RenewalRecord, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON object, `format` first; fields without a value are left out."""
        return self.model_dump(mode="json", exclude_none=True)


@dataclass(frozen=True)
class Revocation:
    """Revocation data as received: `kind` crl or ocsp, DER bytes, source URL, time of the fetch."""

    kind: Literal["crl", "ocsp"]
    url: str
    data: bytes
    fetched_at: datetime


@dataclass(frozen=True)
class NewStamp:
    """What one authority gave, raw, before it is filed.

    `chain` is PEM, signer first, anchor last; `anchor` is the PEM of the pinned certificate it ends in, empty
    if none was at hand; `anchor_sha256` holds the fingerprints of all anchors pinned for the operator.
    """

    operator: str
    url: str
    query: bytes
    response: bytes
    demo: bool = False
    chain: bytes = b""
    anchor: bytes = b""
    revocation: tuple[Revocation, ...] = ()
    anchor_sha256: tuple[str, ...] = ()
    sent_at: datetime | None = None
    received_at: datetime | None = None
    gen_time: datetime | None = None
    accuracy_s: float | None = None
    policy: str | None = None
    serial: int | None = None
    tsa: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pending:
    """An authority without an answer: why, and the query that was prepared for it (empty if none is kept)."""

    operator: str
    url: str
    problem: str
    asked_at: datetime
    query: bytes = b""


@dataclass(frozen=True)
class Stamps:
    """What a round of requests brought."""

    done: tuple[NewStamp, ...] = ()
    pending: tuple[Pending, ...] = field(default=())


Stamper = Callable[[str], Stamps]
"""SHA-256 of the document (64 hex digits) -> what the authorities answered."""


def parse(value: object, source: str) -> FreezeRecord:
    """A record from parsed JSON.

    Raises:
        ArchiveError: another format or an unknown version, or a field that does not fit; the first is named.
    """
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        raise ArchiveError(
            "not a freeze record that this version can read",
            where=Where(file=source, field="format"),
            expected=repr(FORMAT),
            found=value.get("format") if isinstance(value, Mapping) else type(value).__name__,
            code="format",
        )
    try:
        return FreezeRecord.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise ArchiveError(
            first["msg"],
            where=Where(file=source, field=".".join(str(part) for part in first["loc"])),
            found=first.get("input"),
            next_step="The record was changed by hand or is incomplete: restore it.",
            code="record",
        ) from error

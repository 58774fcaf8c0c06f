"""One certificate's status according to one piece of stored revocation data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


class EvidenceError(ValueError):
    """Revocation data that cannot be used: damaged, badly signed, or of a kind that is not implemented."""


@dataclass(frozen=True)
class Status:
    """What a CRL or an OCSP response says of one certificate.

    Attributes:
        as_of: the time the statement is for (thisUpdate).
        complete: whether silence of this source means "not revoked" for this certificate.
        revoked_at: the revocation date, or None if not revoked.
        reason: RFC 5280's name of the reason, or None where none is given.
        invalid_from: the invalidity date (RFC 5280 5.3.2), or None.
    """

    as_of: datetime
    complete: bool
    revoked_at: datetime | None = None
    reason: str | None = None
    invalid_from: datetime | None = None

"""What goes into the verifier and what comes out: anchors and stored evidence in, a proof out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from prereg_kit.evidence.token.container import Container, Form, certificates_in
from prereg_kit.evidence.token.reason import Finding

#: The widest stated accuracy that counts as a time, unless a plan or a trust entry says otherwise. RFC 3161 has no
#: limit; public authorities state 30 seconds or less, and ETSI EN 319 421 asks for one second.
ACCURACY_LIMIT = timedelta(minutes=5)

#: What a token without an accuracy is taken to be good for (RFC 3161 leaves it open; printed as assumed).
ASSUMED_ACCURACY = timedelta(seconds=60)


@dataclass(frozen=True)
class Anchors:
    """The pinned certificates that a path may end at: roots or issuing CAs, as DER, from files.

    Certificates inside a token never become anchors.
    """

    certificates: tuple[bytes, ...]

    @classmethod
    def from_pem(cls, *blobs: bytes) -> Anchors:
        """Anchors from PEM files, each with one or several certificates (RFC 7468), or from DER.

        Raises:
            DocumentError: a blob holds no certificate.
        """
        return cls(tuple(dict.fromkeys(der for blob in blobs for der in certificates_in(blob))))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """SHA-256 of each certificate's DER, 64 lower-case hex digits, in the order given."""
        return tuple(hashlib.sha256(der).hexdigest() for der in self.certificates)


@dataclass(frozen=True)
class Evidence:
    """Revocation data stored with a token, all in DER; `crls_in` takes CRLs out of PEM."""

    crls: tuple[bytes, ...] = ()
    ocsps: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class TsaIdentity:
    """The certificate whose key signed the token.

    `subject` and `issuer` are RFC 4514-like text, most specific part first; `key` is such as "RSA-3072",
    "EC secp384r1" or "Ed25519"; `serial` is the certificate's, in hex.
    """

    subject: str
    issuer: str
    serial: str
    fingerprint_sha256: str
    key_sha256: str
    key: str
    not_before: datetime
    not_after: datetime

    def to_json(self) -> dict[str, str]:
        """Strings only; times are RFC 3339 in UTC."""
        return {
            "subject": self.subject,
            "issuer": self.issuer,
            "serial": self.serial,
            "fingerprint_sha256": self.fingerprint_sha256,
            "key": self.key,
            "not_before": utc(self.not_before),
            "not_after": utc(self.not_after),
        }


@dataclass(frozen=True)
class Proof:
    """A token that passed every check: these bytes existed at `gen_time`, says the named authority.

    Attributes:
        gen_time: the authority's time, aware, UTC, to the microsecond (RFC 3161 2.4.2).
        accuracy: stated half-width, or None where the token states none; see `latest`.
        serial: the token's serial number.
        policy: the policy OID of the token.
        tsa: the signer.
        anchor_fingerprint, anchor_subject, anchor_key_sha256: the pinned certificate the path ended at.
        chain: DER, signer first, anchor last.
        imprint_algorithm, imprint_hex: the digest that was stamped.
        nonce: the nonce, if the token has one.
        warnings: what a reader should know; never a reason to reject.
        protected_until, protected_by: the earliest end of a certificate or of an algorithm, and which.
        revocation: "good" if stored data covers every certificate below the anchor, else "not_checked".
        demo: made by the demonstration authority; no evidence, only ever seen with `allow_demo`.
        wide: the stated accuracy is over the limit; only ever seen with `allow_wide`. `latest` still bounds the time
            from above; the token never counts as a time or for a quorum.
        container, form: how the token came.
        token_sha256: of the bare token's DER: equal for a response and for the token taken out of it.
    """

    gen_time: datetime
    accuracy: timedelta | None
    serial: int
    policy: str
    tsa: TsaIdentity
    anchor_fingerprint: str
    anchor_subject: str
    anchor_key_sha256: str
    chain: tuple[bytes, ...] = field(repr=False)
    imprint_algorithm: str
    imprint_hex: str
    nonce: int | None
    warnings: tuple[Finding, ...]
    protected_until: datetime
    protected_by: str
    revocation: Literal["good", "not_checked"]
    demo: bool
    wide: bool
    container: Container
    form: Form
    token_sha256: str

    @property
    def latest(self) -> datetime:
        """The latest time at which the stamping can have happened: gen_time plus the accuracy (or 60 s)."""
        return _shift(self.gen_time, ASSUMED_ACCURACY if self.accuracy is None else self.accuracy)

    @property
    def earliest(self) -> datetime:
        """The earliest time at which the stamping can have happened: gen_time minus the accuracy (or 60 s)."""
        return _shift(self.gen_time, -(ASSUMED_ACCURACY if self.accuracy is None else self.accuracy))

    def to_json(self) -> dict[str, Any]:
        """The fields of `prereg.token/1` for an accepted token, in reading order."""
        return {
            "gen_time": utc(self.gen_time),
            "accuracy_seconds": None if self.accuracy is None else self.accuracy.total_seconds(),
            "serial": str(self.serial),
            "policy": self.policy,
            "imprint": {"algorithm": self.imprint_algorithm, "hex": self.imprint_hex},
            "nonce": None if self.nonce is None else hex(self.nonce),
            "tsa": self.tsa.to_json(),
            "anchor": {"subject": self.anchor_subject, "fingerprint_sha256": self.anchor_fingerprint},
            "protected_until": utc(self.protected_until),
            "protected_by": self.protected_by,
            "revocation": self.revocation,
            "wide": self.wide,
            "container": self.container,
            "form": self.form,
            "token_sha256": self.token_sha256,
            "warnings": [finding.to_json() for finding in self.warnings],
        }


def _shift(moment: datetime, by: timedelta) -> datetime:
    """`moment` plus `by`, held at the ends of the calendar."""
    try:
        return moment + by
    except OverflowError:
        return (datetime.max if by > timedelta(0) else datetime.min).replace(tzinfo=UTC)


def utc(moment: datetime) -> str:
    """RFC 3339 in UTC with Z; fractions only where there are any."""
    return moment.isoformat().replace("+00:00", "Z")

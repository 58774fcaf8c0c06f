"""OCSP responses (RFC 6960 4.2), signed by the issuer or by a responder that the issuer has delegated."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import DIGESTS, SHA1, algorithm_of, verify_signature
from prereg_kit.evidence.token.certificate import OCSP_SIGNING, Certificate, read_certificate, read_time
from prereg_kit.evidence.token.evidence import EvidenceError, Status
from prereg_kit.evidence.token.names import name_text, same_name
from prereg_kit.evidence.token.path import check_signed_by
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported

_BASIC = "1.3.6.1.5.5.7.48.1.1"
_ENUMERATED, _GOOD, _REVOKED = 0x0A, 0x80, 0xA1
_REASONS = {
    0: "unspecified",
    1: "keyCompromise",
    2: "cACompromise",
    3: "affiliationChanged",
    4: "superseded",
    5: "cessationOfOperation",
    6: "certificateHold",
    8: "removeFromCRL",
    9: "privilegeWithdrawn",
    10: "aACompromise",
}


@dataclass(frozen=True, eq=False)
class _Response:
    tbs: bytes
    algorithm: der.Node
    signature: bytes
    certificates: tuple[bytes, ...]
    produced_at: datetime
    singles: tuple[der.Node, ...]


def ocsp_status(blob: bytes, target: Certificate, issuer: Certificate) -> Status | None:
    """What the response says of `target`, or None if it speaks of other certificates only.

    Raises:
        EvidenceError: damaged, an error response, or not signed by the issuer or its delegate.
    """
    response = _read(blob)
    try:
        for single in response.singles:
            fields = der.Fields(single)
            if _means(fields.take(der.SEQUENCE), target, issuer):
                _check_signature(response, issuer)
                return _status(fields)
    except der.DerError as error:
        raise EvidenceError(f"an OCSP response is damaged: {error}") from error
    return None


@lru_cache(maxsize=64)
def _read(blob: bytes) -> _Response:
    try:
        outer = der.Fields(der.parse(blob).expect(der.SEQUENCE))
        if outer.take(_ENUMERATED).content != b"\x00":
            raise EvidenceError("an OCSP response that reports an error")
        wrapped = der.Fields(outer.take(0xA0).only().expect(der.SEQUENCE))
        if wrapped.take(der.OID).oid() != _BASIC:
            raise EvidenceError("an OCSP response of an unknown type")
        basic = der.Fields(der.parse(wrapped.take(der.OCTET_STRING).content).expect(der.SEQUENCE))
        tbs, algorithm, signature = (
            basic.take(der.SEQUENCE),
            basic.take(der.SEQUENCE),
            basic.take(der.BIT_STRING).bits(),
        )
        bag = basic.optional(0xA0)
        fields = der.Fields(tbs)
        fields.optional(0xA0)
        fields.any()  # responderID: the signature below says more
        produced_at = read_time(fields.take(der.GENERALIZED_TIME))
        singles = tuple(fields.take(der.SEQUENCE).children())
        certificates = () if bag is None else tuple(child.raw for child in bag.only().children())
        return _Response(tbs.raw, algorithm, signature, certificates[:16], produced_at, singles)
    except EvidenceError:
        raise
    except (ValueError, IndexError) as error:
        raise EvidenceError(f"an OCSP response is damaged: {error}") from error


def _means(cert_id: der.Node, target: Certificate, issuer: Certificate) -> bool:
    """Whether a CertID (4.1.1) is that of `target`: serial, hash of the issuer's name, hash of its key."""
    fields = der.Fields(cert_id)
    oid = algorithm_of(fields.take(der.SEQUENCE))
    name, key = fields.take(der.OCTET_STRING).content, fields.take(der.OCTET_STRING).content
    serial = fields.take(der.INTEGER).integer()
    if serial != target.serial or (oid != SHA1 and oid not in DIGESTS):
        return False
    algorithm = "sha1" if oid == SHA1 else DIGESTS[oid].name
    spki = der.Fields(der.parse(issuer.spki))
    spki.any()
    key_bits = spki.take(der.BIT_STRING).bits()
    names = (target.issuer, issuer.subject)  # equal names, perhaps in two encodings
    name_digests = {hashlib.new(algorithm, raw, usedforsecurity=False).digest() for raw in names}
    return name in name_digests and key == hashlib.new(algorithm, key_bits, usedforsecurity=False).digest()


def _check_signature(response: _Response, issuer: Certificate) -> None:
    problem = f"an OCSP response is not signed by {name_text(issuer.subject)} or a responder of it"
    for responder in _responders(response, issuer):
        try:
            verify_signature(
                key=responder.key,
                algorithm=response.algorithm,
                digest=None,
                signature=response.signature,
                message=response.tbs,
                reason="bad_signature",
                what="an OCSP response",
            )
        except (TokenRejected, TokenUnsupported):
            continue
        return
    raise EvidenceError(problem)


def _responders(response: _Response, issuer: Certificate) -> list[Certificate]:
    """The issuer, and each embedded certificate that it has delegated for OCSP (4.2.2.2)."""
    found = [issuer]
    for raw in response.certificates:
        try:
            certificate = read_certificate(raw)
            delegated = OCSP_SIGNING in (certificate.purposes or ())
            if not delegated or not same_name(certificate.issuer, issuer.subject):
                continue
            check_signed_by(raw, issuer.raw)
        except (TokenRejected, TokenUnsupported):
            continue
        if certificate.valid_at(response.produced_at):
            found.append(certificate)
    return found


def _status(fields: der.Fields) -> Status:
    """Read certStatus and thisUpdate of a SingleResponse (4.2.1)."""
    status = fields.any()
    try:
        as_of = read_time(fields.take(der.GENERALIZED_TIME))
        if status.tag == _GOOD:
            return Status(as_of=as_of, complete=True)
        if status.tag != _REVOKED:
            return Status(as_of=as_of, complete=False)
        details = der.Fields(status)
        revoked_at = read_time(details.take(der.GENERALIZED_TIME))
        reason = details.optional(0xA0)
        number = None if reason is None else int.from_bytes(reason.only().expect(_ENUMERATED).content, "big")
    except ValueError as error:
        raise EvidenceError(f"an OCSP response is damaged: {error}") from error
    name = None if number is None else _REASONS.get(number, f"reason {number}")
    return Status(as_of=as_of, complete=True, revoked_at=revoked_at, reason=name)

"""Certificate revocation lists (RFC 5280 5 and 6.3), the signature verified with the issuer's key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from cryptography import x509

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import verify_signature
from prereg_kit.evidence.token.certificate import CRL_SIGN, Certificate, read_certificate, read_time
from prereg_kit.evidence.token.evidence import EvidenceError, Status
from prereg_kit.evidence.token.names import name_text, same_name
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported

_MAX_BYTES = 32 << 20
_KNOWN = (
    x509.CRLNumber,
    x509.AuthorityKeyIdentifier,
    x509.IssuingDistributionPoint,
    x509.IssuerAlternativeName,
)
#: What `cryptography` raises for a damaged list; not all of it is a ValueError.
_FOREIGN = (ValueError, x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


@dataclass(frozen=True, eq=False)
class _Crl:
    issuer: bytes
    this_update: datetime
    tbs: bytes
    algorithm: der.Node
    signature: bytes
    entries: x509.CertificateRevocationList


def crl_status(blob: bytes, target: Certificate, issuer: Certificate) -> Status | None:
    """What the list says of `target`, or None if it is another issuer's list.

    Args:
        blob: the list's DER.
        target: a certificate of a path.
        issuer: the next certificate of the path.

    Raises:
        EvidenceError: damaged, not signed by the issuer, or an indirect or delta list.
    """
    crl = _read(blob)
    if not same_name(crl.issuer, target.issuer):
        return None
    _check_signature(blob, issuer.raw)
    try:
        complete = _scope(crl.entries, target)
        entry = crl.entries.get_revoked_certificate_by_serial_number(target.serial)
        if entry is None:
            return Status(as_of=crl.this_update, complete=complete)
        reason, invalid_from = _entry_details(entry)
        revoked_at = entry.revocation_date_utc
    except _FOREIGN as error:
        raise EvidenceError(f"the revocation list of {name_text(crl.issuer)} is damaged: {error}") from error
    return Status(
        as_of=crl.this_update,
        complete=complete,
        revoked_at=revoked_at,
        reason=reason,
        invalid_from=invalid_from,
    )


@lru_cache(maxsize=4)
def _read(blob: bytes) -> _Crl:
    try:
        if len(blob) > _MAX_BYTES:
            raise der.DerError(f"{len(blob)} bytes")
        outer = der.Fields(der.parse_outer(blob).expect(der.SEQUENCE))
        tbs, algorithm, signature = (
            outer.take(der.SEQUENCE),
            outer.take(der.SEQUENCE),
            outer.take(der.BIT_STRING).bits(),
        )
        outer.close()
        first = tbs.children()
        node = next(first)
        if node.tag == der.INTEGER:
            node = next(first)
        issuer, this_update = next(first), next(first)
        if node.raw != algorithm.raw:
            raise der.DerError("two different signature algorithms")
        algorithm_node = der.parse(algorithm.raw)
        return _Crl(
            issuer.raw,
            read_time(this_update),
            tbs.raw,
            algorithm_node,
            signature,
            x509.load_der_x509_crl(blob),
        )
    except (*_FOREIGN, IndexError, StopIteration) as error:
        raise EvidenceError(f"a revocation list is damaged: {error}") from error


@lru_cache(maxsize=8)
def _check_signature(blob: bytes, issuer_raw: bytes) -> None:
    crl, issuer = _read(blob), read_certificate(issuer_raw)
    title = f"the revocation list of {name_text(crl.issuer)}"
    if issuer.key_usage is not None and CRL_SIGN not in issuer.key_usage:
        raise EvidenceError(f"{title} is signed by a key that is not for revocation lists")
    try:
        verify_signature(
            key=issuer.key,
            algorithm=crl.algorithm,
            digest=None,
            signature=crl.signature,
            message=crl.tbs,
            reason="bad_signature",
            what=title,
        )
    except (TokenRejected, TokenUnsupported) as error:
        raise EvidenceError(error.problem) from error


def _scope(crl: x509.CertificateRevocationList, target: Certificate) -> bool:
    """Whether silence of the list means "not revoked" for `target` (RFC 5280 5.2.5, 6.3.3)."""
    complete = True
    for extension in crl.extensions:
        value = extension.value
        if isinstance(value, x509.DeltaCRLIndicator):
            raise EvidenceError("a delta revocation list is not used")
        if isinstance(value, x509.IssuingDistributionPoint):
            if value.indirect_crl:
                raise EvidenceError("an indirect revocation list is not used")
            authority = target.authority[0]
            wrong = value.only_contains_attribute_certs or (
                value.only_contains_ca_certs if not authority else value.only_contains_user_certs
            )
            complete = complete and not wrong and not value.only_some_reasons
        elif extension.critical and not isinstance(value, _KNOWN):
            raise EvidenceError(
                f"a revocation list has an unknown critical extension {extension.oid.dotted_string}"
            )
    return complete


def _entry_details(entry: x509.RevokedCertificate) -> tuple[str | None, datetime | None]:
    reason, invalid_from = None, None
    for extension in entry.extensions:
        if isinstance(extension.value, x509.CRLReason):
            reason = extension.value.reason.value
        elif isinstance(extension.value, x509.InvalidityDate):
            invalid_from = extension.value.invalidity_date_utc
        elif extension.critical:
            raise EvidenceError(f"an entry has an unknown critical extension {extension.oid.dotted_string}")
    return reason, invalid_from

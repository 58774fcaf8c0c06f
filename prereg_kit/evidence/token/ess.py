"""The signed identifier of the signer's certificate: ESS v1 (RFC 2634 5.4) and v2 (RFC 5035 3).

RFC 3161 2.4.2 requires v1, RFC 5816 2.2.1 allows v2 in its place. Whichever is there is checked, both if both
are: the attribute is what binds the token to one certificate rather than to a key.
"""

from __future__ import annotations

import hashlib

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import DIGESTS, SHA1, WEAK_DIGESTS, algorithm_of
from prereg_kit.evidence.token.certificate import Certificate
from prereg_kit.evidence.token.names import same_name
from prereg_kit.evidence.token.reason import Finding, TokenRejected, TokenUnsupported
from prereg_kit.evidence.token.signed import ESS_V1, ESS_V2, SignerInfo

_DIRECTORY_NAME = 0xA4


def prefers(signer: SignerInfo, certificate: Certificate) -> bool:
    """Whether an ESS identifier names this certificate; used to choose among several of one name and serial."""
    try:
        check_ess(signer, certificate)
    except (TokenRejected, TokenUnsupported, der.DerError):
        return False
    return True


def check_ess(signer: SignerInfo, certificate: Certificate) -> tuple[Finding, ...]:
    """Check every ESS identifier against the certificate whose key made the signature.

    Returns:
        A finding if the binding rests on SHA-1 alone, which RFC 5816 still allows.

    Raises:
        TokenRejected: ess_missing, ess_mismatch.
        TokenUnsupported: unsupported_digest.
    """
    digests = []
    for oid in (ESS_V1, ESS_V2):
        if oid in signer.attributes:
            first = der.Fields(
                der.Fields(signer.attributes[oid][0].expect(der.SEQUENCE)).take(der.SEQUENCE)
            ).any()
            digests.append(_check(first, certificate, v2=oid == ESS_V2))
    if not digests:
        raise TokenRejected(
            "ess_missing",
            "the token does not say which certificate signed it",
            expected="a SigningCertificate or SigningCertificateV2 attribute",
        )
    if all(name == "sha1" for name in digests):
        return (
            Finding("ess_sha1", "the signer's certificate is named by its SHA-1 digest alone (RFC 2634)"),
        )
    return ()


def _check(cert_id: der.Node, certificate: Certificate, *, v2: bool) -> str:
    fields = der.Fields(cert_id.expect(der.SEQUENCE))
    algorithm = fields.optional(der.SEQUENCE) if v2 else None
    digest = fields.take(der.OCTET_STRING).content
    issuer_serial = fields.optional(der.SEQUENCE)
    fields.close()
    if not v2:
        name = "sha1"
    else:
        oid = None if algorithm is None else algorithm_of(algorithm)
        if oid in WEAK_DIGESTS and oid != SHA1:
            raise TokenRejected(
                "weak_signature_hash", "the ESS identifier is too weak", found=WEAK_DIGESTS[oid]
            )
        if oid is not None and oid != SHA1 and oid not in DIGESTS:
            raise TokenUnsupported(
                "unsupported_digest", "the ESS identifier uses an unknown digest", found=oid
            )
        name = "sha256" if oid is None else "sha1" if oid == SHA1 else DIGESTS[oid].name
    if hashlib.new(name, certificate.raw, usedforsecurity=False).digest() != digest:
        raise TokenRejected(
            "ess_mismatch",
            "the token was signed for another certificate",
            expected=f"{name} {digest.hex()}",
            found=certificate.fingerprint,
        )
    if issuer_serial is not None:
        _check_issuer(issuer_serial, certificate)
    return name


def _check_issuer(node: der.Node, certificate: Certificate) -> None:
    fields = der.Fields(node)
    names = list(fields.take(der.SEQUENCE).children())
    serial = fields.take(der.INTEGER).integer()
    fields.close()
    named = [name.only().raw for name in names if name.tag == _DIRECTORY_NAME]
    if serial != certificate.serial or not any(same_name(name, certificate.issuer) for name in named):
        raise TokenRejected(
            "ess_mismatch", "the ESS identifier names another issuer or serial number", found=hex(serial)
        )

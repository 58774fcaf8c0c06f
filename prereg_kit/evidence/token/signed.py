"""SignedData and its one SignerInfo (RFC 5652 5), read from the original bytes."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import Digest, allowed_digest, digest_hex, verify_signature
from prereg_kit.evidence.token.certificate import Certificate, read_certificate
from prereg_kit.evidence.token.names import same_name
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported

TST_INFO = "1.2.840.113549.1.9.16.1.4"
CONTENT_TYPE, MESSAGE_DIGEST, SIGNING_TIME = (
    "1.2.840.113549.1.9.3",
    "1.2.840.113549.1.9.4",
    "1.2.840.113549.1.9.5",
)
ALGORITHM_PROTECTION = "1.2.840.113549.1.9.52"
ESS_V1, ESS_V2 = "1.2.840.113549.1.9.16.2.12", "1.2.840.113549.1.9.16.2.47"
_SINGLE = (CONTENT_TYPE, MESSAGE_DIGEST, SIGNING_TIME, ALGORITHM_PROTECTION, ESS_V1, ESS_V2)
_MAX_CERTIFICATES = 64


@dataclass(frozen=True)
class SignerInfo:
    """One SignerInfo (5.3). `attributes` maps an OID to the AttributeValue elements of the signed attributes.

    `issuer` and `serial`, or `key_id`, name the signer; `signed` is what the signature covers: the signed
    attributes as received, with the tag of a SET in place of the implicit one (5.4).
    """

    issuer: bytes | None
    serial: int | None
    key_id: bytes | None
    digest: Digest
    digest_algorithm: der.Node = field(repr=False)
    attributes: dict[str, list[der.Node]] = field(repr=False)
    signed: bytes = field(repr=False)
    algorithm: der.Node = field(repr=False)
    signature: bytes = field(repr=False)

    def names(self, certificate: Certificate) -> bool:
        """Whether the signer identifier (5.3) means this certificate."""
        if self.key_id is not None:
            return certificate.key_id == self.key_id
        assert self.issuer is not None
        return certificate.serial == self.serial and same_name(certificate.issuer, self.issuer)


@dataclass(frozen=True)
class Signed:
    """SignedData taken apart: `content` is the DER of TSTInfo, `certificates` and `crls` are DER as embedded."""

    content: bytes = field(repr=False)
    certificates: tuple[bytes, ...] = field(repr=False)
    crls: tuple[bytes, ...] = field(repr=False)
    signer_infos: tuple[der.Node, ...] = field(repr=False)


def read_signed_data(node: der.Node) -> Signed:
    """Take SignedData apart (5.1); the signer is read later, when the statement has been checked.

    Raises:
        TokenRejected: econtent_type, certificate_malformed, path_budget.
        der.DerError: another structure.
    """
    fields = der.Fields(node)
    _version(fields.take(der.INTEGER), (1, 3, 4, 5))
    fields.take(der.SET)
    encapsulated = der.Fields(fields.take(der.SEQUENCE))
    kind = encapsulated.take(der.OID).oid()
    if kind != TST_INFO:
        raise TokenRejected(
            "econtent_type",
            "the signed content is no time stamp",
            expected=f"{TST_INFO} (TSTInfo)",
            found=kind,
        )
    content = encapsulated.take(0xA0).only().expect(der.OCTET_STRING).content
    encapsulated.close()
    certificates, crls = fields.optional(0xA0), fields.optional(0xA1)
    signer_infos = fields.take(der.SET)
    fields.close()
    bag = (
        ()
        if certificates is None
        else tuple(child.raw for child in certificates.children() if child.tag == der.SEQUENCE)
    )
    if len(bag) > _MAX_CERTIFICATES:
        raise TokenRejected(
            "path_budget", "too many certificates", expected=f"at most {_MAX_CERTIFICATES}", found=len(bag)
        )
    return Signed(
        content=content,
        certificates=bag,
        crls=()
        if crls is None
        else tuple(child.raw for child in crls.children() if child.tag == der.SEQUENCE),
        signer_infos=tuple(signer_infos.children()),
    )


def read_signer(signed: Signed) -> SignerInfo:
    """Read the one SignerInfo; RFC 3161 2.4.2 allows no other number.

    Raises:
        TokenRejected: signer_count, signed_attributes, weak_signature_hash.
        TokenUnsupported: unsupported_digest.
        der.DerError: another structure.
    """
    if len(signed.signer_infos) != 1:
        raise TokenRejected(
            "signer_count", "a token has one signer", expected="1", found=len(signed.signer_infos)
        )
    fields = der.Fields(signed.signer_infos[0].expect(der.SEQUENCE))
    _version(fields.take(der.INTEGER), (1, 3))
    issuer = serial = key_id = None
    if (by_key := fields.optional(0x80)) is not None:
        key_id = by_key.content
    else:
        pair = der.Fields(fields.take(der.SEQUENCE))
        issuer, serial = pair.take(der.SEQUENCE).raw, pair.take(der.INTEGER).integer()
        pair.close()
    digest_algorithm = der.parse(fields.take(der.SEQUENCE).raw)
    attributes = fields.optional(0xA0)
    algorithm = der.parse(fields.take(der.SEQUENCE).raw)
    signature = fields.take(der.OCTET_STRING).content
    fields.optional(0xA1)
    fields.close()
    if attributes is None:
        raise TokenRejected(
            "signed_attributes", "the token has no signed attributes", expected="RFC 5652 5.3"
        )
    return SignerInfo(
        issuer=issuer,
        serial=serial,
        key_id=key_id,
        digest=allowed_digest(digest_algorithm, "the token's signature"),
        digest_algorithm=digest_algorithm,
        attributes=_attributes(der.parse(attributes.raw)),
        signed=bytes([der.SET]) + attributes.raw[1:],
        algorithm=algorithm,
        signature=signature,
    )


def check_attributes(signer: SignerInfo, content: bytes) -> None:
    """contentType, messageDigest and algorithm protection agree with the content (5.4, 11.1, 11.2, RFC 6211).

    Raises:
        TokenRejected: signed_attributes, message_digest_mismatch.
    """
    kind = _value(signer, CONTENT_TYPE, "contentType").oid()
    if kind != TST_INFO:
        raise TokenRejected(
            "signed_attributes", "the signed contentType is another", expected=TST_INFO, found=kind
        )
    stated = _value(signer, MESSAGE_DIGEST, "messageDigest").expect(der.OCTET_STRING).content
    if not hmac.compare_digest(stated.hex(), digest_hex(signer.digest.name, content)):
        raise TokenRejected(
            "message_digest_mismatch", "the statement in the token was changed after it was signed"
        )
    if ALGORITHM_PROTECTION in signer.attributes:
        fields = der.Fields(_value(signer, ALGORITHM_PROTECTION, "algorithm protection"))
        digest = fields.take(der.SEQUENCE)
        signature = fields.optional(0xA1)
        if _algorithm_key(digest) != _algorithm_key(signer.digest_algorithm) or (
            signature is not None and _algorithm_key(signature) != _algorithm_key(signer.algorithm)
        ):
            raise TokenRejected(
                "signed_attributes", "the algorithms are not those that were signed (RFC 6211)"
            )


@dataclass(frozen=True)
class Candidates:
    """Certificates at hand: those that the signer identifier means, all, and why one could not be read."""

    meant: tuple[Certificate, ...]
    pool: tuple[Certificate, ...]
    damage: TokenRejected | None


def candidates(signer: SignerInfo, signed: Signed, untrusted: Sequence[bytes]) -> Candidates:
    """Read the certificates at hand and find the signer's among them.

    Raises:
        TokenRejected: signer_missing.
        TokenUnsupported: unsupported_certificate, if the signer's may be among those that cannot be read.
    """
    pool: list[Certificate] = []
    damage: TokenRejected | None = None
    for raw in dict.fromkeys((*signed.certificates, *untrusted)):
        try:
            pool.append(read_certificate(raw))
        except TokenRejected as error:
            damage = error
    meant = tuple(certificate for certificate in pool if signer.names(certificate))
    if not meant and damage is not None:
        raise TokenUnsupported(
            "unsupported_certificate", f"the signer's certificate cannot be read: {damage.problem}"
        ) from damage
    if not meant:
        raise TokenRejected(
            "signer_missing",
            "the signer's certificate is neither in the token nor among the given ones",
            found=f"serial {signer.serial:x}" if signer.serial is not None else "a key identifier",
            next_step="Give it as an untrusted certificate; it does not become an anchor by that.",
        )
    return Candidates(meant, tuple(pool), damage)


def check_signature(signer: SignerInfo, certificate: Certificate) -> None:
    """The signature over the signed attributes verifies with the certificate's key (5.6).

    Raises:
        TokenRejected: bad_signature, weak_signature_hash.
        TokenUnsupported: unsupported_signature, unsupported_certificate.
    """
    verify_signature(
        key=certificate.key,
        algorithm=signer.algorithm,
        digest=signer.digest,
        signature=signer.signature,
        message=signer.signed,
        reason="bad_signature",
        what="the token's signature",
    )


def _version(node: der.Node, known: tuple[int, ...]) -> None:
    """The versions that RFC 5652 5.1 and 5.3 define; which of them does not matter to any check."""
    if node.integer() not in known:
        raise der.DerError(f"an unknown version of signed-data at offset {node.start}")


def _attributes(implicit: der.Node) -> dict[str, list[der.Node]]:
    found: dict[str, list[der.Node]] = {}
    for node in implicit.children():
        fields = der.Fields(node.expect(der.SEQUENCE))
        oid = fields.take(der.OID).oid()
        values = list(fields.take(der.SET).children())
        fields.close()
        if oid in _SINGLE and (oid in found or len(values) != 1):
            raise TokenRejected(
                "signed_attributes", "a signed attribute occurs twice or has several values", found=oid
            )
        found.setdefault(oid, []).extend(values)
    return found


def _value(signer: SignerInfo, oid: str, title: str) -> der.Node:
    values = signer.attributes.get(oid)
    if not values:
        raise TokenRejected("signed_attributes", f"the signed attribute {title} is missing", expected=oid)
    return values[0]


def _algorithm_key(node: der.Node) -> tuple[bytes, ...]:
    """An AlgorithmIdentifier's parts without a NULL, which may or may not be written (RFC 5754 2)."""
    return tuple(child.raw for child in node.children() if child.tag != der.NULL)

"""One X.509 certificate (RFC 5280 4.1), read strictly from its DER, its bytes kept.

The structure is read here rather than by `cryptography`, which refuses whole certificates of real authorities
for parts that no check needs; only the public key is loaded by it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import PublicKey, public_key
from prereg_kit.evidence.token.names import name_text
from prereg_kit.evidence.token.reason import TokenRejected

BASIC_CONSTRAINTS, KEY_USAGE, EXTENDED_KEY_USAGE = "2.5.29.19", "2.5.29.15", "2.5.29.37"
SUBJECT_KEY_ID, SUBJECT_ALT_NAME, NAME_CONSTRAINTS = "2.5.29.14", "2.5.29.17", "2.5.29.30"
POLICY_CONSTRAINTS = "2.5.29.36"
TIME_STAMPING, OCSP_SIGNING, ANY_PURPOSE = "1.3.6.1.5.5.7.3.8", "1.3.6.1.5.5.7.3.9", "2.5.29.37.0"
DIGITAL_SIGNATURE, CONTENT_COMMITMENT, KEY_CERT_SIGN, CRL_SIGN = 0, 1, 5, 6

_UTC_TIME = re.compile(rb"\d{12}Z", re.ASCII)
_GENERALIZED = re.compile(rb"\d{14}Z", re.ASCII)
_MAX_BYTES = 64 * 1024


@dataclass(frozen=True)
class Extension:
    """One extension: whether it is critical, and the DER inside its octet string."""

    critical: bool
    value: bytes


@dataclass(frozen=True, eq=False)
class Certificate:
    """A certificate that has been read, not one that has been trusted. Names are kept as DER."""

    raw: bytes = field(repr=False)
    tbs: bytes = field(repr=False)
    version: int
    serial: int
    issuer: bytes
    subject: bytes
    not_before: datetime
    not_after: datetime
    spki: bytes = field(repr=False)
    extensions: Mapping[str, Extension] = field(repr=False)
    signature_algorithm: der.Node = field(repr=False)
    signature: bytes = field(repr=False)

    @cached_property
    def key(self) -> PublicKey:
        """The public key; `TokenUnsupported` if it cannot be loaded."""
        return public_key(self.spki)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the DER in hex."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def key_sha256(self) -> str:
        """SHA-256 of the SubjectPublicKeyInfo in hex: equal for two certificates of one key."""
        return hashlib.sha256(self.spki).hexdigest()

    @property
    def title(self) -> str:
        """The subject as text, in quotes, for messages."""
        return repr(name_text(self.subject))

    @cached_property
    def authority(self) -> tuple[bool, int | None]:
        """(CA flag, path length or None) of basicConstraints; (False, None) where absent (4.2.1.9)."""
        node = self._value(BASIC_CONSTRAINTS)
        if node is None:
            return False, None
        fields = der.Fields(node.expect(der.SEQUENCE))
        flag = fields.optional(der.BOOLEAN)
        length = fields.optional(der.INTEGER)
        fields.close()
        return flag is not None and flag.flag(), None if length is None else length.integer()

    @cached_property
    def key_usage(self) -> frozenset[int] | None:
        """The bits set in keyUsage (4.2.1.3), or None where absent."""
        node = self._value(KEY_USAGE)
        if node is None:
            return None
        content = node.expect(der.BIT_STRING).content[1:]
        return frozenset(
            index for index in range(len(content) * 8) if content[index // 8] >> (7 - index % 8) & 1
        )

    @cached_property
    def purposes(self) -> tuple[str, ...] | None:
        """The OIDs of extendedKeyUsage (4.2.1.12), or None where absent."""
        node = self._value(EXTENDED_KEY_USAGE)
        return None if node is None else tuple(child.oid() for child in node.expect(der.SEQUENCE).children())

    @cached_property
    def key_id(self) -> bytes | None:
        """The subject key identifier (4.2.1.2), or None."""
        node = self._value(SUBJECT_KEY_ID)
        return None if node is None else node.expect(der.OCTET_STRING).content

    def valid_at(self, moment: datetime) -> bool:
        """Whether `moment` lies in the validity period, both ends included (4.1.2.5)."""
        return self.not_before <= moment.replace(microsecond=0) and moment <= self.not_after.replace(
            microsecond=999_999
        )

    def _value(self, oid: str) -> der.Node | None:
        extension = self.extensions.get(oid)
        return None if extension is None else der.parse(extension.value)


@lru_cache(maxsize=512)
def read_certificate(raw: bytes) -> Certificate:
    """Read a certificate's DER.

    Raises:
        TokenRejected: certificate_malformed.
    """
    try:
        if len(raw) > _MAX_BYTES:
            raise der.DerError(f"{len(raw)} bytes")
        certificate = _read(der.parse(raw))
        _ = certificate.authority, certificate.key_usage, certificate.purposes, certificate.key_id
    except (ValueError, IndexError) as error:
        raise TokenRejected(
            "certificate_malformed", f"a certificate is damaged: {error}", found=raw[:24].hex()
        ) from error
    return certificate


def _read(root: der.Node) -> Certificate:
    outer = der.Fields(root.expect(der.SEQUENCE))
    tbs = outer.take(der.SEQUENCE)
    algorithm = outer.take(der.SEQUENCE)
    signature = outer.take(der.BIT_STRING).bits()
    outer.close()
    fields = der.Fields(tbs)
    explicit = fields.optional(0xA0)
    version = 1 if explicit is None else explicit.only().integer() + 1
    serial = fields.take(der.INTEGER).integer()
    if fields.take(der.SEQUENCE).raw != algorithm.raw:
        raise der.DerError("two different signature algorithms")  # 4.1.1.2
    issuer = fields.take(der.SEQUENCE).raw
    validity = der.Fields(fields.take(der.SEQUENCE))
    not_before, not_after = read_time(validity.any()), read_time(validity.any())
    validity.close()
    subject = fields.take(der.SEQUENCE).raw
    spki = fields.take(der.SEQUENCE).raw
    fields.optional(0x81)
    fields.optional(0x82)
    extensions = fields.optional(0xA3)
    fields.close()
    if version not in (1, 2, 3) or (extensions is not None and version != 3):
        raise der.DerError(f"version {version}")
    return Certificate(
        raw=root.raw,
        tbs=tbs.raw,
        version=version,
        serial=serial,
        issuer=issuer,
        subject=subject,
        not_before=not_before,
        not_after=not_after,
        spki=spki,
        extensions=read_extensions(extensions),
        signature_algorithm=algorithm,
        signature=signature,
    )


def read_time(node: der.Node) -> datetime:
    """UTCTime or GeneralizedTime with seconds and Z (RFC 5280 4.1.2.5), aware.

    Raises:
        der.DerError: another form. ValueError: no such day.
    """
    content = node.content
    if node.tag == der.UTC_TIME and _UTC_TIME.fullmatch(content):
        century = b"20" if content[:2] < b"50" else b"19"
        content = century + content
    elif node.tag != der.GENERALIZED_TIME or not _GENERALIZED.fullmatch(content):
        raise der.DerError(f"a time that is no UTC time at offset {node.start}")
    return datetime.strptime(content.decode(), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def read_extensions(explicit: der.Node | None) -> dict[str, Extension]:
    """Extensions by OID, from the explicit tag around them; a repeated one is an error (4.2)."""
    found: dict[str, Extension] = {}
    if explicit is None:
        return found
    for node in explicit.only().expect(der.SEQUENCE).children():
        fields = der.Fields(node)
        oid = fields.take(der.OID).oid()
        critical = fields.optional(der.BOOLEAN)
        value = fields.take(der.OCTET_STRING).content
        fields.close()
        if oid in found:
            raise der.DerError(f"the extension {oid} twice")
        found[oid] = Extension(critical is not None and critical.flag(), value)
    return found

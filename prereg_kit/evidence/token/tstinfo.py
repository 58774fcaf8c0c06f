"""TSTInfo, the statement that the authority signed (RFC 3161 2.4.2), read field by field from its DER."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import DIGESTS, WEAK_DIGESTS, algorithm_of
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported

_GEN_TIME = re.compile(rb"(\d{14})(?:\.(\d{0,20}[1-9]))?Z", re.ASCII)
_MAX_ACCURACY_S = 366 * 86_400


@dataclass(frozen=True)
class Imprint:
    """A MessageImprint: `algorithm` by its short name, such as sha256, and the digest in lower-case hex."""

    algorithm: str
    hex: str


@dataclass(frozen=True)
class TstInfo:
    """The signed statement. `tsa` is the GeneralName element inside the explicit tag, or None."""

    policy: str
    imprint: Imprint
    serial: int
    gen_time: datetime
    accuracy: timedelta | None
    nonce: int | None
    tsa: der.Node | None


def read_tstinfo(root: der.Node) -> TstInfo:
    """Read TSTInfo from checked DER.

    Raises:
        TokenRejected: tstinfo_version, gen_time_encoding, accuracy_encoding, tstinfo_extension,
            weak_imprint_hash, imprint_length.
        TokenUnsupported: unsupported_digest.
        der.DerError: a field is missing or of another type.
    """
    fields = der.Fields(root.expect(der.SEQUENCE))
    version = fields.take(der.INTEGER).integer()
    if version != 1:
        raise TokenRejected("tstinfo_version", "TSTInfo has an unknown version", expected="1", found=version)
    policy = fields.take(der.OID).oid()
    imprint = fields.take(der.SEQUENCE)
    serial = fields.take(der.INTEGER).integer()
    gen_time = _gen_time(fields.take(der.GENERALIZED_TIME).content)
    accuracy = _accuracy(fields.optional(der.SEQUENCE))
    fields.optional(der.BOOLEAN)  # ordering: says nothing about this token alone
    nonce = fields.optional(der.INTEGER)
    tsa = fields.optional(0xA0)
    extensions = fields.optional(0xA1)
    fields.close()
    _extensions(extensions)
    return TstInfo(
        policy=policy,
        imprint=read_imprint(imprint),
        serial=serial,
        gen_time=gen_time,
        accuracy=accuracy,
        nonce=None if nonce is None else nonce.integer(),
        tsa=None if tsa is None else tsa.only(),
    )


def read_imprint(node: der.Node) -> Imprint:
    """MessageImprint (RFC 3161 2.4.1): the algorithm must be allowed and the digest must have its length.

    Raises:
        TokenRejected: weak_imprint_hash, imprint_length.
        TokenUnsupported: unsupported_digest.
    """
    fields = der.Fields(node)
    oid = algorithm_of(fields.take(der.SEQUENCE))
    digest = fields.take(der.OCTET_STRING).content
    fields.close()
    if oid in WEAK_DIGESTS:
        raise TokenRejected(
            "weak_imprint_hash",
            f"the imprint is a {WEAK_DIGESTS[oid]} digest, which is too weak: two documents could have the same one",
            expected="SHA-256, SHA-384 or SHA-512",
            found=WEAK_DIGESTS[oid],
        )
    if oid not in DIGESTS:
        raise TokenUnsupported(
            "unsupported_digest", "the imprint uses a digest that is not known here", found=oid
        )
    name, size = DIGESTS[oid].name, DIGESTS[oid].size
    if len(digest) != size:
        raise TokenRejected(
            "imprint_length", f"the imprint is no {name} digest", expected=f"{size} bytes", found=len(digest)
        )
    return Imprint(name, digest.hex())


def check_imprint(imprint: Imprint, digests: Mapping[str, str]) -> None:
    """The imprint is the digest of the document.

    Args:
        imprint: from the token.
        digests: the document's digests, algorithm name to lower-case hex.

    Raises:
        TokenRejected: imprint_alg_mismatch, imprint_mismatch (both digests are shown).
    """
    if imprint.algorithm not in digests:
        raise TokenRejected(
            "imprint_alg_mismatch",
            f"the token stamps a {imprint.algorithm} digest and the document's is not given",
            expected=" or ".join(digests),
            found=imprint.algorithm,
            next_step="Give the document itself, so that it can be hashed with the token's algorithm.",
        )
    if imprint.hex != digests[imprint.algorithm]:
        raise TokenRejected(
            "imprint_mismatch",
            "the token stamps another document",
            expected=f"{imprint.algorithm} {digests[imprint.algorithm]}",
            found=imprint.hex,
        )


def _gen_time(content: bytes) -> datetime:
    match = _GEN_TIME.fullmatch(content)
    try:
        if match is None:
            raise ValueError
        whole = datetime.strptime(match[1].decode(), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError as error:
        raise TokenRejected(
            "gen_time_encoding",
            "genTime is not a UTC time as RFC 3161 writes it",
            expected="YYYYMMDDhhmmss[.f]Z without trailing zeros",
            found=content[:40],
        ) from error
    fraction = (match[2] or b"").decode()[:6].ljust(6, "0")
    return whole.replace(microsecond=int(fraction))


def _accuracy(node: der.Node | None) -> timedelta | None:
    if node is None:
        return None
    fields = der.Fields(node)
    seconds = fields.optional(der.INTEGER)
    millis, micros = fields.optional(0x80), fields.optional(0x81)
    fields.close()
    whole = 0 if seconds is None else seconds.integer()
    parts = [
        0 if part is None else int.from_bytes(part.content, "big", signed=True) for part in (millis, micros)
    ]
    given = [part for part, element in zip(parts, (millis, micros), strict=True) if element is not None]
    if not 0 <= whole <= _MAX_ACCURACY_S or any(not 1 <= part <= 999 for part in given):
        raise TokenRejected(
            "accuracy_encoding",
            "the accuracy is out of range",
            expected="seconds 0 to one year, millis and micros 1 to 999",
            found=[whole, *given] if abs(whole) < 1 << 64 else "a number of more than 64 bits",
        )
    return timedelta(seconds=whole, milliseconds=parts[0], microseconds=parts[1])


def _extensions(node: der.Node | None) -> None:
    """A critical extension that is not understood must be refused (RFC 3161 2.4.2); none is understood here."""
    if node is None:
        return
    for extension in node.children():
        fields = der.Fields(extension.expect(der.SEQUENCE))
        oid = fields.take(der.OID).oid()
        critical = fields.optional(der.BOOLEAN)
        fields.take(der.OCTET_STRING)
        fields.close()
        if critical is not None and critical.flag():
            raise TokenRejected(
                "tstinfo_extension", "the token has a critical extension that is not known", found=oid
            )

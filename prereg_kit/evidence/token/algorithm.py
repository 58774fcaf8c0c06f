"""Digests and signatures that are allowed, and the one place where a signature is verified.

Allowed: SHA-2 and SHA-3 of at least 256 bits; RSA PKCS #1 v1.5 and PSS (RFC 8017, RFC 4055), ECDSA
(RFC 5758, RFC 8692), Ed25519 (RFC 8032, RFC 8419, RFC 8410). Weak, refused by name: digests under 256 bits, RSA
under 2048 bits, curves under 224 bits. Anything else is unsupported rather than wrong.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import load_der_public_key

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.reason import Reason, TokenRejected, TokenUnsupported

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


@dataclass(frozen=True)
class Digest:
    """A digest by its short name, its size in bytes, and the object that computes it."""

    name: str
    size: int
    hash: hashes.HashAlgorithm


DIGESTS: dict[str, Digest] = {
    "2.16.840.1.101.3.4.2.1": Digest("sha256", 32, hashes.SHA256()),
    "2.16.840.1.101.3.4.2.2": Digest("sha384", 48, hashes.SHA384()),
    "2.16.840.1.101.3.4.2.3": Digest("sha512", 64, hashes.SHA512()),
    "2.16.840.1.101.3.4.2.6": Digest("sha512_256", 32, hashes.SHA512_256()),
    "2.16.840.1.101.3.4.2.8": Digest("sha3_256", 32, hashes.SHA3_256()),
    "2.16.840.1.101.3.4.2.9": Digest("sha3_384", 48, hashes.SHA3_384()),
    "2.16.840.1.101.3.4.2.10": Digest("sha3_512", 64, hashes.SHA3_512()),
}
WEAK_DIGESTS = {
    "1.2.840.113549.2.2": "MD2",
    "1.2.840.113549.2.4": "MD4",
    "1.2.840.113549.2.5": "MD5",
    "1.3.14.3.2.26": "SHA-1",
    "1.3.36.3.2.1": "RIPEMD-160",
    "2.16.840.1.101.3.4.2.4": "SHA-224",
    "2.16.840.1.101.3.4.2.5": "SHA-512/224",
    "2.16.840.1.101.3.4.2.7": "SHA3-224",
}
SHA1 = "1.3.14.3.2.26"
_BY_NAME = {digest.name: oid for oid, digest in DIGESTS.items()}
DIGEST_NAMES = tuple(_BY_NAME)

_RSA, _PSS, _MGF1, _ED25519 = (
    "1.2.840.113549.1.1.1",
    "1.2.840.113549.1.1.10",
    "1.2.840.113549.1.1.8",
    "1.3.101.112",
)
#: Signature algorithms that name their digest: OID to (family, digest OID).
_COMBINED: dict[str, tuple[str, str]] = {
    "1.2.840.113549.1.1.11": ("rsa", _BY_NAME["sha256"]),
    "1.2.840.113549.1.1.12": ("rsa", _BY_NAME["sha384"]),
    "1.2.840.113549.1.1.13": ("rsa", _BY_NAME["sha512"]),
    "2.16.840.1.101.3.4.3.14": ("rsa", _BY_NAME["sha3_256"]),
    "2.16.840.1.101.3.4.3.15": ("rsa", _BY_NAME["sha3_384"]),
    "2.16.840.1.101.3.4.3.16": ("rsa", _BY_NAME["sha3_512"]),
    "1.2.840.10045.4.3.2": ("ecdsa", _BY_NAME["sha256"]),
    "1.2.840.10045.4.3.3": ("ecdsa", _BY_NAME["sha384"]),
    "1.2.840.10045.4.3.4": ("ecdsa", _BY_NAME["sha512"]),
    "2.16.840.1.101.3.4.3.10": ("ecdsa", _BY_NAME["sha3_256"]),
    "2.16.840.1.101.3.4.3.11": ("ecdsa", _BY_NAME["sha3_384"]),
    "2.16.840.1.101.3.4.3.12": ("ecdsa", _BY_NAME["sha3_512"]),
}
_WEAK_COMBINED = {
    "1.2.840.113549.1.1.2": "RSA with MD2",
    "1.2.840.113549.1.1.4": "RSA with MD5",
    "1.2.840.113549.1.1.5": "RSA with SHA-1",
    "1.3.14.3.2.29": "RSA with SHA-1",
    "1.2.840.10045.4.1": "ECDSA with SHA-1",
    "1.2.840.10040.4.3": "DSA with SHA-1",
    "1.2.840.113549.1.1.14": "RSA with SHA-224",
    "1.2.840.10045.4.3.1": "ECDSA with SHA-224",
}


def digest_hex(name: str, data: bytes) -> str:
    """The digest of `data` in lower-case hex; `name` is one of `DIGEST_NAMES` or sha1."""
    return hashlib.new(name, data).hexdigest()


def algorithm_of(node: der.Node) -> str:
    """The OID of an AlgorithmIdentifier whose parameters are absent or NULL (RFC 5754 2)."""
    fields = der.Fields(node.expect(der.SEQUENCE))
    oid = fields.take(der.OID).oid()
    fields.optional(der.NULL)
    fields.close()
    return oid


def allowed_digest(node: der.Node, purpose: str) -> Digest:
    """The digest that an AlgorithmIdentifier names, if a signature may rest on it.

    Raises:
        TokenRejected: weak_signature_hash.
        TokenUnsupported: unsupported_digest.
    """
    return _digest(algorithm_of(node), purpose)


def _digest(oid: str, purpose: str) -> Digest:
    if oid in WEAK_DIGESTS:
        raise TokenRejected(
            "weak_signature_hash",
            f"{purpose} rests on {WEAK_DIGESTS[oid]}",
            expected="SHA-256 or better",
            found=WEAK_DIGESTS[oid],
        )
    if oid not in DIGESTS:
        raise TokenUnsupported(
            "unsupported_digest", f"{purpose} uses a digest that is not known here", found=oid
        )
    return DIGESTS[oid]


@lru_cache(maxsize=512)
def public_key(spki: bytes) -> PublicKey:
    """The key in a SubjectPublicKeyInfo.

    Raises:
        TokenUnsupported: unsupported_certificate, a kind or encoding of key that cannot be loaded.
    """
    try:
        key = load_der_public_key(spki)
    except (ValueError, UnsupportedAlgorithm, TypeError) as error:
        raise TokenUnsupported(
            "unsupported_certificate", f"a public key that cannot be loaded: {error}"
        ) from error
    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
        raise TokenUnsupported(
            "unsupported_certificate", "a kind of key that is not known here", found=type(key).__name__
        )
    return key


def key_name(key: PublicKey) -> str:
    """Such as "RSA-3072", "EC secp384r1" or "Ed25519"."""
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA-{key.key_size}"
    return f"EC {key.curve.name}" if isinstance(key, ec.EllipticCurvePublicKey) else "Ed25519"


def check_key(key: PublicKey, whose: str) -> None:
    """The key is long enough: RSA 2048, elliptic curves 224 bits (112 bits of strength, NIST SP 800-131A).

    Raises:
        TokenRejected: weak_key.
    """
    size = 256 if isinstance(key, ed25519.Ed25519PublicKey) else key.key_size
    least = 2048 if isinstance(key, rsa.RSAPublicKey) else 224
    if size < least:
        raise TokenRejected(
            "weak_key", f"the key of {whose} is too short", expected=f"{least} bits", found=key_name(key)
        )


def verify_signature(
    *,
    key: PublicKey,
    algorithm: der.Node,
    digest: Digest | None,
    signature: bytes,
    message: bytes,
    reason: Reason,
    what: str,
) -> None:
    """Verify one signature, or raise.

    Args:
        key: the signer's.
        algorithm: the AlgorithmIdentifier of the signature.
        digest: CMS's digestAlgorithm, for the algorithm rsaEncryption that names none (RFC 3370 3.2).
        signature: the signature's octets.
        message: the exact bytes that were signed.
        reason: the code for a signature that does not verify.
        what: what was signed, for the message.

    Raises:
        TokenRejected: `reason`, weak_signature_hash.
        TokenUnsupported: unsupported_signature, unsupported_digest.
    """
    fields = der.Fields(algorithm.expect(der.SEQUENCE))
    oid = fields.take(der.OID).oid()
    if oid in _WEAK_COMBINED:
        raise TokenRejected(
            "weak_signature_hash",
            f"{what} rests on {_WEAK_COMBINED[oid]}",
            expected="SHA-256 or better",
            found=oid,
        )
    pss = _pss(fields.optional(der.SEQUENCE), what) if oid == _PSS else None
    fields.optional(der.NULL)
    fields.close()
    family, digest_oid = _COMBINED.get(oid, ("", ""))
    try:
        if pss is not None and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, *pss)
        elif oid == _ED25519 and isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
        elif oid == _RSA and digest is not None and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), digest.hash)
        elif family == "rsa" and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), DIGESTS[digest_oid].hash)
        elif family == "ecdsa" and isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, ec.ECDSA(DIGESTS[digest_oid].hash))
        elif family or oid in (_PSS, _RSA, _ED25519):
            raise TokenRejected(
                reason, f"the algorithm of {what} does not fit the key", expected=key_name(key), found=oid
            )
        else:
            raise TokenUnsupported(
                "unsupported_signature", f"{what} uses an algorithm that is not known here", found=oid
            )
    except UnsupportedAlgorithm as error:
        raise TokenUnsupported(
            "unsupported_signature", f"{what} uses an algorithm that is not built in: {error}"
        ) from error
    except (InvalidSignature, ValueError) as error:
        raise TokenRejected(reason, f"{what} does not verify with the key it names") from error


def _pss(node: der.Node | None, what: str) -> tuple[padding.PSS, hashes.HashAlgorithm]:
    """RSASSA-PSS-params (RFC 4055 3.1). Absent parts mean SHA-1, which is refused as such."""
    digest_oid, mask_oid, salt = SHA1, SHA1, 20
    fields = der.Fields(node) if node is not None else None
    if fields is not None:
        if (part := fields.optional(0xA0)) is not None:
            digest_oid = algorithm_of(part.only())
        if (part := fields.optional(0xA1)) is not None:
            mask = der.Fields(part.only())
            if mask.take(der.OID).oid() != _MGF1:
                raise TokenUnsupported(
                    "unsupported_signature", f"{what} uses PSS with a mask that is not MGF1"
                )
            mask_oid = algorithm_of(mask.take(der.SEQUENCE))
            mask.close()
        if (part := fields.optional(0xA2)) is not None:
            salt = part.only().integer()
        if (part := fields.optional(0xA3)) is not None and part.only().integer() != 1:
            raise TokenUnsupported("unsupported_signature", f"{what} uses PSS with an unknown trailer")
        fields.close()
    if not 0 <= salt <= 512:
        raise TokenUnsupported(
            "unsupported_signature", f"{what} uses PSS with an impossible salt length", found=salt
        )
    digest, mask_digest = _digest(digest_oid, what), _digest(mask_oid, what)
    return padding.PSS(padding.MGF1(mask_digest.hash), salt), digest.hash

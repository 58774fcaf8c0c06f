"""Until when a token protects by itself: the first certificate or algorithm of its path that ends.

After that moment a renewal must already be in place (RFC 3161 4 (3), annex B; RFC 4998 5.3 for the idea).
"""

from __future__ import annotations

from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric import rsa

from prereg_kit.evidence.token.algorithm import key_name
from prereg_kit.evidence.token.certificate import Certificate

#: RSA under 3,000 bits is taken as sound until this day (NIST SP 800-131A and SOG-IS allow 112 bits no longer).
SHORT_RSA_BITS = 3000
SHORT_RSA_SUNSET = datetime(2029, 1, 1, tzinfo=UTC)


def protected_until(path: tuple[Certificate, ...]) -> tuple[datetime, str]:
    """The earliest end among the path's certificates (anchor included) and keys, and what ends then.

    SHA-1 does not appear here: no token that rests on it is accepted in the first place.
    """
    ends = [(certificate.not_after, f"the certificate {certificate.title} ends") for certificate in path]
    for certificate in path:
        if isinstance(certificate.key, rsa.RSAPublicKey) and certificate.key.key_size < SHORT_RSA_BITS:
            ends.append(
                (SHORT_RSA_SUNSET, f"{key_name(certificate.key)} of {certificate.title} is no longer enough")
            )
    return min(ends, key=lambda end: end[0])

"""What a token claims, read and not verified: for listings, labelled as such."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from prereg_kit.evidence.token.container import Container, Form
from prereg_kit.evidence.token.der import DerError
from prereg_kit.evidence.token.names import name_text
from prereg_kit.evidence.token.proof import utc
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported
from prereg_kit.evidence.token.signed import Signed, candidates, read_signer
from prereg_kit.evidence.token.verification import open_token


@dataclass(frozen=True)
class Unverified:
    """A token's claims. Nothing here is proven: neither the time nor the name.

    `tsa` is the subject of the certificate that the signer identifier means, or None if it is not embedded.
    """

    gen_time: datetime
    accuracy: timedelta | None
    serial: int
    policy: str
    imprint_algorithm: str
    imprint_hex: str
    nonce: int | None
    tsa: str | None
    container: Container
    form: Form
    label: Literal["unverified"] = "unverified"

    def to_json(self) -> dict[str, Any]:
        """The claims with the label first."""
        return {
            "label": self.label,
            "gen_time": utc(self.gen_time),
            "serial": str(self.serial),
            "policy": self.policy,
            "imprint": {"algorithm": self.imprint_algorithm, "hex": self.imprint_hex},
            "tsa": self.tsa,
        }


def describe(blob: bytes) -> Unverified:
    """Read a token's claims without verifying anything.

    Raises:
        TokenRejected, TokenUnsupported: it cannot be read as a granted token.
    """
    contained, signed, info = open_token(blob)
    return Unverified(
        gen_time=info.gen_time,
        accuracy=info.accuracy,
        serial=info.serial,
        policy=info.policy,
        imprint_algorithm=info.imprint.algorithm,
        imprint_hex=info.imprint.hex,
        nonce=info.nonce,
        tsa=_signer_name(signed),
        container=contained.container,
        form=contained.form,
    )


def embedded_certificates(blob: bytes) -> tuple[bytes, ...]:
    """The certificates inside a token, DER, in the order received: material for a path, never anchors.

    Raises:
        TokenRejected, TokenUnsupported: it cannot be read as a granted token.
    """
    return open_token(blob)[1].certificates


def _signer_name(signed: Signed) -> str | None:
    try:
        return name_text(candidates(read_signer(signed), signed, ()).meant[0].subject)
    except (TokenRejected, TokenUnsupported, DerError):
        return None

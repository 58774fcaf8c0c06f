"""What an answer says about itself, read without believing it: for messages, file names and missing anchors.

Verification is `prereg_kit.token`'s. This reads the statement of a token whose path cannot be checked because
no anchor is at hand, so that it can be stored and described, marked as not anchored.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from asn1crypto import cms, core

from prereg_kit.errors import TimestampError
from prereg_kit.token.container import unwrap
from prereg_kit.token.demo import is_demo


@dataclass(frozen=True)
class Facts:
    """A token's own statement. `certificates` are the embedded ones, DER, as they lie in the token."""

    gen_time: datetime
    policy: str
    serial: int
    accuracy_s: float | None
    certificates: tuple[bytes, ...]
    subjects: tuple[str, ...]
    self_signed: tuple[bytes, ...]

    @property
    def demo(self) -> bool:
        """Whether policy or subjects carry the demonstration authority's marks."""
        return is_demo(self.policy, self.subjects)


def read_facts(blob: bytes) -> Facts:
    """The statement inside a response or a bare token.

    Raises:
        TokenRejected: not a granted, well-formed response.
        TimestampError: a token without a readable statement.
    """
    token = unwrap(blob)
    try:
        signed = cms.ContentInfo.load(token.content_info.raw)["content"]
        info = signed["encap_content_info"]["content"].parsed
        certificates = [choice.chosen for choice in signed["certificates"] or ()]
        accuracy = info["accuracy"]
        seconds = None
        if not isinstance(accuracy, core.Void):
            parts = accuracy.native
            seconds = (parts["seconds"] or 0) + (parts["millis"] or 0) / 1e3 + (parts["micros"] or 0) / 1e6
        return Facts(
            gen_time=info["gen_time"].native.astimezone(UTC),
            policy=info["policy"].native,
            serial=info["serial_number"].native,
            accuracy_s=seconds,
            certificates=tuple(c.dump() for c in certificates),
            subjects=tuple(c.subject.human_friendly for c in certificates),
            self_signed=tuple(c.dump() for c in certificates if c.issuer == c.subject),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TimestampError("a token without a readable statement", found=str(error)) from error

"""Why a token was not accepted: one code per check, a closed list.

The list is in the order of the checks. `TokenRejected` means that a check was made and failed;
`TokenUnsupported` that the token may be good but this verifier cannot tell, so that nothing was checked.
Neither is a boolean, and the only other way out of `verify` is a `Proof`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypedDict, Unpack, get_args

from prereg_kit.errors import TimestampError, Where

Reason = Literal[
    "too_large",  # more than 256 KiB
    "unrecognised",  # neither a response nor a token, in no known form
    "malformed",  # begins like a token and is not well-formed DER
    "indefinite_length",  # BER, where RFC 3161 wants DER
    "trailing_bytes",  # bytes after the end
    "status",  # the authority did not grant the request (RFC 3161 2.4.2)
    "container",  # not signed-data (RFC 5652 5.1)
    "econtent_type",  # signed content that is not TSTInfo (RFC 3161 2.4.2)
    "tstinfo_version",
    "gen_time_encoding",
    "accuracy_encoding",
    "tstinfo_extension",  # a critical extension of TSTInfo that is not known
    "weak_imprint_hash",
    "unsupported_digest",
    "imprint_length",
    "imprint_alg_mismatch",  # another algorithm than asked for
    "imprint_mismatch",  # another document
    "nonce_mismatch",
    "policy_mismatch",
    "signer_count",
    "signer_missing",  # the signer's certificate is not at hand
    "signed_attributes",
    "message_digest_mismatch",
    "weak_signature_hash",
    "unsupported_signature",
    "unsupported_certificate",
    "bad_signature",
    "ess_missing",  # no ESS certificate identifier (RFC 3161 2.4.2, RFC 5816 2.2.1)
    "ess_mismatch",
    "certificate_malformed",
    "eku",  # extended key usage not critical, or not time stamping alone (RFC 3161 2.3)
    "key_usage",
    "tsa_is_ca",
    "weak_key",
    "tsa_name_mismatch",
    "untrusted_root",  # the path ends at a root that was not given
    "chain_incomplete",  # an issuer is missing
    "chain_signature",
    "chain_invalid",  # CA flags, path length, version (RFC 5280 6.1)
    "chain_eku_nesting",
    "certificate_expired",  # a certificate of the path not valid at genTime
    "name_constraints",
    "critical_extension",
    "policy_constraints",
    "path_budget",  # more signatures to try than an honest token needs
    "revoked_key_compromise",
    "revoked_reason_absent",
    "revoked",
    "future",
    "accuracy_wide",  # the stated accuracy is wider than the limit: a bound, and no time
    "demo",
]
REASONS: tuple[str, ...] = get_args(Reason)


@dataclass(frozen=True)
class Finding:
    """Something a reader should know about an accepted token: a stable code and a sentence."""

    code: str
    message: str

    def to_json(self) -> dict[str, str]:
        """`{"code": ..., "message": ...}`."""
        return {"code": self.code, "message": self.message}


class Details(TypedDict, total=False):
    """What an error may add to its problem; see `PreregError`."""

    where: Where
    expected: str
    found: object
    next_step: str


class TokenRejected(TimestampError):  # noqa: N818 (a verdict, not a mishap)
    """The token was examined and a check failed.

    Args:
        reason: one of `REASONS`; also the error's `code`.
        problem: one clause saying what is wrong.
        details: `where`, `expected`, `found`, `next_step` of `PreregError`.
    """

    verdict: ClassVar[str] = "reject"

    def __init__(self, reason: Reason, problem: str, **details: Unpack[Details]) -> None:
        self.reason: Reason = reason
        super().__init__(problem, code=reason, **details)


class TokenUnsupported(TimestampError):  # noqa: N818 (a verdict, not a mishap)
    """The token uses something that this verifier does not implement: it is neither proven nor refuted."""

    verdict: ClassVar[str] = "unsupported"
    exit_code: ClassVar[int] = 3

    def __init__(self, reason: Reason, problem: str, **details: Unpack[Details]) -> None:
        self.reason: Reason = reason
        super().__init__(problem, code=reason, **details)

"""What stored revocation data says of a path, and what it means for a token (RFC 3161 4 (1) and (2)).

A revocation for a compromised key, or without a reason, makes every token of that key worthless, whenever it
was made. A revocation because the certificate is superseded, the operation ceased or the affiliation changed
leaves the tokens before it valid. Absence of data is a finding, never an error: a token is checked offline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import pairwise
from typing import Literal

from prereg_kit.evidence.token.certificate import Certificate
from prereg_kit.evidence.token.crl import crl_status
from prereg_kit.evidence.token.evidence import EvidenceError, Status
from prereg_kit.evidence.token.ocsp import ocsp_status
from prereg_kit.evidence.token.proof import utc
from prereg_kit.evidence.token.reason import Finding, TokenRejected

_COMPROMISE = frozenset({"keyCompromise", "cACompromise", "aACompromise"})
_HARMLESS = frozenset({"unspecified", "affiliationChanged", "superseded", "cessationOfOperation"})

_Source = Callable[[bytes, Certificate, Certificate], Status | None]


def check_revocation(
    path: tuple[Certificate, ...], moment: datetime, *, crls: Iterable[bytes], ocsps: Iterable[bytes]
) -> tuple[Literal["good", "not_checked"], tuple[Finding, ...]]:
    """Hold every certificate below the anchor against the stored data.

    Args:
        path: signer first, anchor last; an anchor is not revoked but removed by its owner.
        moment: genTime.
        crls: DER; only those signed by a certificate's issuer count.
        ocsps: DER; only those signed by the issuer or its delegate count.

    Returns:
        "good" if data from genTime or later covers each certificate, and the findings.

    Raises:
        TokenRejected: revoked_key_compromise, revoked_reason_absent, revoked.
    """
    findings: dict[Finding, None] = {}
    sources: list[tuple[_Source, bytes]] = [(crl_status, blob) for blob in crls]
    sources += [(ocsp_status, blob) for blob in ocsps]
    covered = True
    for target, issuer in pairwise(path):
        latest: datetime | None = None
        for source, blob in sources:
            try:
                status = source(blob, target, issuer)
            except EvidenceError as error:
                findings[Finding("evidence_ignored", str(error))] = None
                continue
            if status is None:
                continue
            if status.revoked_at is not None:
                findings.update(dict.fromkeys(_judge(status, target, moment)))
            if status.complete:
                latest = status.as_of if latest is None else max(latest, status.as_of)
        if latest is None:
            covered = False
            findings[Finding("revocation_not_checked", f"no revocation data for {target.title}")] = None
        elif latest < moment:
            covered = False
            text = f"the revocation data for {target.title} is of {utc(latest)}, before genTime"
            findings[Finding("revocation_older", text)] = None
    return ("good" if covered else "not_checked"), tuple(findings)


def _judge(status: Status, target: Certificate, moment: datetime) -> tuple[Finding, ...]:
    assert status.revoked_at is not None
    when = utc(status.revoked_at)
    if status.reason is None:
        raise TokenRejected(
            "revoked_reason_absent",
            f"{target.title} was revoked on {when} without a reason, so that none of its tokens counts",
        )
    if status.reason in _COMPROMISE:
        raise TokenRejected(
            "revoked_key_compromise",
            f"{target.title} was revoked on {when} for {status.reason}, so that none of its tokens counts",
        )
    invalid_from = (
        status.revoked_at if status.invalid_from is None else min(status.revoked_at, status.invalid_from)
    )
    if status.reason not in _HARMLESS or invalid_from <= moment:
        raise TokenRejected(
            "revoked",
            f"{target.title} was revoked ({status.reason}) as of {utc(invalid_from)}",
            expected="a revocation after genTime for a harmless reason, or none",
            found=utc(moment),
        )
    return (
        Finding(
            "revoked_later",
            f"{target.title} was revoked on {when} ({status.reason}); earlier tokens stay valid",
        ),
    )

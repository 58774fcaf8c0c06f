"""Chains of renewals: each token stamped before the protection of the one before it ended.

A token protects by itself until its path lapses. A later token over a file that contains the earlier evidence
carries it on, if it was made in time; made too late, nothing says what happened in between: a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

from prereg_kit.errors import UsageError
from prereg_kit.evidence.token.proof import Anchors, Evidence, Proof, utc
from prereg_kit.evidence.token.reason import Finding
from prereg_kit.evidence.token.verification import verify

ChainStatus = Literal["protected", "lapsed", "gap", "demo"]


@dataclass(frozen=True)
class RenewalLink:
    """One token of a chain and how it joins the one before it.

    `carried` is False where the token before it had lapsed by the latest time this one can have been made.
    """

    proof: Proof
    carried: bool


@dataclass(frozen=True)
class RenewalChain:
    """A chain judged at a time.

    Attributes:
        status: "protected" if every link was made in time and the last still protects; "lapsed" if every link
            was made in time and the last has ended; "gap" if a link was late; "demo" if any is a demonstration.
        proven_time: the latest time of the first token: what the chain carries on.
        protected_until: of the last token before any gap.
        links: first to last.
        findings: one sentence for each gap, and for a lapse.
    """

    status: ChainStatus
    proven_time: datetime
    protected_until: datetime
    links: tuple[RenewalLink, ...]
    findings: tuple[Finding, ...]


def renewal_chain(proofs: Sequence[Proof], *, at: datetime) -> RenewalChain:
    """Judge a chain whose tokens are each proven to stamp the evidence before them.

    Args:
        proofs: oldest first, at least one. That each covers the one before is the caller's to check, as
            `verify_renewals` does.
        at: the time at which protection is judged, aware.

    Raises:
        UsageError: no proofs, or a naive time.
    """
    if not proofs or at.tzinfo is None:
        raise UsageError("a renewal chain needs a token and an aware time")
    links, findings = [RenewalLink(proofs[0], carried=True)], []
    until, broken = proofs[0].protected_until, False
    for before, proof in pairwise(proofs):
        carried = proof.latest <= before.protected_until and proof.gen_time >= before.gen_time
        if not carried:
            findings.append(
                Finding(
                    "gap",
                    f"protection ended on {utc(before.protected_until)} and was renewed on {utc(proof.gen_time)}",
                )
            )
        broken = broken or not carried
        until = until if broken else proof.protected_until
        links.append(RenewalLink(proof, carried))
    status: ChainStatus = "gap" if broken else "protected" if at <= until else "lapsed"
    if status == "lapsed":
        findings.append(Finding("lapsed", f"protection ended on {utc(until)} and was not renewed"))
    if any(proof.demo for proof in proofs):
        status = "demo"
    return RenewalChain(status, proofs[0].latest, until, tuple(links), tuple(findings))


def verify_renewals(
    blobs: Sequence[bytes],
    *,
    data: bytes,
    anchors: Anchors,
    untrusted: Sequence[bytes] = (),
    evidence: Evidence = Evidence(),  # noqa: B008 (frozen and empty)
    at: datetime,
    now: datetime | None,
    allow_demo: bool = False,
) -> RenewalChain:
    """Verify a chain in which each token stamps the whole file of the token before it.

    Args:
        blobs: token files, oldest first; the first stamps `data`.
        data: the document.
        anchors: as in `verify`, for every token.
        untrusted: as in `verify`.
        evidence: as in `verify`.
        at: the time at which protection is judged.
        now: as in `verify`.
        allow_demo: as in `verify`.

    Raises:
        TokenRejected, TokenUnsupported, NotCheckedError: as `verify`, for the first token that fails.
        UsageError: no tokens.
    """
    stamped, proofs = data, []
    for blob in blobs:
        proofs.append(
            verify(
                blob,
                data=stamped,
                anchors=anchors,
                untrusted=untrusted,
                evidence=evidence,
                now=now,
                allow_demo=allow_demo,
            )
        )
        stamped = blob
    return renewal_chain(proofs, at=at)

"""RFC 3161 tokens: bytes in, a proof or an error with its reason out.

Pure: no clock, no file, no network; the present is passed in. `verify` judges one token, `quorum` several of
one document, `renewal_chain` a sequence over the years. `describe` shows what a file claims, unverified.

The rules are those of RFC 3161 (with RFC 5816), RFC 5652, RFC 5035, RFC 5280 and RFC 6960, taken strictly where
two readers could differ. Bytes are read as received and never encoded again.
"""

from __future__ import annotations

from prereg_kit.evidence.token.container import MAX_BYTES, certificates_in, crls_in
from prereg_kit.evidence.token.demo import DEMO_POLICY_OID, DEMO_SUBJECT
from prereg_kit.evidence.token.description import Unverified, describe, embedded_certificates
from prereg_kit.evidence.token.proof import (
    ACCURACY_LIMIT,
    ASSUMED_ACCURACY,
    Anchors,
    Evidence,
    Proof,
    TsaIdentity,
    utc,
)
from prereg_kit.evidence.token.query import Query, read_query
from prereg_kit.evidence.token.quorum import SKEW_LIMIT, QuorumError, QuorumProof, quorum
from prereg_kit.evidence.token.reason import REASONS, Finding, Reason, TokenRejected, TokenUnsupported
from prereg_kit.evidence.token.renewal import RenewalChain, RenewalLink, renewal_chain, verify_renewals
from prereg_kit.evidence.token.verification import FUTURE_TOLERANCE, verify

__all__ = [
    "ACCURACY_LIMIT",
    "ASSUMED_ACCURACY",
    "DEMO_POLICY_OID",
    "DEMO_SUBJECT",
    "FUTURE_TOLERANCE",
    "MAX_BYTES",
    "REASONS",
    "SKEW_LIMIT",
    "Anchors",
    "Evidence",
    "Finding",
    "Proof",
    "Query",
    "QuorumError",
    "QuorumProof",
    "Reason",
    "RenewalChain",
    "RenewalLink",
    "TokenRejected",
    "TokenUnsupported",
    "TsaIdentity",
    "Unverified",
    "certificates_in",
    "crls_in",
    "describe",
    "embedded_certificates",
    "quorum",
    "read_query",
    "renewal_chain",
    "utc",
    "verify",
    "verify_renewals",
]

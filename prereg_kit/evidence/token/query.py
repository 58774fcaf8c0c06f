"""The time-stamp query that was sent (RFC 3161 2.4.1), and what a token must repeat of it."""

from __future__ import annotations

from dataclasses import dataclass

from prereg_kit.errors import DocumentError
from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.reason import TokenRejected
from prereg_kit.evidence.token.tstinfo import Imprint, TstInfo, read_imprint


@dataclass(frozen=True)
class Query:
    """What was asked for: `policy` and `nonce` are None where the query has none."""

    imprint: Imprint
    policy: str | None
    nonce: int | None
    certificate_requested: bool


def read_query(blob: bytes) -> Query:
    """Read a query file.

    Raises:
        DocumentError: not a query.
        TokenRejected: weak_imprint_hash, imprint_length.
        TokenUnsupported: unsupported_digest.
    """
    try:
        fields = der.Fields(der.parse(blob).expect(der.SEQUENCE))
        version = fields.take(der.INTEGER).integer()
        imprint = fields.take(der.SEQUENCE)
        policy = fields.optional(der.OID)
        nonce = fields.optional(der.INTEGER)
        requested = fields.optional(der.BOOLEAN)
        fields.optional(0xA0)
        fields.close()
        if version != 1:
            raise der.DerError(f"version {version}")
        return Query(
            imprint=read_imprint(imprint),
            policy=None if policy is None else policy.oid(),
            nonce=None if nonce is None else nonce.integer(),
            certificate_requested=requested is not None and requested.flag(),
        )
    except der.DerError as error:
        raise DocumentError(
            f"not a time-stamp query: {error}",
            expected="TimeStampReq in DER (RFC 3161 2.4.1)",
            found=blob[:40],
        ) from error


def check_answer(info: TstInfo, query: Query, *, modified: bool) -> None:
    """The token answers this query: same imprint, same nonce, the policy that was asked for (RFC 3161 2.4.2).

    Raises:
        TokenRejected: imprint_alg_mismatch, imprint_mismatch, nonce_mismatch, policy_mismatch.
    """
    if info.imprint.algorithm != query.imprint.algorithm:
        raise TokenRejected(
            "imprint_alg_mismatch",
            "the token uses another digest than the query asked for",
            expected=query.imprint.algorithm,
            found=info.imprint.algorithm,
        )
    if info.imprint.hex != query.imprint.hex:
        raise TokenRejected(
            "imprint_mismatch",
            "the token does not answer this query: it stamps another digest",
            expected=f"{query.imprint.algorithm} {query.imprint.hex}",
            found=info.imprint.hex,
        )
    if query.nonce is not None:
        check_nonce(info, query.nonce)
    if query.policy is not None:
        check_policy(info, (query.policy,), modified=modified)


def check_nonce(info: TstInfo, nonce: int) -> None:
    """A nonce that was sent must come back as the same number (RFC 3161 2.4.2).

    Numbers are compared, so that a leading zero octet on either side is no difference.

    Raises:
        TokenRejected: nonce_mismatch.
    """
    if info.nonce is None:
        raise TokenRejected(
            "nonce_mismatch",
            "the query has a nonce and the token has none, so it may answer another query",
            expected=f"the nonce {hex(nonce)}",
            next_step="An old answer may have been sent again: ask anew.",
        )
    if info.nonce != nonce:
        raise TokenRejected(
            "nonce_mismatch",
            "the token answers another query: its nonce is another",
            expected=hex(nonce),
            found=hex(info.nonce),
        )


def check_policy(info: TstInfo, policies: tuple[str, ...], *, modified: bool = False) -> None:
    """The token was issued under one of the policies that are accepted.

    Args:
        info: the statement.
        policies: dotted OIDs, at least one.
        modified: the status was "granted with modifications", which makes the message clearer.

    Raises:
        TokenRejected: policy_mismatch.
    """
    if info.policy not in policies:
        changed = " (the authority says that it modified the request)" if modified else ""
        raise TokenRejected(
            "policy_mismatch",
            f"the token was issued under another policy{changed}",
            expected=" or ".join(policies),
            found=info.policy,
        )

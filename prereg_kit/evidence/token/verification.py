"""The strict verifier: bytes in, a proof or a reasoned error out. No clock, no file, no network.

The checks run in the order of `prereg_kit.evidence.token.reason`. Everything is judged at the token's genTime; the only
use of the present is that genTime may not lie in the future of `now`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from prereg_kit.errors import NotCheckedError, UsageError
from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import DIGEST_NAMES, digest_hex, key_name
from prereg_kit.evidence.token.certificate import Certificate, read_certificate
from prereg_kit.evidence.token.container import Contained, reasoned, signed_data, unwrap
from prereg_kit.evidence.token.demo import is_demo
from prereg_kit.evidence.token.ess import check_ess, prefers
from prereg_kit.evidence.token.expiry import protected_until
from prereg_kit.evidence.token.names import name_text, name_values
from prereg_kit.evidence.token.path import build_path
from prereg_kit.evidence.token.profile import check_profile, check_tsa_name, names_of_tests
from prereg_kit.evidence.token.proof import ACCURACY_LIMIT, Anchors, Evidence, Proof, TsaIdentity, utc
from prereg_kit.evidence.token.query import check_answer, check_nonce, check_policy, read_query
from prereg_kit.evidence.token.reason import Finding, TokenRejected, TokenUnsupported
from prereg_kit.evidence.token.revocation import check_revocation
from prereg_kit.evidence.token.signed import (
    Candidates,
    Signed,
    candidates,
    check_attributes,
    check_signature,
    read_signed_data,
    read_signer,
)
from prereg_kit.evidence.token.tstinfo import TstInfo, check_imprint, read_tstinfo

#: How far a clock may be behind the authority's before a token counts as of the future.
FUTURE_TOLERANCE = timedelta(minutes=5)
_LENGTHS = {64: "sha256", 96: "sha384", 128: "sha512"}


@dataclass(frozen=True)
class _Opened:
    contained: Contained
    signed: Signed
    info: TstInfo


def verify(
    blob: bytes,
    *,
    data: bytes | None = None,
    digest: str | Mapping[str, str] | None = None,
    query: bytes | None = None,
    nonce: int | None = None,
    anchors: Anchors,
    untrusted: Sequence[bytes] = (),
    evidence: Evidence = Evidence(),  # noqa: B008 (frozen and empty)
    policies: Collection[str] | None = None,
    now: datetime | None,
    allow_demo: bool = False,
    accuracy_limit: timedelta | None = ACCURACY_LIMIT,
    allow_wide: bool = False,
) -> Proof:
    """Verify one token against the document it should stamp.

    Args:
        blob: a response or a bare token, in DER, PEM or one line of base64; at most 256 KiB.
        data: the document's exact bytes; give either these or `digest`.
        digest: the document's digest: hex of a SHA-256, SHA-384 or SHA-512 by its length, hex with its
            algorithm before a colon ("sha3_256:..."), or a mapping of algorithm names to hex.
        query: the query that was sent, DER; the token must then repeat its imprint, nonce and policy.
        nonce: the nonce that was sent, if there is no query file; None means "not checked".
        anchors: the pinned roots or issuing CAs; nothing else is trusted.
        untrusted: further certificates, DER, that may lie on the path.
        evidence: stored revocation data.
        policies: policy OIDs that are accepted, or None for any.
        now: the present, aware; None leaves the check for the future out, and says so.
        allow_demo: give a proof with `demo` set for a demonstration token instead of refusing it.
        accuracy_limit: the widest accuracy that a token may state; None for any.
        allow_wide: give a proof with `wide` set for a token over that limit instead of refusing it.

    Returns:
        What is proven. There is no other success.

    Raises:
        TokenRejected: a check failed; see `reason`.
        TokenUnsupported: the token uses something that is not implemented.
        NotCheckedError: no anchor was given.
        UsageError: neither or both of `data` and `digest`, or a digest that is none.
        DocumentError: the query is none.
    """
    digests = _asked(data, digest)
    if not anchors.certificates:
        raise NotCheckedError(
            "no trusted root was given, so nothing can be proven",
            next_step="Give the authority's root certificate from a source that you trust.",
        )
    if now is not None and now.tzinfo is None:
        raise UsageError("the present must be an aware time", found=now)
    try:
        opened = _open(blob)
        if digests is None:
            assert data is not None
            digests = {opened.info.imprint.algorithm: digest_hex(opened.info.imprint.algorithm, data)}
        _check_statement(opened, digests, query, nonce, policies)
        proof = _check_signer(opened, anchors, untrusted, evidence, now, allow_demo=allow_demo)
        return _check_accuracy(proof, accuracy_limit, allow_wide=allow_wide)
    except der.DerError as error:
        raise reasoned(error) from error


def open_token(blob: bytes) -> tuple[Contained, Signed, TstInfo]:
    """Read a token without verifying anything: for tools that show what a file claims.

    Raises:
        TokenRejected, TokenUnsupported: it cannot be read.
    """
    try:
        opened = _open(blob)
    except der.DerError as error:
        raise reasoned(error) from error
    return opened.contained, opened.signed, opened.info


def _open(blob: bytes) -> _Opened:
    contained = unwrap(blob)
    signed = read_signed_data(signed_data(contained.content_info))
    return _Opened(contained, signed, read_tstinfo(der.parse(signed.content)))


def _asked(data: bytes | None, digest: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """The document's digests, or None if they are to be computed from `data`."""
    if (data is None) == (digest is None):
        raise UsageError("a token is verified against a document", expected="either its bytes or its digest")
    if digest is None:
        return None
    if isinstance(digest, str):
        name, _, text = digest.rpartition(":")
        digest = {name.lower().replace("-", "") or _LENGTHS.get(len(text.strip()), ""): text}
    found = {name: text.strip().lower() for name, text in digest.items()}
    for name, text in found.items():
        if name not in DIGEST_NAMES or not re.fullmatch(r"[0-9a-f]+", text) or len(text) % 32:
            raise UsageError(
                "not a digest",
                expected="hex of SHA-256, SHA-384 or SHA-512, or ALGORITHM:HEX",
                found=f"{name}:{text}",
            )
    return found


def _check_statement(
    opened: _Opened,
    digests: Mapping[str, str],
    query: bytes | None,
    nonce: int | None,
    policies: Collection[str] | None,
) -> None:
    info, modified = opened.info, opened.contained.modified
    if query is not None:
        check_answer(info, read_query(query), modified=modified)
    check_imprint(info.imprint, digests)
    if nonce is not None:
        check_nonce(info, nonce)
    if policies is not None:
        check_policy(info, tuple(policies), modified=modified)


def _check_signer(
    opened: _Opened,
    anchors: Anchors,
    untrusted: Sequence[bytes],
    evidence: Evidence,
    now: datetime | None,
    *,
    allow_demo: bool,
) -> Proof:
    info, signed = opened.info, opened.signed
    signer = read_signer(signed)
    found = candidates(signer, signed, untrusted)
    certificate = next((one for one in found.meant if prefers(signer, one)), found.meant[0])
    _refuse_demo(info, (certificate,), allow_demo=allow_demo)
    check_attributes(signer, signed.content)
    check_signature(signer, certificate)
    findings = [*check_ess(signer, certificate), *check_profile(certificate)]
    check_tsa_name(info.tsa, certificate)
    roots, unreadable = _read_anchors(anchors)
    findings += unreadable
    path = _path(certificate, found, roots, info.gen_time)
    demo = _refuse_demo(info, path, allow_demo=allow_demo)
    revocation, revocation_findings = check_revocation(
        path, info.gen_time, crls=(*evidence.crls, *signed.crls), ocsps=evidence.ocsps
    )
    if now is not None and info.gen_time > now + FUTURE_TOLERANCE:
        raise TokenRejected(
            "future", "the token is of the future", expected=f"at most {utc(now)}", found=utc(info.gen_time)
        )
    findings += [*revocation_findings, *_notes(info, path, now)]
    return _proof(opened, path, findings, revocation, demo=demo)


def _check_accuracy(proof: Proof, limit: timedelta | None, *, allow_wide: bool) -> Proof:
    """The stated accuracy is no wider than the limit. A token that states none is taken as good for 60 seconds.

    This comes last: whatever fails here has passed everything else, so its upper bound can be trusted.
    """
    if limit is None or proof.accuracy is None or proof.accuracy <= limit:
        return proof
    problem = (
        f"the token's stated accuracy of {proof.accuracy} is wider than {limit}, so that it names no time"
    )
    if not allow_wide:
        raise TokenRejected(
            "accuracy_wide",
            problem,
            expected=f"at most {limit}",
            found=str(proof.accuracy),
            next_step="It shows only that the document existed by "
            f"{utc(proof.latest)}; a plan or the operator's trust entry may set another limit.",
        )
    finding = Finding(
        "accuracy_wide", f"{problem}; it shows only that the document existed by {utc(proof.latest)}"
    )
    return replace(proof, wide=True, warnings=(*proof.warnings, finding))


def _path(
    certificate: Certificate, found: Candidates, roots: tuple[Certificate, ...], moment: datetime
) -> tuple[Certificate, ...]:
    """`build_path`; where a certificate that cannot be read may be the missing one, nothing is refuted."""
    try:
        return build_path(certificate, found.pool, roots, moment)
    except TokenRejected as error:
        if found.damage is None or error.reason != "chain_incomplete":
            raise
        raise TokenUnsupported(
            "unsupported_certificate",
            f"{error.problem}, and a certificate cannot be read: {found.damage.problem}",
        ) from error


def _refuse_demo(info: TstInfo, path: tuple[Certificate, ...], *, allow_demo: bool) -> bool:
    demo = is_demo(info.policy, (value for one in path for value in name_values(one.subject)))
    if demo and not allow_demo:
        raise TokenRejected(
            "demo",
            "the token was made by a demonstration authority, which is no evidence of time",
            found=name_text(path[0].subject),
            next_step="Have the document stamped by a public authority.",
        )
    return demo


def _read_anchors(anchors: Anchors) -> tuple[tuple[Certificate, ...], list[Finding]]:
    roots, findings = [], []
    for raw in anchors.certificates:
        try:
            roots.append(read_certificate(raw))
        except TokenRejected as error:
            findings.append(Finding("anchor_unreadable", f"a given root is left out: {error.problem}"))
    if not roots:
        raise TokenUnsupported(
            "unsupported_certificate", "none of the given roots can be read", found=findings[0].message
        )
    return tuple(roots), findings


def _notes(info: TstInfo, path: tuple[Certificate, ...], now: datetime | None) -> Iterable[Finding]:
    if info.accuracy is None:
        yield Finding("accuracy_assumed", "the token states no accuracy; 60 seconds are assumed")
    if now is None:
        yield Finding("future_not_checked", "whether genTime lies in the future was not checked")
    yield from names_of_tests(path)
    if protected_until(path)[0] <= info.gen_time:
        yield Finding("no_protection", "an algorithm of the path had already lapsed at genTime")


def _proof(
    opened: _Opened,
    path: tuple[Certificate, ...],
    findings: list[Finding],
    revocation: Literal["good", "not_checked"],
    *,
    demo: bool,
) -> Proof:
    info, contained, certificate, anchor = opened.info, opened.contained, path[0], path[-1]
    until, by = protected_until(path)
    return Proof(
        gen_time=info.gen_time,
        accuracy=info.accuracy,
        serial=info.serial,
        policy=info.policy,
        tsa=TsaIdentity(
            subject=name_text(certificate.subject),
            issuer=name_text(certificate.issuer),
            serial=f"{certificate.serial:x}",
            fingerprint_sha256=certificate.fingerprint,
            key_sha256=certificate.key_sha256,
            key=key_name(certificate.key),
            not_before=certificate.not_before,
            not_after=certificate.not_after,
        ),
        anchor_fingerprint=anchor.fingerprint,
        anchor_subject=name_text(anchor.subject),
        anchor_key_sha256=anchor.key_sha256,
        chain=tuple(one.raw for one in path),
        imprint_algorithm=info.imprint.algorithm,
        imprint_hex=info.imprint.hex,
        nonce=info.nonce,
        warnings=tuple(dict.fromkeys(findings)),
        protected_until=until,
        protected_by=by,
        revocation=revocation,
        demo=demo,
        wide=False,
        container=contained.container,
        form=contained.form,
        token_sha256=hashlib.sha256(contained.content_info.raw).hexdigest(),
    )

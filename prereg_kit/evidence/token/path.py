"""From the signer to a pinned anchor (RFC 5280 6.1), every certificate valid at genTime.

The search goes over the certificates at hand, anchors first, with a budget on signatures, so that a bag of
look-alikes cannot make it slow. A path is found or the most telling obstacle is raised: a link that failed
for its content before a signature that failed, and either before an issuer that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.algorithm import check_key, verify_signature
from prereg_kit.evidence.token.certificate import (
    ANY_PURPOSE,
    BASIC_CONSTRAINTS,
    EXTENDED_KEY_USAGE,
    KEY_CERT_SIGN,
    KEY_USAGE,
    NAME_CONSTRAINTS,
    POLICY_CONSTRAINTS,
    SUBJECT_ALT_NAME,
    TIME_STAMPING,
    Certificate,
    read_certificate,
)
from prereg_kit.evidence.token.constraints import check_names
from prereg_kit.evidence.token.names import name_text, same_name
from prereg_kit.evidence.token.policies import check_policies
from prereg_kit.evidence.token.proof import utc
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported

#: Critical extensions whose meaning is honoured here; distribution points (.31) say only where lists are, and
#: policies, their mappings and inhibitAnyPolicy (.32, .33, .54) are followed in `policies`.
_KNOWN = frozenset(
    {BASIC_CONSTRAINTS, KEY_USAGE, EXTENDED_KEY_USAGE, SUBJECT_ALT_NAME, NAME_CONSTRAINTS, POLICY_CONSTRAINTS}
    | {"2.5.29.31", "2.5.29.32", "2.5.29.33", "2.5.29.54"}
)
_MAX_LENGTH = 8
_MAX_SIGNATURES = 100

Obstacle = TokenRejected | TokenUnsupported


@dataclass
class _Search:
    anchors: Sequence[Certificate]
    pool: Sequence[Certificate]
    moment: datetime
    signatures: int = 0
    obstacle: Obstacle | None = None
    rank: tuple[int, int] = field(default=(-1, -1))

    def note(self, rank: int, depth: int, obstacle: Obstacle) -> None:
        if (rank, depth) > self.rank:
            self.rank, self.obstacle = (rank, depth), obstacle


def build_path(
    signer: Certificate, pool: Sequence[Certificate], anchors: Sequence[Certificate], moment: datetime
) -> tuple[Certificate, ...]:
    """The path from `signer` to one of `anchors`, signer first.

    Args:
        signer: already held to the profile of a time-stamping certificate.
        pool: certificates that may lie between; none of them is trusted.
        anchors: the pinned certificates, at least one.
        moment: genTime; validity is judged then and never now.

    Raises:
        TokenRejected: untrusted_root, chain_incomplete, chain_signature, chain_invalid, chain_eku_nesting,
            certificate_expired, weak_key, weak_signature_hash, name_constraints, critical_extension,
            policy_constraints, path_budget.
        TokenUnsupported: name_constraints, and what the signatures need.
    """
    _check_alone(signer, moment)
    search = _Search(anchors, pool, moment)
    for path in _extend((signer,), search):
        return path
    assert search.obstacle is not None
    raise search.obstacle


@lru_cache(maxsize=256)
def check_signed_by(raw: bytes, issuer_raw: bytes) -> None:
    """The certificate `raw` bears a signature of the key of `issuer_raw` (both DER, both readable).

    Raises:
        TokenRejected: chain_signature, weak_signature_hash. TokenUnsupported: unknown algorithms.
    """
    certificate, issuer = read_certificate(raw), read_certificate(issuer_raw)
    verify_signature(
        key=issuer.key,
        algorithm=certificate.signature_algorithm,
        digest=None,
        signature=certificate.signature,
        message=certificate.tbs,
        reason="chain_signature",
        what=f"the signature on the certificate {certificate.title}",
    )


def _extend(path: tuple[Certificate, ...], search: _Search) -> Iterator[tuple[Certificate, ...]]:
    last, depth = path[-1], len(path)
    found = False
    for issuer in search.anchors:
        if same_name(issuer.subject, last.issuer):
            found = True
            if _try(path, issuer, search, anchor=True):
                yield (*path, issuer)
    if depth < _MAX_LENGTH:
        used = {(certificate.subject, certificate.spki) for certificate in path}
        for issuer in search.pool:
            if (issuer.subject, issuer.spki) not in used and same_name(issuer.subject, last.issuer):
                found = True
                if _try(path, issuer, search, anchor=False):
                    yield from _extend((*path, issuer), search)
    if not found:
        search.note(0, depth, _dead_end(last, search))


def _try(path: tuple[Certificate, ...], issuer: Certificate, search: _Search, *, anchor: bool) -> bool:
    search.signatures += 1
    if search.signatures > _MAX_SIGNATURES:
        raise TokenRejected("path_budget", "too many certificates could be the issuer of one another")
    try:
        check_signed_by(path[-1].raw, issuer.raw)
    except TokenRejected as error:
        if anchor and error.reason == "chain_signature":
            error = TokenRejected(
                "untrusted_root",
                f"the certificate {path[-1].title} names the given root {issuer.title} as its issuer and is not"
                " signed by its key",
                next_step="Another authority uses the same name, or the certificate is forged.",
            )
        search.note(1 if error.reason in ("chain_signature", "untrusted_root") else 2, len(path), error)
        return False
    except TokenUnsupported as error:
        search.note(2, len(path), error)
        return False
    try:
        _check_alone(issuer, search.moment)
        _check_authority(issuer, path, anchor=anchor)
        check_names(issuer, path)
        if anchor:
            check_policies((*path, issuer))
    except (TokenRejected, TokenUnsupported) as error:
        search.note(2, len(path), error)
        return False
    except der.DerError as error:
        search.note(2, len(path), TokenRejected("chain_invalid", f"{issuer.title} is damaged: {error}"))
        return False
    return True


def _check_alone(certificate: Certificate, moment: datetime) -> None:
    """Validity at genTime, critical extensions, key length: what holds for every certificate of a path."""
    if not certificate.valid_at(moment):
        raise TokenRejected(
            "certificate_expired",
            f"genTime lies outside the validity of the certificate {certificate.title}",
            expected=f"{utc(certificate.not_before)} to {utc(certificate.not_after)}",
            found=utc(moment),
        )
    for oid, extension in certificate.extensions.items():
        if extension.critical and oid not in _KNOWN:
            raise TokenRejected(
                "critical_extension",
                f"{certificate.title} has a critical extension that is not known",
                found=oid,
            )
    check_key(certificate.key, certificate.title)


def _check_authority(issuer: Certificate, path: tuple[Certificate, ...], *, anchor: bool) -> None:
    """The issuer may issue: CA flag, path length, key usage, nested purpose (6.1.4 k to n)."""
    authority, length = issuer.authority
    # A version 1 certificate cannot say that it is a CA; old roots are such, and pinning one says it instead.
    if not authority and not (anchor and issuer.version == 1):
        raise TokenRejected("chain_invalid", f"the issuer {issuer.title} is no certification authority")
    between = sum(certificate.subject != certificate.issuer for certificate in path[1:])
    if length is not None and between > length:
        raise TokenRejected(
            "chain_invalid",
            f"the path below {issuer.title} is too long",
            expected=f"at most {length}",
            found=between,
        )
    if issuer.key_usage is not None and KEY_CERT_SIGN not in issuer.key_usage:
        raise TokenRejected("chain_invalid", f"the key of {issuer.title} is not for signing certificates")
    if issuer.purposes is not None and not {TIME_STAMPING, ANY_PURPOSE} & set(issuer.purposes):
        raise TokenRejected(
            "chain_eku_nesting",
            f"the issuer {issuer.title} is not allowed to issue for time stamping",
            expected=TIME_STAMPING,
            found=list(issuer.purposes),
        )


def _dead_end(last: Certificate, search: _Search) -> TokenRejected:
    given = ", ".join(anchor.title for anchor in search.anchors)
    if last.subject == last.issuer:
        return TokenRejected(
            "untrusted_root",
            f"the root {last.title}, at which the token's path ends, is missing from the given roots",
            expected=f"a path to {given}",
            next_step="If you trust that root, give it as a file; a root inside a token is never trusted.",
        )
    return TokenRejected(
        "chain_incomplete",
        f"the issuer {name_text(last.issuer)!r} of {last.title} is missing from the given roots and certificates",
        expected=f"a path to {given}",
        next_step="Give the root of this authority, or its missing intermediate as an untrusted certificate.",
    )

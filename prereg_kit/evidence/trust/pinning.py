"""Pinning an operator's certificates: what may be an anchor, and how it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prereg_kit.errors import TimestampError, UsageError, Where
from prereg_kit.evidence.token import Anchors, TokenRejected
from prereg_kit.evidence.token.certificate import KEY_CERT_SIGN, read_certificate
from prereg_kit.evidence.trust.operator import (
    ADDRESS,
    CONFIG,
    FORMAT,
    NAME,
    Operator,
    OperatorFile,
    is_address,
    parse_operator,
    pem,
    read_operator,
    without_credentials,
)
from prereg_kit.evidence.trust.store import RESERVED
from prereg_kit.foundation import durable
from prereg_kit.foundation.digest import readable_json, sha256_bytes


def add(
    name: str,
    roots: Iterable[bytes],
    into: Path,
    *,
    known: Operator | None = None,
    url: str = "",
    policies: Iterable[str] = (),
    source: str = "",
    fingerprint: str | None = None,
    untrusted: Iterable[bytes] = (),
    max_accuracy_seconds: int | None = None,
) -> Operator:
    """Pin certificates of an operator in its folder under `into`; earlier ones stay pinned.

    Args:
        name: the operator, lower-case.
        roots: PEM files (or DER), with one or several certificates each.
        into: a folder of operators, such as `user_folder()`.
        known: what is known of it already; explicit arguments win.
        url: where it answers, http or https.
        policies: policy OIDs seen in its tokens.
        source: where the certificate comes from.
        fingerprint: SHA-256 in hex, with or without colons, that one of the certificates must have.
        untrusted: PEM files with intermediate certificates.
        max_accuracy_seconds: the widest accuracy of its tokens that counts; None for five minutes.

    Raises:
        UsageError: an unusable or reserved name, or an address that may not be asked or recorded.
        TimestampError: another fingerprint than given, a certificate that is no authority's, a policy that is no OID.
        DocumentError: no certificate in a file.
    """
    if not NAME.fullmatch(name) or name == RESERVED:
        raise UsageError(
            "not usable as an operator's name",
            where=Where(field="NAME"),
            expected=f"lower-case letters, digits, dots and hyphens, and not {RESERVED!r}",
            found=name,
        )
    if url and not is_address(url):
        raise UsageError(
            "not an address of an authority",
            where=Where(field="--url"),
            expected=ADDRESS,
            found=without_credentials(url),
            next_step="Nothing was added.",
        )
    anchors, others = Anchors.from_pem(*roots), Anchors.from_pem(*untrusted)
    wanted = fingerprint.replace(":", "").strip().lower() if fingerprint is not None else None
    if wanted is not None and wanted not in anchors.fingerprints:
        raise TimestampError(
            "the certificate has another fingerprint",
            where=Where(field="--fingerprint"),
            expected=wanted,
            found=", ".join(anchors.fingerprints),
            next_step="Fetch the certificate again from its source; nothing was added.",
            code="anchor-fingerprint",
        )
    for der in anchors.certificates:
        _check_anchor(der)
    folder = into / name
    stored = (folder / CONFIG).exists()
    base = read_operator(folder) if stored else known or Operator(name)
    earlier = (base.fingerprints or ()) if stored else ()
    config = OperatorFile(
        format=FORMAT,
        name=name,
        title=base.title or name,
        url=url or base.url,
        anchor_source=source or base.anchor_source,
        website=base.website,
        fingerprints=tuple(dict.fromkeys([*earlier, *anchors.fingerprints])),
        max_accuracy_seconds=max_accuracy_seconds or base.max_accuracy_seconds,
    )
    fields = config.model_dump(mode="json", exclude_none=True)
    fields["policies"] = list(policies) or list(base.policies)
    config = parse_operator(fields, "--policy")
    folder.mkdir(parents=True, exist_ok=True)
    for der in anchors.certificates:
        _keep(folder / f"root-{sha256_bytes(der)[:16]}.pem", der)
    for der in others.certificates:
        (folder / "untrusted").mkdir(exist_ok=True)
        _keep(folder / "untrusted" / f"{sha256_bytes(der)[:16]}.pem", der)
    # Last, since it names the fingerprints: until then the new PEM files are refused rather than trusted.
    durable.write_bytes(
        folder / CONFIG, readable_json(config.model_dump(mode="json", exclude_none=True)), replace=True
    )
    return read_operator(folder)


def _keep(path: Path, der: bytes) -> None:
    if not path.exists():
        durable.write_bytes(path, pem(der))


def _check_anchor(der: bytes) -> None:
    """An anchor issues certificates (RFC 5280 4.2.1.3, 4.2.1.9). Units rotate every year, so a pinned one goes stale.

    A version 1 certificate cannot say that it is an authority; old roots are such, and are signed by themselves.

    Raises:
        TimestampError: the certificate is not an authority's, or is damaged.
    """
    try:
        certificate = read_certificate(der)
    except TokenRejected as error:
        raise TimestampError(
            f"the certificate cannot be read: {error.problem}",
            where=Where(field="--root"),
            next_step="Nothing was added.",
            code="anchor",
        ) from error
    old_root = certificate.version == 1 and certificate.subject == certificate.issuer
    usage = certificate.key_usage
    if (certificate.authority[0] or old_root) and (usage is None or KEY_CERT_SIGN in usage):
        return
    raise TimestampError(
        f"the certificate {certificate.title} may not issue others, so it is no anchor",
        where=Where(field="--root"),
        expected="the authority's root, or the CA that issues its time-stamping certificates",
        next_step="Fetch the root from the operator's site; nothing was added.",
        code="anchor",
    )

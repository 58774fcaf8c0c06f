"""`prereg token`: an auditor's verbs on one RFC 3161 token. The only place of the verifier that reads a clock."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prereg_kit.errors import DocumentError, NotCheckedError, PreregError, TimestampError, Where

if TYPE_CHECKING:
    from collections.abc import Callable

    from prereg_kit.evidence.token import Proof

FORMAT = "prereg.token/1"
_BLOCK = 1 << 20


def now() -> datetime:
    """The present, aware, UTC."""
    return datetime.now(UTC)


@click.group()
def command() -> None:
    """Examine one RFC 3161 token strictly."""


@command.command()
@click.argument("response")
@click.option("--data", metavar="FILE", help="The document that was stamped.")
@click.option("--digest", metavar="HEX", help="Its SHA-256, SHA-384 or SHA-512 instead, or ALGORITHM:HEX.")
@click.option("--query", metavar="FILE", help="The query that was sent: nonce and policy must match.")
@click.option("--root", "roots", metavar="PEM", multiple=True, help="A root that you trust; repeatable.")
@click.option(
    "--untrusted", metavar="PEM", multiple=True, help="Certificates that may lie between; repeatable."
)
@click.option("--crl", "crls", metavar="FILE", multiple=True, help="A stored revocation list; repeatable.")
@click.option("--ocsp", "ocsps", metavar="FILE", multiple=True, help="A stored OCSP response; repeatable.")
@click.option("--policy", "policies", metavar="OID", multiple=True, help="The policy required; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(response: str, *, data: str | None, digest: str | None, as_json: bool, **given: Any) -> int:  # noqa: ANN401
    """Verify a response or a bare token (DER, PEM, or base64 in one line) against a document.

    Exit codes: 0 accepted, 1 rejected, 2 usage, 3 not checked (no roots, a file is absent, unsupported).
    """
    from prereg_kit.evidence import token

    if (data is None) == (digest is None):
        raise click.UsageError("give the document with --data, or its digest with --digest")
    try:
        proof = _verify(response, data, digest, given)
    except (TimestampError, NotCheckedError, DocumentError) as error:
        return _refuse(response, error, as_json=as_json)
    if as_json:
        click.echo(
            json.dumps({"format": FORMAT, "verdict": "accept", "reason": "ok", **proof.to_json()}, indent=2)
        )
    else:
        accuracy = "60 s assumed" if proof.accuracy is None else f"{proof.accuracy.total_seconds():g} s"
        for name, text in (
            ("accept", response),
            ("time", f"{token.utc(proof.gen_time)} (accuracy {accuracy})"),
            ("authority", proof.tsa.subject),
            ("root", f"{proof.anchor_subject}  sha256 {proof.anchor_fingerprint}"),
            ("imprint", f"{proof.imprint_algorithm} {proof.imprint_hex}"),
            ("serial", str(proof.serial)),
            ("policy", proof.policy),
            ("protected", f"until {token.utc(proof.protected_until)}: {proof.protected_by}"),
        ):
            click.echo(f"{name:<12}{text}")
        for finding in proof.warnings:
            click.echo(f"{'warning':<12}{finding.message}")
    if proof.tsa.not_after < now():
        ended = token.utc(proof.tsa.not_after)
        click.echo(
            f"note: the signer's certificate has expired since ({ended}); it was valid at genTime", err=True
        )
    return 0


def _verify(response: str, data: str | None, digest: str | None, given: dict[str, Any]) -> Proof:
    from prereg_kit.evidence import token

    if not given["roots"]:
        raise NotCheckedError("no trusted root was given", next_step="Give one with --root.")
    roots = tuple(der for name in given["roots"] for der in _parts(name, token.certificates_in))
    untrusted = tuple(der for name in given["untrusted"] for der in _parts(name, token.certificates_in))
    crls = tuple(der for name in given["crls"] for der in _parts(name, token.crls_in))
    blob = _read(response, token.MAX_BYTES + 1)
    asked: str | dict[str, str] | None = digest
    query = None if given["query"] is None else _read(given["query"])
    if data is not None:
        algorithm = token.describe(blob).imprint_algorithm
        asked = {algorithm: _hash(data, algorithm)}
    return token.verify(
        blob,
        digest=asked,
        query=query,
        anchors=token.Anchors(roots),
        untrusted=untrusted,
        evidence=token.Evidence(crls, tuple(_read(name) for name in given["ocsps"])),
        policies=given["policies"] or None,
        now=now(),
    )


def _refuse(response: str, error: PreregError, *, as_json: bool) -> int:
    verdict, reason = getattr(error, "verdict", "unsupported"), getattr(error, "reason", "not_checked")
    if as_json:
        value = {"format": FORMAT, "verdict": verdict, "reason": reason, "message": str(error)}
        click.echo(json.dumps({**value, "gen_time": None, "tsa": None, "warnings": []}, indent=2))
    else:
        click.echo(f"{verdict:<12}{response}\n{'reason':<12}{reason}")
    click.echo(f"prereg: {response}: {error}", err=True)
    return 1 if verdict == "reject" else 3


def _read(name: str, limit: int = -1) -> bytes:
    try:
        with Path(name).open("rb") as handle:
            return handle.read(limit)
    except OSError as error:
        raise NotCheckedError(f"cannot be read: {error.strerror}", where=Where(file=name)) from error


def _parts(name: str, split: Callable[[bytes], tuple[bytes, ...]]) -> tuple[bytes, ...]:
    try:
        return split(_read(name))
    except DocumentError as error:
        raise NotCheckedError(error.problem, where=Where(file=name), expected=error.expected) from error


def _hash(name: str, algorithm: str) -> str:
    state = hashlib.new(algorithm)
    try:
        with Path(name).open("rb") as handle:
            while block := handle.read(_BLOCK):
                state.update(block)
    except OSError as error:
        raise NotCheckedError(f"cannot be read: {error.strerror}", where=Where(file=name)) from error
    return state.hexdigest()

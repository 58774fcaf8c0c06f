"""`prereg trust`: which authorities are known, which of their certificates are pinned, and whether they answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from prereg_kit.cli.trust_check import check
from prereg_kit.errors import PreregError, UsageError, Where


def _entry(operator: Any) -> dict[str, Any]:  # noqa: ANN401 - an Operator; the module is imported when called
    from cryptography import x509

    entry: dict[str, Any] = {
        "name": operator.name,
        "title": operator.title,
        "url": operator.url,
        "policies": list(operator.policies),
        "anchor_source": operator.anchor_source,
        "website": operator.website,
        "max_accuracy_seconds": operator.max_accuracy_seconds,
        "origin": operator.origin,
        "anchors": [],
        "problem": None,
    }
    try:
        anchors = operator.pinned()
        for der, fingerprint in zip(anchors.certificates, anchors.fingerprints, strict=True):
            certificate = x509.load_der_x509_certificate(der)
            entry["anchors"].append(
                {
                    "subject": certificate.subject.rfc4514_string(),
                    "sha256": fingerprint,
                    "not_before": certificate.not_valid_before_utc.isoformat().replace("+00:00", "Z"),
                    "not_after": certificate.not_valid_after_utc.isoformat().replace("+00:00", "Z"),
                }
            )
    except (PreregError, ValueError) as error:
        entry["problem"] = str(error)
    if not entry["anchors"] and not entry["problem"]:
        entry["problem"] = operator.missing()
    return entry


def _store(trust: tuple[str, ...]) -> Any:  # noqa: ANN401 - a TrustStore
    from prereg_kit.evidence.trust import TrustStore

    return TrustStore.load(trust)


_TRUST = click.option("--trust", multiple=True, metavar="DIR", help="A further folder of operators.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def command() -> None:
    """List, add and show timestamping authorities and their anchors."""


@command.command("list")
@_TRUST
@_JSON
def list_(trust: tuple[str, ...], as_json: bool) -> None:
    """List the known operators and whether an anchor is at hand."""
    entries = [_entry(operator) for operator in _store(trust).operators.values()]
    if as_json:
        click.echo(
            json.dumps({"format": "prereg.trust/1", "operators": entries}, indent=2, ensure_ascii=False)
        )
        return
    for entry in entries:
        anchors = "; ".join(a["sha256"] for a in entry["anchors"]) or "anchor not at hand"
        click.echo(f"{entry['name']:<12} {entry['url']:<48} {anchors}")


@command.command()
@click.argument("name")
@_TRUST
@_JSON
def show(name: str, trust: tuple[str, ...], as_json: bool) -> None:
    """Show one operator: address, policies, pinned certificates and where they come from."""
    operator = _store(trust).operators.get(name)
    if operator is None:
        raise UsageError(
            "no such operator", where=Where(field="NAME"), found=name, next_step="See `prereg trust list`."
        )
    entry = _entry(operator)
    if as_json:
        click.echo(
            json.dumps({"format": "prereg.trust/1", "operators": [entry]}, indent=2, ensure_ascii=False)
        )
        return
    for key, value in entry.items():
        for item in value if isinstance(value, list) else [value]:
            click.echo(f"{key:<14} {' | '.join(item.values()) if isinstance(item, dict) else item or '-'}")


@command.command()
@click.argument("name")
@click.option("--root", "roots", multiple=True, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--fingerprint", help="SHA-256 that the certificate must have, from the operator's own site.")
@click.option("--url", default="", help="Where the authority answers.")
@click.option("--policy", "policies", multiple=True, metavar="OID", help="A policy of its tokens.")
@click.option("--source", default="", help="Where the certificate was fetched.")
@click.option(
    "--max-accuracy",
    type=click.IntRange(1, 31_536_000),
    metavar="SECONDS",
    help="Widest accuracy of its tokens that counts; default: 300.",
)
@click.option(
    "--untrusted",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="An intermediate certificate.",
)
@click.option(
    "--into", type=click.Path(file_okay=False), help="Folder of operators; default: the user's own."
)
@_JSON
def add(
    name: str,
    *,
    roots: tuple[str, ...],
    fingerprint: str | None,
    url: str,
    policies: tuple[str, ...],
    source: str,
    max_accuracy: int | None,
    untrusted: tuple[str, ...],
    into: str | None,
    as_json: bool,
) -> None:
    """Pin a root or issuing certificate of an operator; a certificate that issues no others is refused."""
    from prereg_kit.evidence import trust

    operator = trust.add(
        name,
        [Path(root).read_bytes() for root in roots],
        Path(into) if into else trust.user_folder(),
        known=trust.TrustStore.load().operators.get(name),
        url=url,
        policies=policies,
        source=source,
        fingerprint=fingerprint,
        max_accuracy_seconds=max_accuracy,
        untrusted=[Path(file).read_bytes() for file in untrusted],
    )
    if as_json:
        value = {"format": "prereg.trust/1", "operators": [_entry(operator)]}
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        for found in operator.pinned().fingerprints:
            click.echo(f"{operator.name} {found}")
    if fingerprint is None:
        click.echo("Compare the fingerprint with what the operator publishes.", err=True)
    click.echo(f"pinned in {operator.origin}", err=True)


command.add_command(check)

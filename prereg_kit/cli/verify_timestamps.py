"""`prereg verify-timestamps`: what every frozen document's bytes and tokens prove, offline."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, time

import click

from prereg_kit.errors import UsageError, Where
from prereg_kit.foundation.digest import readable_json


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            "not a time", where=Where(field="--at"), expected="RFC 3339, or a date, in UTC", found=text
        ) from error
    if "T" not in text and " " not in text:
        found = datetime.combine(found.date(), time.max.replace(microsecond=0))
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


@click.command()
@click.argument("root", default=".")
@click.option(
    "--quorum",
    type=click.IntRange(1, 16),
    help="Operators that must agree; a frozen plan's own number is never lowered by it.",
)
@click.option(
    "--at", metavar="TIME", help="Judge protection at this time (RFC 3339 or a date); default: now."
)
@click.option(
    "--trust", multiple=True, metavar="DIR", help="A further folder of operators with their anchors."
)
@click.option("--allow-demo", is_flag=True, help="Do not fail for demo stamps; they still prove nothing.")
@click.option("--allow-unstamped", is_flag=True, help="Do not fail for documents that nobody stamped.")
@click.option("--second-opinion", is_flag=True, help="Ask openssl and rfc3161-client too, where installed.")
@click.option("--manifest", metavar="FILE", help="Check the files under ROOT against this list instead.")
@click.option("--file", "copy", metavar="COPY", help="Compare this copy with the frozen folder ROOT instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    root: str,
    *,
    quorum: int | None,
    at: str | None,
    trust: tuple[str, ...],
    allow_demo: bool,
    allow_unstamped: bool,
    second_opinion: bool,
    manifest: str | None,
    copy: str | None,
    as_json: bool,
) -> None:
    """Check digests and tokens of all frozen documents below ROOT, offline.

    ROOT is a project (with frozen/ or amendments/), one of these folders, or one frozen folder. Exit
    0: all are protected; 1: one is not; 3: nothing fails, but something needed for the check is absent.
    """
    if manifest is not None:
        from prereg_kit.cli.compare import compare_manifest

        sys.exit(compare_manifest(manifest, root, as_json=as_json))
    if copy is not None:
        from prereg_kit.cli.compare import compare_copy

        sys.exit(compare_copy(copy, root, as_json=as_json))
    from prereg_kit.cli.evidence_table import print_reports
    from prereg_kit.operations.verify import verify

    found = verify(root, at=_moment(at), quorum=quorum, trust=trust, second_opinion=second_opinion)
    if as_json:
        click.echo(readable_json(found.to_json()), nl=False)
    else:
        print_reports(found.documents, found.at)
    sys.exit(found.exit_code(allow_demo=allow_demo, allow_unstamped=allow_unstamped))

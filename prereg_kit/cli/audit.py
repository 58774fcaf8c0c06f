"""`prereg audit`: the sources of a repository read together, and what does not fit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click


@click.command()
@click.argument("root", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--at", metavar="TIME", help="Judge at this time (RFC 3339 or a date, UTC); default: now.")
@click.option(
    "--trust", multiple=True, metavar="DIR", help="A further folder of operators with their anchors."
)
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write the report as a self-contained page as well."
)
@click.option("--quiet", is_flag=True, help="Leave notes out of the findings.")
@click.option("--json", "as_json", is_flag=True, help="Print prereg.audit/1.")
def command(
    root: Path, *, at: str | None, trust: tuple[str, ...], html: Path | None, quiet: bool, as_json: bool
) -> int:
    """Audit the studies of the repository ROOT, offline: who could have known what when.

    Reads frozen plans and their timestamps, amendments, logs, indexes of runs, registers, decisions and git's
    history. Exit 0: no violation stands; 1: one does; 3: nothing is frozen here.
    """
    from prereg_kit.audit.examine import audit
    from prereg_kit.audit.text import lines
    from prereg_kit.cli.verify_timestamps import _moment
    from prereg_kit.evidence.folder import Examiner
    from prereg_kit.evidence.trust import TrustStore
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.durable import write_bytes

    moment = datetime.now(UTC) if at is None else _moment(at)
    found = audit(root, Examiner(TrustStore.load(trust), moment))
    if html is not None:
        from prereg_kit.audit.page import page

        write_bytes(html, page(found, moment).encode())
        click.echo(f"wrote {html}", err=True)
    if as_json:
        click.echo(readable_json(found.to_json()).decode(), nl=False)
    else:
        for line in lines(found, notes=not quiet):
            click.echo(line)
    return found.exit_code

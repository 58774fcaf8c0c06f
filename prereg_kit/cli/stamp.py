"""`prereg stamp`: add the stamps that a frozen document lacks, or file an answer that came by another way."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import BinaryIO

import click

from prereg_kit.cli.stamping import BANNER, Asking, outcome, report, say, show, stamping_options
from prereg_kit.errors import ArchiveError, NotCheckedError, UsageError, Where
from prereg_kit.evidence import archive


def _nobody(digest: str) -> archive.Stamps:
    del digest
    return archive.Stamps()


def _refresh(folder: str, asking: Asking, *, as_json: bool) -> None:
    """Fetch revocation data again; exit 3 if nothing new came."""
    from prereg_kit.evidence.archive.refresh import refresh_revocation
    from prereg_kit.evidence.tsa.revocation import fetch_all

    settings = asking.settings
    document, added = refresh_revocation(
        folder, lambda chain: fetch_all(chain, settings.limits, settings.clock)
    )
    say(f"{folder}: {added} new pieces of revocation data")
    frozen = archive.Frozen(document, archive.Stamps(), existed=True)
    if as_json:
        value = {"format": "prereg.freeze-report/1", "documents": [report(frozen)], "refused": []}
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        show(frozen)
    sys.exit(0 if added else 3)


@click.command()
@click.argument("folder")
@click.option(
    "--response", type=click.File("rb"), help="File this answer to a query prepared with --offline."
)
@click.option("--offline", is_flag=True, help="Prepare queries for the authorities of --tsa; ask nobody.")
@click.option("--query", type=click.File("rb"), help="Send this prepared query instead of a fresh one.")
@click.option("--revocation", is_flag=True, help="Fetch CRLs and OCSP answers again for the stamps at hand.")
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(
    folder: str,
    *,
    response: BinaryIO | None,
    offline: bool,
    query: BinaryIO | None,
    revocation: bool,
    as_json: bool,
    asking: Asking,
) -> None:
    """Add missing timestamps to a frozen document.

    Without options, the authorities that were asked before and did not answer are asked again.
    """
    if not Path(folder).is_dir():
        raise NotCheckedError(
            "no such folder",
            where=Where(file=str(folder)),
            expected="a frozen folder such as frozen/ID",
            code="absent",
        )
    record = archive.read_record(archive.load_frozen(folder).folder)
    if revocation:
        _refresh(folder, asking, as_json=as_json)
        return
    if response is not None:
        from prereg_kit.evidence import tsa

        urls = {operator.url for operator in asking.operators()}
        stamper = tsa.answering(folder, response.read(), asking.store, asking.settings, urls)
    else:
        have = {stamp.url for stamp in record.stamps}
        named = asking.tsas or asking.demo_tsa
        also = [] if named else [item.url for item in record.pending if item.url not in have]
        prepared = query.read() if query else None
        found = asking.stamper(offline=offline, query=prepared, also=also, have=have)
        if found is None and named:
            say("nothing is missing: everybody named has stamped it already")
            found = _nobody
        if found is None:
            raise UsageError(
                "nobody to ask",
                where=Where(file=folder),
                next_step="Name an authority with --tsa, or --demo-tsa.",
            )
        stamper = found
    try:
        frozen = archive.complete(folder, stamper)
    except OSError as error:
        raise ArchiveError(
            "the disk refused; the folder is as before", found=str(error), code="disk"
        ) from error
    code, text = outcome(frozen.stamps, record.quorum)
    if frozen.stamps != archive.Stamps():
        say(text)
    if any(stamp.demo for stamp in frozen.document.record.stamps):
        say(BANNER)
    if as_json:
        value = {"format": "prereg.freeze-report/1", "documents": [report(frozen)], "refused": []}
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        show(frozen)
    sys.exit(code)

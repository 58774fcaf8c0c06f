"""`prereg renew`: carry earlier evidence on with new stamps, before certificates and algorithms end."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from prereg_kit.cli.stamping import BANNER, Asking, outcome, report, say, show, stamping_options
from prereg_kit.errors import NotCheckedError, PreregError, UsageError, Where
from prereg_kit.evidence import archive


@click.command()
@click.argument("root")
@click.option("--within", type=click.IntRange(0), metavar="DAYS", help="Only what lapses within DAYS days.")
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(root: str, *, within: int | None, as_json: bool, asking: Asking) -> None:
    """Stamp earlier evidence again before it lapses.

    For every stamped folder below ROOT (or ROOT itself) a list of all its evidence is stamped: the document,
    tokens, certificates, revocation data, earlier renewals. A renewal that comes too late is kept and reported
    as a gap by verify-timestamps.
    """
    from prereg_kit.evidence.archive.renew import renew
    from prereg_kit.evidence.folder import Examiner, evidence_files

    stamper = asking.stamper()
    if stamper is None:
        raise UsageError("nobody to ask", next_step="Name authorities with --tsa, or --demo-tsa.")
    folders = archive.find_frozen(root)
    if not folders:
        raise NotCheckedError("no frozen folder", where=Where(file=root))
    now = datetime.now(UTC)
    examiner = Examiner(asking.store, now)
    results, problems, codes = [], [], [0]
    for folder in folders:
        state = examiner.examine(Path(folder))
        until = state.protected_until
        if within is not None and until is not None and until > now + timedelta(days=within):
            say(f"{folder}: protected until {until:%Y-%m-%d}, not renewed now")
            continue
        if state.status == "not stamped" and len(folders) > 1:
            say(f"{folder}: not stamped, nothing to renew")
            continue
        if state.status in ("lapsed", "gap", "altered", "below quorum"):
            say(f"{folder}: {state.status}; a renewal cannot mend that")
        try:
            done = renew(folder, evidence_files(archive.read_record(folder)), stamper)
        except PreregError as error:
            if len(folders) == 1:
                raise
            say(f"prereg: {error}")
            problems.append({"folder": str(folder), "problem": str(error), "code": error.code})
            codes.append(error.exit_code)
            continue
        code, text = outcome(done.stamps, done.document.record.quorum)
        say(f"{folder}: renewed; {text}")
        if any(stamp.demo for stamp in done.stamps.done):
            say(BANNER)
        results.append(done)
        codes.append(code)
    if as_json:
        value = {
            "format": "prereg.freeze-report/1",
            "documents": [report(f) for f in results],
            "refused": problems,
        }
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        for frozen in results:
            show(frozen)
    sys.exit(1 if 1 in codes else max(codes))

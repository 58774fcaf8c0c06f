"""`prereg renew`: carry earlier evidence on with new stamps, before certificates and algorithms end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prereg_kit.cli.stamping import print_results, say, stamping_options

if TYPE_CHECKING:
    from prereg_kit.operations.authorities import Authorities


@click.command()
@click.argument("root")
@click.option("--within", type=click.IntRange(0), metavar="DAYS", help="Only what lapses within DAYS days.")
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(root: str, *, within: int | None, as_json: bool, authorities: Authorities) -> None:
    """Stamp earlier evidence again before it lapses.

    For every stamped folder below ROOT (or ROOT itself) a list of all its evidence is stamped: the document,
    tokens, certificates, revocation data, earlier renewals. A renewal that comes too late is kept and reported
    as a gap by verify-timestamps.
    """
    from prereg_kit.operations.renew import renew

    result = renew(root, authorities=authorities, within_days=within, say=say)
    print_results(result.renewed, result.refused, as_json=as_json)
    sys.exit(result.exit_code)

"""`prereg stamp`: add the stamps that a frozen document lacks, or file an answer that came by another way."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from prereg_kit.cli.stamping import print_results, say, stamping_options

if TYPE_CHECKING:
    from prereg_kit.operations.authorities import Authorities
    from prereg_kit.operations.freeze import FreezeResult


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
    authorities: Authorities,
) -> None:
    """Add missing timestamps to a frozen document.

    Without options, the authorities that were asked before and did not answer are asked again.
    """
    from prereg_kit.errors import ArchiveError
    from prereg_kit.operations.stamp import refresh, stamp

    try:
        result: FreezeResult = (
            refresh(folder, authorities=authorities, say=say)
            if revocation
            else stamp(
                folder,
                authorities=authorities,
                response=response.read() if response else None,
                offline=offline,
                query=query.read() if query else None,
                say=say,
            )
        )
    except OSError as error:
        raise ArchiveError(
            "the disk refused; the folder is as before", found=str(error), code="disk"
        ) from error
    print_results([result], [], as_json=as_json)
    sys.exit(result.exit_code)

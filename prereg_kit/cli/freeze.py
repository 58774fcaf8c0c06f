"""`prereg freeze`: exact bytes into frozen/<id>/, with the stamps of the authorities that were asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from prereg_kit.cli.stamping import print_results, say, stamping_options

if TYPE_CHECKING:
    from prereg_kit.operations.authorities import Authorities


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--id", "id", help="Name of the frozen folder (one FILE); default: the plan's id, or the file's stem."
)
@click.option("--root", default=".", metavar="DIR", help="The project; frozen/ is made below it.")
@click.option(
    "--quorum",
    type=click.IntRange(1, 16),
    help="Operators that must agree; default, and least: the plan's. Else 2.",
)
@click.option(
    "--offline", is_flag=True, help="Prepare the queries only; `stamp --response` brings the answers."
)
@click.option("--query", type=click.File("rb"), help="Send this prepared query instead of a fresh one.")
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(
    files: tuple[str, ...],
    *,
    id: str | None,
    root: str,
    quorum: int | None,
    offline: bool,
    query: BinaryIO | None,
    as_json: bool,
    authorities: Authorities,
) -> None:
    """Freeze documents byte for byte and have them timestamped.

    Any document can be frozen; a prereg.plan/1 file is checked as well. Without --tsa or --demo-tsa the bytes
    are frozen and not stamped. Nothing frozen is ever overwritten; a document that is frozen already gets the
    stamps that are asked for and missing.
    """
    from prereg_kit.errors import ArchiveError, PreregError, UsageError
    from prereg_kit.operations.freeze import freeze
    from prereg_kit.operations.renew import Refusal

    if len(files) > 1 and id:
        raise UsageError("--id names one document", found=list(files))
    prepared = query.read() if query else None
    results, refused = [], []
    for file in files:
        try:
            result = freeze(
                file,
                root=root,
                id=id,
                quorum=quorum,
                authorities=authorities,
                offline=offline,
                query=prepared,
                say=say,
            )
        except OSError as error:
            raise ArchiveError(
                "the disk refused; nothing was frozen", found=str(error), code="disk"
            ) from error
        except PreregError as error:
            if len(files) == 1:
                raise
            refused.append(Refusal(file, error))
        else:
            results.append(result)
    print_results(results, refused, as_json=as_json)
    codes = [result.exit_code for result in results] + [each.error.exit_code for each in refused]
    sys.exit(1 if 1 in codes else max(codes))

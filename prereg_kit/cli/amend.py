"""`prereg amend`: an amendment checked against the plan in force, then frozen and stamped under amendments/."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prereg_kit.cli.stamping import print_result, say, stamping_options

if TYPE_CHECKING:
    from prereg_kit.operations.authorities import Authorities


@click.command(name="amend")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path), required=False)
@click.option(
    "--draft", metavar="PLAN", type=click.Path(path_type=Path), help="Print a draft for this frozen plan."
)
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option(
    "--quorum", type=click.IntRange(1, 16), help="Operators that must agree; default, and least: the plan's."
)
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(
    file: Path | None,
    *,
    draft: Path | None,
    root: Path | None,
    quorum: int | None,
    as_json: bool,
    authorities: Authorities,
) -> None:
    """Freeze and stamp the amendment in FILE as amendments/PLAN-ID/.

    It must name the digest of what it amends (the plan, or the amendment before it) and every change must apply;
    otherwise nothing is written. Nothing frozen is ever overwritten.
    """
    from prereg_kit.errors import UsageError
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.operations.amend import amend
    from prereg_kit.operations.amend import draft as drafted

    if draft is not None and file is None:
        click.echo(drafted(draft, root), nl=False)
        return
    if file is None or draft is not None:
        raise UsageError(
            "either FILE or --draft PLAN", next_step="`prereg amend --draft frozen/ID > A1.yaml`"
        )
    result = amend(file, root=root, quorum=quorum, authorities=authorities, say=say)
    for line in result.changes:
        say(f"  {line}")
    if as_json:
        made = {
            "format": "prereg.amend/1",
            **result.report().model_dump(mode="json", exclude_none=True),
            "changes": list(result.changes),
        }
        click.echo(readable_json(made), nl=False)
    else:
        print_result(result)
    sys.exit(result.exit_code)

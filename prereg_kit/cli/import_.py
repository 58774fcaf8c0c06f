"""`prereg import`: a table from elsewhere, converted in the open."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="import")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The new register, in Parquet.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the record, prereg.import/1.")
def command(source: Path, out: Path, *, dry_run: bool, as_json: bool) -> None:
    """Convert FILE, a CSV table as spreadsheets write it, to a register, and record every step beside it.

    Exit codes: 0 converted; 1 the table cannot be converted; 3 the file is absent.
    """
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.visible import terminal_line
    from prereg_kit.operations.import_table import import_table

    done = import_table(source, out, dry_run=dry_run)
    if as_json:
        click.echo(readable_json(done.record).decode(), nl=False)
        return
    found = done.conversion
    lines = [f"{source}: {found.rows} rows", *found.steps]
    lines += [
        f"{each.name}: {each.type}" + (f"; {'; '.join(each.steps)}" if each.steps else "")
        for each in found.columns
    ]
    lines += [f"warning: {each}" for each in found.warnings]
    for line in lines:
        click.echo(terminal_line(line))
    said = [f"wrote {path}" for path in done.written] or ["nothing was written"]
    for line in said:
        click.echo(terminal_line(line), err=True)

"""`study status`: the state of the runs under a folder, from their records and logs alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

FORMAT = "study.status/1"


@click.command(name="status")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print study.status/1.")
def command(folder: Path, as_json: bool) -> None:
    """Show the runs under FOLDER: step, evaluations, attempts, what each waits for.

    Nothing is written and no checkpoint is opened. A run whose log has not grown for a quarter of an hour is
    shown as silent.
    """
    from prereg_kit.errors import NotCheckedError, Where
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.visible import terminal_line
    from study.runs.state import different_starts, state_of

    found = (path.parent for path in sorted(folder.glob("**/run.json")))
    rows = [state_of(run) for run in found if "attempts" not in run.relative_to(folder).parts]
    if not rows:
        raise NotCheckedError("no run lies under this folder", where=Where(file=str(folder)))
    warnings = different_starts(rows)
    if as_json:
        click.echo(readable_json({"format": FORMAT, "runs": rows, "warnings": warnings}).decode(), nl=False)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("run", "state", "step", "attempts", "last evaluation", "zero-variance", "bound"):
        table.add_column(name, overflow="fold")
    for row in rows:
        shown = ", ".join(f"{name} {value:.2f}" for name, value in row["evaluation"].items())
        cells = (
            row["run_id"],
            _state(row),
            f"{row['step']}/{row['steps']}",
            str(row["attempts"]),
            f"step {row['evaluated_at']}: {shown}" if shown else "-",
            "-" if row["zero_variance"] is None else f"{row['zero_variance']:.2f}",
            {True: "exploratory", False: "plan", None: "-"}[row["exploratory"]],
        )
        table.add_row(*(Text(terminal_line(cell)) for cell in cells))
    Console(markup=False, highlight=False).print(table)
    for line in warnings:
        click.echo(terminal_line(f"warning: {line}"), err=True)


def _state(row: dict[str, Any]) -> str:
    """The state as a cell; a diverged run says by which number."""
    seen = row["divergence"]
    return row["state"] if seen is None else f"{row['state']}: {seen['quantity']} {seen['found']}"

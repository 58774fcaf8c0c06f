"""`study status`: the state of the runs under a folder, from their records and logs alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

FORMAT = "study.status/1"
_STALE_S = 900.0
_NOTHING: dict[str, Any] = {
    "step": 0,
    "steps": 0,
    "attempts": 0,
    "evaluated_at": None,
    "evaluation": {},
    "zero_variance": None,
    "exploratory": None,
    "config_digest": None,
    "step_zero": None,
}


@click.command(name="status")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print study.status/1.")
def command(folder: Path, as_json: bool) -> None:
    """Show the runs under FOLDER: step, evaluations, attempts, what each waits for.

    Nothing is written and no checkpoint is opened. A run whose log has not grown for a quarter of an hour is
    shown as silent.
    """
    from prereg_kit.digest import readable_json
    from prereg_kit.errors import NotCheckedError, Where

    rows = [
        _state(path.parent) for path in sorted(folder.glob("**/run.json")) if "attempts" not in path.parts
    ]
    if not rows:
        raise NotCheckedError("no run lies under this folder", where=Where(file=str(folder)))
    warnings = _different_starts(rows)
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
            row["state"],
            f"{row['step']}/{row['steps']}",
            str(row["attempts"]),
            f"step {row['evaluated_at']}: {shown}" if shown else "-",
            "-" if row["zero_variance"] is None else f"{row['zero_variance']:.2f}",
            {True: "exploratory", False: "plan", None: "-"}[row["exploratory"]],
        )
        table.add_row(*(Text(cell) for cell in cells))
    Console(markup=False, highlight=False).print(table)
    for line in warnings:
        click.echo(f"warning: {line}", err=True)


def _different_starts(rows: list[dict[str, Any]]) -> list[str]:
    """Runs whose configs share a step-0 checkpoint and that began from different weights: no seed pairs."""
    by_start: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row["step_zero"] is not None:
            weights = by_start.setdefault(row["step_zero"]["digest"], {})
            weights.setdefault(str(sorted(row["step_zero"]["weights"].items())), []).append(row["folder"])
    return [
        " and ".join(sorted(folders[0] for folders in weights.values()))
        + " did not begin from the same step-0 checkpoint, although their configs share it"
        for weights in by_start.values()
        if len(weights) > 1
    ]


def _state(folder: Path) -> dict[str, Any]:
    """One run as a row; a record that cannot be read is a row that says so."""
    from prereg_kit.errors import PreregError
    from study import registers, run_record
    from study.training.step_zero_record import began_from, weights_of

    try:
        record = run_record.read(folder)
        run = run_record.config_of(record, str(folder / "run.json"))
    except PreregError as error:
        return {"run_id": folder.name, "folder": str(folder), "state": f"unreadable: {error}"} | _NOTHING
    groups = registers.merged(folder, "groups")
    episodes = registers.merged(folder, "episodes")
    last = max((row["step"] for row in episodes), default=None)
    hits: dict[str, list[bool]] = {}
    for row in episodes:
        if row["step"] == last and row["split"] == "validation":
            hits.setdefault(row["regime"], []).append(row["true_success"])
    recent = groups[-5 * run.tier.rollouts.prompts :]
    start = began_from(record["attempts"])
    state = record["attempts"][-1]["status"]
    logs = [path.stat().st_mtime for path in folder.glob("attempts/*/*.jsonl")]
    if state == "running" and logs and time.time() - max(logs) > _STALE_S:
        state = "silent"
    return {
        "run_id": record["run_id"],
        "folder": str(folder),
        "state": state,
        "step": groups[-1]["step"] + 1 if groups else 0,
        "steps": run.tier.optimisation.steps,
        "attempts": len(record["attempts"]),
        "evaluated_at": last,
        "evaluation": {name: sum(found) / len(found) for name, found in hits.items()},
        "zero_variance": sum(row["zero_variance"] for row in recent) / len(recent) if recent else None,
        "exploratory": record["exploratory"],
        "config_digest": record["config_digest"],
        "step_zero": None if start is None else {"digest": start["digest"], "weights": weights_of(start)},
    }

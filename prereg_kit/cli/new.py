"""`prereg new`: a commented starting plan."""

from __future__ import annotations

import re
from pathlib import Path

import click

ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""What an id may be: `prereg_kit.plan.fields.Name`; nothing else is put into the file's text."""


@click.command(name="new")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path), default="plan.yaml")
@click.option("--id", "plan_id", help="The plan's id; it names the frozen folder.")
@click.option(
    "--ci", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="Write a git hook and a CI recipe that run the audit below DIR instead.",
)  # fmt: skip
@click.option(
    "--from", "table", type=click.Path(path_type=Path), metavar="CSV",
    help="Propose the columns of this table as arms, pairs, clusters and value.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Say what was written as JSON.")
def command(path: Path, plan_id: str | None, ci: Path | None, table: Path | None, as_json: bool) -> None:
    """Write a commented starting plan to FILE (default plan.yaml), which is never overwritten."""
    if ci is not None:
        from prereg_kit.operations.ci_files import write_ci

        for each in write_ci(ci):
            click.echo(f"wrote {each}", err=True)
        click.echo("next: git config core.hooksPath .githooks", err=True)
        return
    from importlib import resources

    from prereg_kit.errors import NotCheckedError, UsageError, Where
    from prereg_kit.foundation.digest import readable_json, sha256_bytes
    from prereg_kit.foundation.durable import write_bytes
    from prereg_kit.plan.file import read_plan

    if plan_id is not None and not re.fullmatch(ID, plan_id):
        raise UsageError("--id is not an id", where=Where(field="id"), expected=ID, found=plan_id)
    if table is not None:
        from prereg_kit.operations.plan_for_table import plan_for_csv

        data = plan_for_csv(table, plan_id or "my-study")
    else:
        data = resources.files("prereg_kit.plan").joinpath("starting_plan.yaml").read_bytes()
        if plan_id is not None:
            data = _with_id(data, plan_id)
    plan = read_plan(data, str(path))
    if not path.parent.is_dir():
        raise NotCheckedError("the folder does not exist", where=Where(file=str(path.parent)))
    write_bytes(path, data)
    if as_json:
        made = {"format": "prereg.new/1", "path": str(path), "id": plan.id, "sha256": sha256_bytes(data)}
        click.echo(readable_json(made).decode(), nl=False)
    else:
        click.echo(f"wrote {path}", err=True)
        click.echo(f"next: edit it, `prereg show {path}`, `prereg freeze {path} --tsa NAME`", err=True)


def _with_id(data: bytes, plan_id: str) -> bytes:
    quoted = f'"{plan_id}"' if plan_id.lower() == "null" else plan_id
    data = data.replace(b"id: my-study ", f"id: {quoted} ".encode(), 1)
    return data.replace(b"frozen/my-study/", f"frozen/{plan_id}/".encode(), 1)

"""`prereg show`: a plan for a reader, with every default and every amendment in force."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="show")
@click.argument("path", metavar="PLAN", type=click.Path(path_type=Path))
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option("--json", "as_json", is_flag=True, help="Print the effective plan as JSON.")
def command(path: Path, root: Path | None, as_json: bool) -> None:
    """Print PLAN (a plan file or its frozen folder) as it is in force, amendments applied.

    What the file does not say is shown with the default of the format's version.
    """
    from prereg_kit.evidence import frozen_plans as plan_archive
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.plan.text import plan_lines

    loaded = plan_archive.load(path, root)
    effective = loaded.effective
    if as_json:
        shown = {
            "format": "prereg.show/1",
            "digest": effective.digest,
            "frozen": loaded.frozen,
            "amendments": [
                {"id": applied.amendment.id, "digest": applied.source.digest, "path": applied.source.name}
                for applied in effective.amendments
            ],
            "plan": effective.plan.model_dump(mode="json", by_alias=True),
        }
        click.echo(readable_json(shown).decode(), nl=False)
        return
    for notice in effective.notices:
        click.echo(f"note: {notice}", err=True)
    for line in plan_lines(effective, frozen=loaded.frozen):
        click.echo(line)

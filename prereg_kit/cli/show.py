"""`prereg show`: a plan for a reader, with every default and every amendment in force."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(name="show")
@click.argument("path", metavar="PLAN", type=click.Path(path_type=Path))
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option("--effective", is_flag=True, help="Every field of the plan in force, one per line.")
@click.option("--blame", is_flag=True, help="Say of each field which document it comes from; implies --plan.")
@click.option("--json", "as_json", is_flag=True, help="Print the effective plan as JSON.")
def command(path: Path, root: Path | None, effective: bool, blame: bool, as_json: bool) -> None:
    """Print PLAN (a plan file or its frozen folder) as it is in force, amendments applied.

    What the file does not say is shown with the default of the format's version.
    """
    from prereg_kit.evidence import frozen_plans as plan_archive
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.visible import terminal_line
    from prereg_kit.plan.blame import blame as origins
    from prereg_kit.plan.text import plan_lines

    loaded = plan_archive.load(path, root)
    plan = loaded.effective
    if as_json:
        shown = {
            "format": "prereg.show/1",
            "digest": plan.digest,
            "frozen": loaded.frozen,
            "amendments": [
                {"id": applied.amendment.id, "digest": applied.source.digest, "path": applied.source.name}
                for applied in plan.amendments
            ],
            "plan": plan.plan.model_dump(mode="json", by_alias=True),
        }
        if blame:
            shown["blame"] = {each.field: each.origin for each in origins(plan)}
        click.echo(readable_json(shown).decode(), nl=False)
        return
    for notice in plan.notices:
        click.echo(f"note: {notice}", err=True)
    if effective or blame:
        for each in origins(plan):
            text = each.value if isinstance(each.value, str) else json.dumps(each.value, ensure_ascii=False)
            click.echo(
                terminal_line(f"{each.origin:<8} {each.field}: {text}" if blame else f"{each.field}: {text}")
            )
        return
    for line in plan_lines(plan, frozen=loaded.frozen):
        click.echo(line)

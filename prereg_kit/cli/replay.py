"""`prereg replay`: the verdicts under the plan as frozen and under each amendment, and what each one turned."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("plan", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--register", "registers", multiple=True, required=True, type=click.Path(path_type=Path), metavar="PATH",
    help="The index of runs, or rows; may be given several times.",
)  # fmt: skip
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option("--json", "as_json", is_flag=True, help="Print prereg.replay/1.")
def command(plan: Path, *, registers: tuple[Path, ...], root: Path | None, as_json: bool) -> int:
    """Decide PLAN as frozen, then with each amendment added, on the same registers.

    A flip is an outcome that an amendment changes. Where the author says that results had been seen, the new outcome
    was known in advance: it is no new confirmation.
    """
    from prereg_kit.audit.replay import outcomes, replay
    from prereg_kit.evidence.frozen_plans import load
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.visible import terminal_line
    from prereg_kit.plan.amendment import KNOWN_IN_WORDS

    found = replay(load(plan, root), registers)
    if as_json:
        click.echo(readable_json(found.to_json()).decode(), nl=False)
        return 0
    for version in found.versions:
        known = "" if version.known is None else f" ({KNOWN_IN_WORDS[version.known]})"
        click.echo(terminal_line(f"{version.name}{known}"))
        if version.verdicts is None:
            click.echo(terminal_line(f"  cannot be decided: {version.problem}"))
        for name, outcome in outcomes(version.verdicts).items():
            flipped = next(
                (f for f in found.flips if f.amendment == version.name and f.hypothesis == name), None
            )
            was = f"   was {flipped.before or 'not registered'}" if flipped else ""
            advance = (
                "; known in advance, no new confirmation" if flipped and flipped.known_in_advance else ""
            )
            click.echo(terminal_line(f"  {name:<24} {outcome}{was}{advance}"))
    if len(found.versions) == 1:
        click.echo("no amendment is in force: nothing to compare")
    elif not found.flips:
        click.echo("no amendment changes an outcome")
    return 0

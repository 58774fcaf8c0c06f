"""`prereg check`: how often a plan's rules pass, before the freeze."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="check")
@click.argument("path", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--register",
    "registers",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A sample to try the rules on.",
)
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option(
    "--figures", type=click.Path(path_type=Path), help="Draw the operating characteristics into this folder."
)
@click.option(
    "--pilot", type=click.Path(path_type=Path), help="A register of earlier pairs: how much they vary."
)
@click.option(
    "--sd",
    type=click.FloatRange(min=0, min_open=True),
    help="Standard deviation between pairs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print prereg.check/1.")
def command(
    path: Path,
    registers: tuple[Path, ...],
    root: Path | None,
    figures: Path | None,
    pilot: Path | None,
    sd: float | None,
    as_json: bool,
) -> int:
    """Examine the rules of PLAN: can they be evaluated, do outcomes overlap or leave a gap, how often would they pass.

    Exit codes: 0 nothing stands against the freeze, 1 a finding, 2 usage, 3 the plan or the sample is absent.
    """
    from prereg_kit.design import plan_check
    from prereg_kit.evidence import frozen_plans as plan_archive
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.operations import materials
    from prereg_kit.registers.file import open_register

    loaded = plan_archive.load(path, root)
    sample = open_register(registers) if registers else None
    earlier = open_register([pilot]) if pilot is not None else None
    report = plan_check.check(loaded.effective, sample, pilot=earlier, sd=sd)
    report = report.with_findings(materials.findings(materials.compare(loaded.effective.plan, loaded.root)))
    if figures is not None:
        for drawn in plan_check.draw(report, figures):
            click.echo(f"wrote {drawn}", err=True)
    if as_json:
        click.echo(readable_json(report.to_json()).decode(), nl=False)
    else:
        from prereg_kit.cli.check_text import print_report

        print_report(report)
    return 0 if report.ok else 1

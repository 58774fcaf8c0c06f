"""`prereg decide`: the frozen rules of a plan, evaluated on registers of runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="decide")
@click.option(
    "--register",
    "registers",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The index runs.parquet, a rows file (Parquet or CSV), or a folder; repeatable, also without the option.",
)
@click.argument("more", metavar="[REGISTER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--plan", type=click.Path(path_type=Path), help="A plan file or frozen folder; default: the one named."
)
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option("--json", "as_json", is_flag=True, help="Print prereg.verdicts/1 instead of tables.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write verdicts.json and curves.json to this folder."
)
@click.option(
    "--exit-code", is_flag=True, help="Exit 1 if a hypothesis fails or is void, 3 if one is undecided."
)
def command(
    registers: tuple[Path, ...],
    more: tuple[Path, ...],
    plan: Path | None,
    root: Path | None,
    as_json: bool,
    out: Path | None,
    exit_code: bool,
) -> int:
    """Decide a plan's hypotheses on registers of runs, offline.

    Without --plan the register must name one frozen plan. A plan that is not frozen is labelled so in every output.
    Any verdict exits 0 unless --exit-code is given; a register with a defect exits 1 and decides nothing.
    """
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.operations import decide as deciding

    if out is not None:
        deciding.refuse_existing(out)
    result = deciding.decide_files((*registers, *more), plan=plan, root=root)
    if out is not None:
        for path in deciding.write(result, out):
            click.echo(f"wrote {path}", err=True)
    if as_json:
        click.echo(readable_json(result.verdicts.to_json()).decode(), nl=False)
    else:
        from prereg_kit.cli.terminal import console
        from prereg_kit.cli.verdict_text import print_verdicts

        print_verdicts(result.verdicts, console())
    return deciding.exit_code(result.verdicts) if exit_code else 0

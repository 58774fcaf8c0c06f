"""A check report on a terminal: findings first, then how often each rule passes."""

from __future__ import annotations

import textwrap

import click

from prereg_kit.design.operating import OperatingCharacteristics, scale_free
from prereg_kit.design.plan_check import CheckReport
from prereg_kit.foundation.visible import terminal_line

WIDTH = 100


def print_report(report: CheckReport) -> None:
    """Print a report to stdout; the table is plain text, so that it survives a copy into a letter."""
    click.echo(f"Plan {report.plan}, sha256 {report.digest}")
    if report.ok:
        click.echo("Nothing stands against the freeze.")
    for finding in report.findings:
        where = f"{finding.hypothesis}: " if finding.hypothesis else ""
        _say(f"✗ {finding.code}  {where}{finding.message}", "    ")
    for each in (each for each in report.characteristics if each.counted):
        click.echo("")
        _characteristics(each)
    if report.family is not None:
        click.echo("")
        share = 100 * report.family.any_pass
        _say(
            f"Without any effect, at least one of these {len(report.family.each)} rules passes "
            f"in {share:.1f} % of studies."
        )
    click.echo("")
    for note in report.notes:
        _say(f"note: {note}", "      ")


def _characteristics(each: OperatingCharacteristics) -> None:
    _say(each.sentence)
    if each.binding is not None:
        _say(f"  The clause that most often fails alone: {each.binding}", "    ")
    deviations = sorted({cell.seed_sd for cell in each.cells})
    click.echo(
        f"  {'true effect':>12}"
        + "".join(f"{f'sd {sd:.3g}':>12}" for sd in deviations)
        + "   (share that passes)"
    )
    for effect in sorted({cell.effect for cell in each.cells}):
        row = {cell.seed_sd: cell.passing for cell in each.cells if cell.effect == effect}
        label = f"{effect:+.3g}" if effect else "no effect"
        click.echo(f"  {label:>12}" + "".join(f"{row[sd]:12.3f}" for sd in deviations))
    counts = sorted({cell.seeds for cell in each.curve} | {each.cells[0].seeds})
    click.echo(f"  {'seed pairs':>12}" + "".join(f"{count:>7}" for count in counts) + f"   ({_sd(each)})")
    for effect in sorted({cell.effect for cell in each.curve}):
        found = {
            c.seeds: c.passing
            for c in (*each.cells, *each.curve)
            if c.effect == effect and c.seed_sd == each.sd
        }
        click.echo(
            f"  {f'{effect:+.3g}' if effect else 'no effect':>12}"
            + "".join(f"{found[count]:7.3f}" for count in counts)
        )
    solved = ", ".join(
        f"{'none up to 64' if pairs is None else pairs} at {effect:+.3g}"
        for effect, pairs in each.pairs_80.items()
    )
    _say(f"  Fewest seed pairs that pass in 80 % of studies ({_sd(each)}): {solved}", "    ")


def _sd(each: OperatingCharacteristics) -> str:
    return "effects in units of the sd" if scale_free(each) else f"sd {each.sd:.3g}"


def _say(text: str, indent: str = "") -> None:
    click.echo(
        textwrap.fill(
            terminal_line(text),
            WIDTH,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )

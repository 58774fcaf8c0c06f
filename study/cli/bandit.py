"""`study bandit`: every number of the paper's Appendix A.1, ours beside the printed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.theory.bandit import Bandit, Named

FORMAT = "study.bandit/1"


@click.command("bandit")
@click.option(
    "--group-size", "size", default=8, show_default=True, help="Rollouts per group, G (at least 2)."
)
@click.option("--flip-rate", default=0.1, show_default=True, help="Grader flips per success, q in [0, 1].")
@click.option(
    "--success-rate", default=0.5, show_default=True, help="True success p in [0, 1]; the paper's is 0.5."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, size: int, flip_rate: float, success_rate: float, as_json: bool) -> None:
    """Print the numbers of the aligned scalar bandit (Appendix A.1).

    Each number is computed in closed form, checked by walking every action tuple and corruption mask (up to G = 12),
    and compared with the paper's digits. With other parameters there is nothing printed to compare with. Exit code 1
    if a number disagrees.
    """
    from study.theory.bandit import Bandit, report

    model = Bandit(size=size, flip_rate=flip_rate, success_rate=success_rate)
    rows = report(model)
    if as_json:
        from prereg_kit.foundation.digest import readable_json

        click.echo(readable_json(_value(model, rows)).decode(), nl=False)
    else:
        _table(model, rows)
    ctx.exit(1 if any(row.agrees is False for row in rows) else 0)


def _value(model: Bandit, rows: list[Named]) -> dict[str, object]:
    return {
        "format": FORMAT,
        "group_size": model.size,
        "flip_rate": model.flip_rate,
        "success_rate": model.success_rate,
        "all_agree": _all_agree(rows),
        "numbers": [
            {
                "name": row.name,
                "value": row.value,
                "enumerated": row.enumerated,
                "printed": row.printed,
                "agrees": row.agrees,
            }
            for row in rows
        ],
    }


def _all_agree(rows: list[Named]) -> bool | None:
    compared = [row.agrees for row in rows if row.agrees is not None]
    return all(compared) if compared else None


def _table(model: Bandit, rows: list[Named]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 0), header_style="bold")
    table.add_column("number")
    for heading in ("ours", "paper", "agrees", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    marks = {None: Text("-"), True: Text("yes", style="green"), False: Text("NO", style="bold red")}
    for row in rows:
        error = "-" if row.enumerated is None else f"{abs(row.value - row.enumerated):.0e}"
        table.add_row(Text(row.name), f"{row.value:.8f}", row.printed or "-", marks[row.agrees], error)
    out = Console(highlight=False, emoji=False, markup=False)
    out.print(f"Aligned scalar bandit: G = {model.size}, q = {model.flip_rate:g}, p = {model.success_rate:g}")
    out.print(table)
    if any(row.enumerated is not None for row in rows):
        out.print("error: distance to the same number by enumerating every action tuple and mask")
    compared = [row for row in rows if row.agrees is not None]
    if compared:
        out.print(
            f"{sum(row.agrees is True for row in compared)} of {len(compared)} printed numbers come back."
        )
    sides = {row.name[0]: row.value for row in rows if row.name[:2] in {"L ", "R "}}
    helps = "lowers" if sides["L"] < sides["R"] else "raises" if sides["L"] > sides["R"] else "leaves"
    out.print(
        f"L {'<' if helps == 'lowers' else '>' if helps == 'raises' else '='} R: pairing {helps} the trace."
    )

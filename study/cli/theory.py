"""`study theory`: the figures of the theory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.figures.canvas import Drawing

_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="The figure's file: .png, .svg or .pdf; never overwritten.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("theory", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Draw where pairing helps and where it hurts, and how schedules are shared."""


@command.command("map")
@_OUT
@click.option(
    "--group-size", "size", default=8, show_default=True, help="Rollouts per group, G (at least 2)."
)
@click.option("--flip-rate", default=0.1, show_default=True, help="Grader flips per success, q in (0, 1).")
@click.option(
    "--probe",
    "files",
    multiple=True,
    metavar="EVIDENCE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Evidence of an outcome probe, drawn as a measured point; repeatable.",
)
@_JSON
def map_command(out: Path, size: int, flip_rate: float, files: tuple[Path, ...], as_json: bool) -> None:
    """Draw the ratio of variances over score alignment and success rate.

    Below the heavy line (L < R) pairing lowers the gradient's variance under grader flips, above it raises it.
    Probed checkpoints stand where their success rate and score alignment put them, filled with what was measured.
    """
    from study.figures import alignment_map
    from study.theory import alignment

    rates = (0.1, 0.3, 0.5, 0.7, 0.9)
    boundary = [{"success_rate": p, "alignment": alignment.boundary(size, p)} for p in rates]
    facts: dict[str, object] = {"group_size": size, "flip_rate": flip_rate, "boundary": boundary}
    points = []
    if files:
        from study.cli.probe_view import measured_points

        points = measured_points(files, size, flip_rate)
        facts["measured"] = [asdict(point) for point in points]
    shown = ", ".join(f"{alignment.boundary(size, p):.3f} at p = {p:g}" for p in rates)
    words = f"pairing helps below an alignment of {shown}"
    _write(
        out,
        lambda: alignment_map.draw(size, flip_rate, measured=points),
        "study.theory.map/1",
        facts,
        words,
        as_json=as_json,
    )


@command.command("siblings")
@_OUT
@click.option(
    "--index",
    type=click.IntRange(min=0),
    default=None,
    help="Which schedule; the first telling one unless given.",
)
@_JSON
def siblings_command(out: Path, index: int | None, as_json: bool) -> None:
    """Draw two siblings under a shared schedule and under one each, from the simulator's event keys."""
    from study.figures import siblings

    chosen = siblings.telling_index() if index is None else index
    shared, separate = siblings.panels(chosen)
    equal = sum(
        one.events[i].draw == two.events[j].draw
        for one, two in (shared, separate)
        for i, j in siblings.shared_keys(one, two)
    )
    facts: dict[str, object] = {
        "index": chosen,
        "common_keys": {
            "shared": len(siblings.shared_keys(*shared)),
            "separate": len(siblings.shared_keys(*separate)),
        },
        "equal_draws": equal,
    }
    words = f"schedule {chosen}: {equal} common keys met the same draw, all of them under the shared schedule"
    _write(out, lambda: siblings.draw(chosen), "study.theory.siblings/1", facts, words, as_json=as_json)


@command.command("doses")
@_OUT
@click.option("--flip-rate", default=0.1, show_default=True, help="Grader flips per success, q in (0, 1).")
@_JSON
def doses_command(out: Path, flip_rate: float, as_json: bool) -> None:
    """Draw what sharing a schedule among some siblings does, from balanced flips to full pairing."""
    from study.figures import couplings
    from study.theory.advantages import MeanCentred
    from study.theory.alignment import Policy

    found = {end: couplings.doses(Policy(8, 0.5, end), flip_rate, MeanCentred()) for end in (0.0, 1.0)}
    facts: dict[str, object] = {
        "flip_rate": flip_rate,
        "mean_centred": [
            {"design": one.name, "dose": one.dose, "orthogonal": one.relative, "aligned": two.relative}
            for one, two in zip(found[0.0], found[1.0], strict=True)
        ],
    }
    words = f"paired over separate: {found[0.0][-1].relative:.3f} orthogonal, {found[1.0][-1].relative:.3f} aligned"
    _write(out, lambda: couplings.draw(flip_rate), "study.theory.doses/1", facts, words, as_json=as_json)


def _write(
    out: Path, draw: Drawing, name: str, facts: dict[str, object], words: str, *, as_json: bool
) -> None:
    from prereg_kit.errors import UsageError, Where
    from prereg_kit.foundation.digest import readable_json, sha256_bytes
    from prereg_kit.foundation.durable import write_bytes
    from study.figures import canvas

    kind = canvas.file_format(out)
    if not out.parent.is_dir():
        raise UsageError(
            "the folder does not exist", where=Where(file=str(out.parent)), next_step="Create it first."
        )
    data = canvas.render(draw, kind)
    write_bytes(out, data)
    if as_json:
        value = {"format": name, "file": str(out), "sha256": sha256_bytes(data), **facts}
        click.echo(readable_json(value).decode(), nl=False)
        return
    click.echo(str(out))
    click.echo(words, err=True)

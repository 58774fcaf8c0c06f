"""`study probe`: what pairing does to the covariance of a checkpoint's gradient, measured without projection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.probe.spec import Coordinates, Kind

_JSON = click.option("--json", "as_json", is_flag=True, help="Print study.probe/1.")
_EVIDENCE = click.Path(path_type=Path, dir_okay=False)


@click.group("probe", invoke_without_command=True)
@click.option(
    "--run", "folder", type=click.Path(path_type=Path, file_okay=False), help="The run's folder, DIR."
)
@click.option("--checkpoint", help="Optimiser steps, `base` for the start, or `last`.")
@click.option(
    "--kind",
    type=click.Choice(("outcome", "transition")),
    help="outcome: grader flips on clean groups. transition: tool faults.",
)
@click.option("--tasks", type=click.IntRange(1), help="Tasks; default 64 (outcome) or 16 (transition).")
@click.option("--schedules", type=click.IntRange(1), help="Schedules a task under transition; default 8.")
@click.option(
    "--samples", default=8, show_default=True, type=click.IntRange(2, 64), help="G, rollouts a group."
)
@click.option("--flip-rate", default=0.1, show_default=True, help="q of the registered figures, in (0, 1).")
@click.option(
    "--coordinates",
    type=click.Choice(("trained", "every")),
    default="trained",
    show_default=True,
    help="Differentiate the adapters, or every parameter.",
)
@click.option("--trajectory", help="Label of the trajectory in the register, for instance A.")
@click.option("--no-checks", is_flag=True, help="Leave the cross-checks out; the evidence says so.")
@click.option(
    "--step-zero", type=click.Path(path_type=Path), help="Store of step-0 checkpoints; DIR/../step0."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the evidence; default: DIR/probe.",
)
@_JSON
@click.pass_context
def command(
    context: click.Context,
    folder: Path | None,
    checkpoint: str | None,
    kind: Kind | None,
    tasks: int | None,
    schedules: int | None,
    samples: int,
    flip_rate: float,
    coordinates: Coordinates,
    trajectory: str | None,
    no_checks: bool,
    step_zero: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure whether pairing shrinks the covariance of a checkpoint's gradient.

    Writes OUT/NAME.npz, the evidence from which every figure recomputes, and OUT/NAME.parquet, a prereg.probe/1
    register. A probe that was killed goes on where it stopped when the same command is given again.
    """
    if context.invoked_subcommand is not None:
        return
    import os

    from prereg_kit.errors import UsageError
    from study.probe.spec import spec_of
    from study.trained.checkpoint_policy import trained

    missing = [
        name
        for name, value in (("--run", folder), ("--checkpoint", checkpoint), ("--kind", kind))
        if value is None
    ]
    if missing or folder is None or checkpoint is None or kind is None:
        raise UsageError(
            f"{missing[0]} is missing",
            expected="--run DIR --checkpoint N|base --kind outcome|transition, or recompute, or register",
        )
    if "," in checkpoint:
        raise UsageError(
            "--checkpoint names one checkpoint", expected="a step, base or last", found=checkpoint
        )
    found = trained(f"{folder}@{'0' if checkpoint == 'base' else checkpoint}", step_zero)
    (chosen,) = found.checkpoints
    spec = spec_of(
        found,
        chosen,
        kind,
        tasks=tasks,
        schedules=schedules,
        samples=samples,
        flip_rate=flip_rate,
        coordinates=coordinates,
    )
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from study.cli.probe_view import Settings, show
    from study.cli.progress import Bar
    from study.probe.measure import measure
    from study.probe.register import write_beside

    with Bar("groups" if kind == "outcome" else "tasks") as bar:
        measured = measure(
            found,
            chosen,
            spec,
            (out or found.folder / "probe").resolve(),
            checked=not no_checks,
            first=lambda path, evidence: write_beside(path, evidence, trajectory),
            told=bar.update,
        )
    if measured.resumed:
        click.echo(f"went on after {measured.resumed} of {spec.tasks} units that were done before", err=True)
    show(measured.path, measured.evidence, Settings(), as_json=as_json)


@command.command("recompute")
@click.argument("file", metavar="EVIDENCE", type=_EVIDENCE)
@click.option("--flip-rate", type=float, help="q in (0, 1) of an outcome probe; default: the registered one.")
@click.option(
    "--eps", default=1e-4, show_default=True, help="Added to the standard deviation under SW; outcome."
)
@click.option(
    "--ddof", default=1, show_default=True, type=click.IntRange(0, 1), help="Of that deviation; outcome."
)
@click.option(
    "--groups",
    type=click.IntRange(2),
    help="Comparator groups drawn for each task; transition; default 4096.",
)
@click.option(
    "--false-rate", type=float, help="Add a grader that also passes this share of failures; outcome."
)
@_JSON
def recompute(
    file: Path,
    flip_rate: float | None,
    eps: float,
    ddof: int,
    groups: int | None,
    false_rate: float | None,
    as_json: bool,
) -> None:
    """Recompute every figure from evidence, without the model, at the registered or at other settings."""
    from study.cli.probe_view import Settings, show
    from study.probe.evidence import read

    show(file, read(file), Settings(flip_rate, eps, ddof, groups, false_rate), as_json=as_json)


@command.command("register")
@click.argument("files", metavar="EVIDENCE...", nargs=-1, required=True, type=_EVIDENCE)
@click.option(
    "--trajectory",
    "named",
    multiple=True,
    help="NAME=RUN_ID; repeatable. Every checkpoint of the run lies on it.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="A new folder.")
@_JSON
def register(files: tuple[Path, ...], named: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Join evidence of several checkpoints to one register with an index, as `prereg decide` takes it."""
    from prereg_kit.foundation.digest import readable_json, sha256_file
    from study.cli.probe_view import trajectories
    from study.probe.evidence import read
    from study.probe.register import write

    written = write(out, [read(file) for file in files], trajectories(named))
    if as_json:
        value = {
            "format": "study.probe/1",
            "registers": [{"path": str(path), "sha256": sha256_file(path)} for path in written],
        }
        click.echo(readable_json(value).decode(), nl=False)
        return
    for path in written:
        click.echo(str(path))

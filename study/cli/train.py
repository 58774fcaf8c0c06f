"""`study train`: one run of one arm, from the warm start to its registers."""

from __future__ import annotations

import os
from pathlib import Path

import click

from study.config.names import ARMS, CONDITION_NAMES

FORMAT = "study.train/1"


@click.command(name="train")
@click.option("--tier", required=True, help="smoke, cpu, full, or a tier file (.toml).")
@click.option("--condition", required=True, type=click.Choice(CONDITION_NAMES), help="The noise of training.")
@click.option("--arm", required=True, type=click.Choice(ARMS), help="Which rollouts share a schedule.")
@click.option("--block-size", type=click.IntRange(1), help="C of the arm blocks: rollouts that share one.")
@click.option("--scale-rewards", type=click.Choice(("group", "none")), default="group", show_default=True)
@click.option("--seed", required=True, type=click.IntRange(0), help="Equal seeds of two arms form a pair.")
@click.option("--steps", type=click.IntRange(1), help="Where to stop; default: the tier's last step.")
@click.option("--resume", is_flag=True, help="Continue from the last complete checkpoint in DIR.")
@click.option("--dry-run", is_flag=True, help="Resolve and examine everything; train nothing.")
@click.option("--exploratory", is_flag=True, help="Train without a frozen plan that binds the config.")
@click.option(
    "--plans", default=Path(), type=click.Path(path_type=Path), help="Where frozen/ lies; default: here."
)
@click.option("--study", default="paired-rollouts", show_default=True, help="The study's name in the index.")
@click.option(
    "--index", type=click.Path(path_type=Path, dir_okay=False), help="Also add the run to this index."
)
@click.option(
    "--step-zero", type=click.Path(path_type=Path), help="Store of step-0 checkpoints; DIR/../step0."
)
@click.option(
    "--write-config", type=click.Path(path_type=Path), help="Write the resolved config here and stop."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="The run's folder, DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print study.train/1.")
def command(
    tier: str,
    condition: str,
    arm: str,
    block_size: int | None,
    scale_rewards: str,
    seed: int,
    steps: int | None,
    resume: bool,
    dry_run: bool,
    exploratory: bool,
    plans: Path,
    study: str,
    index: Path | None,
    step_zero: Path | None,
    write_config: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Train one run of one arm and write its registers.

    DIR then holds run.json, checkpoints/, groups.parquet, episodes.parquet, runs.parquet and curves.png. The run
    needs a frozen plan that lists its config, or --exploratory.
    """
    from prereg_kit.errors import UsageError
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.durable import write_bytes
    from study.config.file import read_tier, resolve

    run = resolve(
        read_tier(tier),
        condition=condition,
        arm=arm,
        seed=seed,
        block_size=block_size,
        scale_rewards=scale_rewards,
    )
    last = run.tier.optimisation.steps
    stop = last if steps is None else steps
    if stop > last:
        raise UsageError("--steps lies beyond the tier's last step", expected=f"at most {last}", found=stop)
    if write_config is not None:
        write_bytes(write_config, run.canonical)
        click.echo(f"{run.digest}  {write_config}")
        return
    if dry_run:
        from study.cli.dry_run import report

        value = report(run)
        click.echo(readable_json(value).decode() if as_json else value["text"], nl=False)
        return
    if out is None:
        raise UsageError("--out is missing", expected="the run's folder")
    out = out.resolve()  # so that `.` has a name and a parent
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from study.cli.train_view import View
    from study.runs.provenance import bound_or_exploratory
    from study.training import preflight
    from study.training.run import Request, execute

    binding = bound_or_exploratory(run.digest, plans, exploratory=exploratory)
    preflight.require(run)
    request = Request(run, out, step_zero or out.parent / "step0", binding, study, stop, resume)
    with View(run, stop) as view:
        result = execute(request, view.tell, view.warm)
    from study.runs import record as run_record
    from study.training.curves import draw

    draw(out)
    listed = index is not None and run_record.add_to_index(out, index, result.record)
    if as_json:
        value = {
            "format": FORMAT,
            "run_id": run.run_id,
            "out": str(out),
            "status": result.status,
            "steps": result.done,
        }
        value |= {"config_digest": run.digest, "exploratory": binding is None, "indexed": listed}
        click.echo(readable_json(value).decode(), nl=False)
        return
    click.echo(f"{run.run_id}: {result.status} at step {result.done} of {last}; registers in {out}")

"""`study evaluate`: a policy on a pool, its episodes or groups as registers that `prereg decide` reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from study.cli.evaluation_options import Wanted

if TYPE_CHECKING:
    from study.evaluation.spec import EvaluationSpec
    from study.runs.rows import EpisodeRow, GroupRow
    from study.trained.checkpoint_policy import Trained

FORMAT = "study.evaluate/1"
POLICY = "naive, recovering, grounded, finish, or DIR@STEP[,STEP...] of a trained run (a number, 0, or last)."


@click.command(name="evaluate")
@click.option("--policy", required=True, help=POLICY)
@click.option(
    "--regime", "regimes", multiple=True, required=True, help="The noise; repeatable: all in one run."
)
@click.option("--pool", required=True, help="validation, test, train, diagnostic or reserve.")
@click.option("--tasks", type=click.IntRange(1), help="Tasks from the pool's start; default: all.")
@click.option(
    "--schedules",
    type=click.IntRange(1),
    help="K, schedules (or groups) per task; default 4. The challenge plays 1.",
)
@click.option(
    "--seed", type=click.IntRange(0), help="s: schedules sK to sK+K-1; default 0. Not with DIR@STEP."
)
@click.option("--arm", help="Register value; default: the policy. With groups: paired or independent.")
@click.option("--condition", help="Register value; default: scripted.")
@click.option("--profile", help="World and language: natural (default), compact or drill.")
@click.option(
    "--step-zero", type=click.Path(path_type=Path), help="Of DIR@STEP: its step-0 store; DIR/../step0."
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes.")
@click.option("--group-size", default=0, type=click.IntRange(0), help="G: play groups, write groups.parquet.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of runs.parquet."
)
@click.option("--study", help="The study's name in runs.parquet; default: scripted-agents, or the run's.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The plan that this run is for.",
)
@click.option("--plan-digest", help="Its SHA-256 instead of the file.")
@click.option("--json", "as_json", is_flag=True, help="Print study.evaluate/1.")
def command(
    *,
    policy: str,
    step_zero: Path | None,
    workers: int,
    out: Path,
    study: str | None,
    plan: Path | None,
    plan_digest: str | None,
    as_json: bool,
    **wanted: Unpack[Wanted],
) -> None:
    """Play a policy on a task pool and write registers.

    Equal arguments give equal rows, byte for byte, whatever the number of processes; seeds choose schedules, and
    all arms share them. Checkpoints of a trained run keep its condition, arm, seed and world, and play the episodes
    that its own evaluation at that step plays.
    """
    from prereg_kit.errors import UsageError
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.visible import terminal_line
    from study.cli.evaluation_options import plan_of, spec_of
    from study.evaluation.summary import summary
    from study.evaluation.written import digest_of_plan, place_for, write_run
    from study.runs.provenance import code, now
    from study.trained.checkpoint_policy import names_trained, trained

    found = trained(policy, step_zero) if names_trained(policy) else None
    if found is None and step_zero is not None:
        raise UsageError("--step-zero goes with DIR@STEP alone", found=policy)
    spec = spec_of(policy, found, wanted)
    digest = digest_of_plan(plan, plan_digest)
    if found is not None:
        digest = plan_of(found, digest)
    place_for(out, spec)
    started_at = now()
    rows = _rows(spec, found, workers)
    run = write_run(
        out,
        spec,
        rows,
        study=study or ("scripted-agents" if found is None else found.study),
        plan_digest=digest,
        started_at=started_at,
        finished_at=now(),
        code_commit=code()["commit"],
    )
    path = out / run.registers[0].path
    click.echo(terminal_line(f"wrote {path} and its row in {out / 'runs.parquet'}"), err=True)
    value = {"format": FORMAT, "run_id": run.run_id, "rows": str(path), "summary": summary(spec, rows)}
    if as_json:
        click.echo(readable_json(value).decode(), nl=False)
    else:
        _print(run.run_id, value["summary"])


def _rows(
    spec: EvaluationSpec, found: Trained | None, workers: int
) -> Sequence[EpisodeRow] | Sequence[GroupRow]:
    from study.cli.progress import Bar

    with Bar("groups" if spec.group_size else "episodes") as bar:
        if found is not None:
            from study.trained.evaluate import evaluate as evaluate_trained

            return evaluate_trained(found, spec, workers=workers, progress=bar.update)
        from study.evaluation.evaluate import evaluate
        from study.evaluation.groups import play_groups

        return (play_groups if spec.group_size else evaluate)(spec, workers=workers, progress=bar.update)


def _print(run_id: str, table: Any) -> None:  # noqa: ANN401 - rows of plain values
    click.echo(run_id)
    for row in table:
        words = (
            f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
            for key, value in row.items()
        )
        click.echo("  " + "  ".join(words))

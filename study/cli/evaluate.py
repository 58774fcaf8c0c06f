"""`study evaluate`: a scripted policy on a pool, its episodes or groups as registers that `prereg decide` reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from study.records import EpisodeRow, GroupRow

FORMAT = "study.evaluate/1"


@click.command(name="evaluate")
@click.option("--policy", required=True, help="naive, recovering, grounded or finish.")
@click.option(
    "--regime", "regimes", multiple=True, required=True, help="The noise; repeatable: all in one run."
)
@click.option("--pool", required=True, help="validation, test, train or diagnostic.")
@click.option("--tasks", type=click.IntRange(1), help="Tasks from the pool's start; default: all.")
@click.option(
    "--schedules", type=click.IntRange(1), help="K, schedules (or groups) a task; default 4, challenge 1."
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="s: schedules sK to sK+K-1."
)
@click.option("--arm", help="Register value; default: the policy. With groups: paired or independent.")
@click.option("--condition", default="scripted", show_default=True, help="Register value.")
@click.option(
    "--profile", default="natural", show_default=True, help="World and language: natural or compact."
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes.")
@click.option("--group-size", default=0, type=click.IntRange(0), help="G: play groups, write groups.parquet.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of runs.parquet."
)
@click.option(
    "--study", default="scripted-agents", show_default=True, help="The study's name in runs.parquet."
)
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
    regimes: tuple[str, ...],
    pool: str,
    tasks: int | None,
    schedules: int | None,
    seed: int,
    arm: str | None,
    condition: str,
    profile: str,
    workers: int,
    group_size: int,
    out: Path,
    study: str,
    plan: Path | None,
    plan_digest: str | None,
    as_json: bool,
) -> None:
    """Play a scripted policy on a task pool and write registers.

    Equal arguments give equal rows, byte for byte, whatever the number of processes; seeds choose schedules, and
    all arms share them.
    """
    from prereg_kit.digest import readable_json
    from study.backoffice.pools import POOL_SIZES
    from study.cli.progress import Bar
    from study.evaluation.evaluate import evaluate
    from study.evaluation.groups import play_groups
    from study.evaluation.spec import EvaluationSpec
    from study.evaluation.summary import summary
    from study.evaluation.written import digest_of_plan, place_for, write_run
    from study.provenance import code, now

    spec = EvaluationSpec(
        policy,
        profile,
        pool,
        regimes,
        tasks or POOL_SIZES.get(pool, 0),
        schedules or (1 if regimes == ("challenge",) else 4),
        seed,
        arm or policy,
        condition,
        group_size,
    )
    digest = digest_of_plan(plan, plan_digest)
    path = place_for(out, spec)
    started_at = now()
    rows: Sequence[EpisodeRow] | Sequence[GroupRow]
    with Bar("groups" if group_size else "episodes") as bar:
        rows = (play_groups if group_size else evaluate)(spec, workers=workers, progress=bar.update)
    run = write_run(
        path,
        out,
        spec,
        rows,
        study=study,
        plan_digest=digest,
        started_at=started_at,
        finished_at=now(),
        code_commit=code()["commit"],
    )
    click.echo(f"wrote {path} and its row in {out / 'runs.parquet'}", err=True)
    value = {"format": FORMAT, "run_id": run.run_id, "rows": str(path), "summary": summary(spec, rows)}
    if as_json:
        click.echo(readable_json(value).decode(), nl=False)
    else:
        _print(run.run_id, value["summary"])


def _print(run_id: str, table: Any) -> None:  # noqa: ANN401 - rows of plain values
    click.echo(run_id)
    for row in table:
        words = (
            f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
            for key, value in row.items()
        )
        click.echo("  " + "  ".join(words))

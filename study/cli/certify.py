"""`study certify`: which (task, schedule) pairs of a pool can be solved, proved by a witness each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.evaluation.certificates import Certified, Share

FORMAT = "study.certify/1"


@click.command(name="certify")
@click.option("--pool", required=True, help="validation, test, train, diagnostic or reserve.")
@click.option("--regime", "regimes", multiple=True, required=True, help="The noise; repeatable.")
@click.option("--schedules", default=4, show_default=True, type=click.IntRange(1), help="K, per task.")
@click.option("--tasks", type=click.IntRange(1), help="Tasks from the pool's start; default: all.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="s: schedules sK to sK+K-1."
)
@click.option("--profile", default="natural", show_default=True, help="World and language.")
@click.option("--json", "as_json", is_flag=True, help="Print study.certify/1: every pair with its witness.")
def command(
    *,
    pool: str,
    regimes: tuple[str, ...],
    schedules: int,
    tasks: int | None,
    seed: int,
    profile: str,
    as_json: bool,
) -> None:
    """Certify which tasks each schedule leaves solvable.

    For an agent that knows every id: whether some call sequence within the budget reaches the expected end state,
    the least number of calls, why there is none, and a sequence that was replayed. The pairs are those that
    `study evaluate` plays with the same pool, regimes, schedules and seed.
    """
    from prereg_kit.foundation.digest import readable_json
    from study.backoffice.pools import POOL_SIZES
    from study.evaluation.certificates import certify_pool, shares
    from study.evaluation.spec import EvaluationSpec

    if regimes == ("challenge",):
        schedules = 1
    spec = EvaluationSpec(
        "recovering", profile, pool, regimes, tasks or POOL_SIZES.get(pool, 0), schedules, seed, "any", "any"
    )
    certified = certify_pool(spec)
    rows = shares(regimes, certified)
    if as_json:
        value = {
            "format": FORMAT,
            "profile": profile,
            "pool": pool,
            "summary": [_row(row) for row in rows],
            "certificates": [_certificate(one) for one in certified],
        }
        click.echo(readable_json(value).decode(), nl=False)
        return
    for row in rows:
        calls = "-" if row.mean_calls is None else f"{row.mean_calls:.2f}"
        click.echo(
            f"{row.regime}: {row.solvable} of {row.pairs} solvable ({row.solvable / row.pairs:.3f}), "
            f"{row.outage} stopped by an outage, {row.budget} over budget; least calls {calls} on average"
        )
    unsolvable = [one for one in certified if not one.certificate.solvable]
    for one in unsolvable[:10]:
        found = one.certificate
        why = (
            f"outage on {', '.join(found.blocked)}"
            if found.reason == "outage"
            else f"needs {found.least_calls or 'endless'} calls, budget {found.budget}"
        )
        click.echo(f"  {found.task_id}, {one.regime}, schedule {one.schedule}: {why}")
    if len(unsolvable) > 10:
        click.echo(f"  and {len(unsolvable) - 10} more; --json has all of them")


def _row(row: Share) -> dict[str, object]:
    return {
        "regime": row.regime,
        "pairs": row.pairs,
        "solvable": row.solvable,
        "outage": row.outage,
        "budget": row.budget,
        "mean_least_calls": row.mean_calls,
    }


def _certificate(one: Certified) -> dict[str, object]:
    found = one.certificate
    return {
        "task": found.task_id,
        "regime": one.regime,
        "schedule": one.schedule,
        "schedule_seed": found.schedule_seed,
        "solvable": found.solvable,
        "least_calls": found.least_calls,
        "budget": found.budget,
        "reason": found.reason,
        "blocked": list(found.blocked),
        "witness": [{"tool": call.name, "arguments": call.arguments} for call in found.witness],
    }

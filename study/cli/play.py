"""`study play`: one episode, call by call, so that a person can say why it ended as it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.policies.policy import Policy


@click.command(name="play")
@click.option("--pool", required=True, help="train, validation, test, diagnostic or reserve.")
@click.option("--task", required=True, help="A task's id, or its position in the pool.")
@click.option("--regime", default="clean", show_default=True, help="The noise, for instance faults_p25.")
@click.option(
    "--policy",
    default="recovering",
    show_default=True,
    help="naive, recovering, grounded, finish, or DIR@STEP of a trained run (a number, 0, or last).",
)
@click.option(
    "--step-zero",
    type=click.Path(path_type=Path),
    help="Of DIR@STEP: its step-0 store; DIR/../step0.",
)
@click.option(
    "--schedule", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1), help="Schedule index."
)
@click.option("--profile", help="World and language: natural (default), compact or drill. Not with DIR@STEP.")
@click.option(
    "--calls",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Replay the calls of this episode (from --json) instead of a policy's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print study.play/1.")
def command(
    *,
    pool: str,
    task: str,
    regime: str,
    policy: str,
    step_zero: Path | None,
    schedule: int,
    profile: str | None,
    calls: Path | None,
    as_json: bool,
) -> None:
    """Play one episode and show everything that happened in it.

    A checkpoint plays the episode that its evaluation at that step recorded under the same pool, task, regime and
    schedule index. With --calls the calls are fixed and the noise is chosen: what would have come of them under
    another schedule or regime.
    """
    from prereg_kit.foundation.digest import readable_json
    from study.backoffice.pools import load_pool
    from study.backoffice.profiles import profile_named
    from study.backoffice.regimes import regime_named
    from study.backoffice.schedule import evaluation_seed
    from study.cli.play_view import show_transcript
    from study.errors import ConfigError
    from study.evaluation.recorded import Replay, read_episode
    from study.evaluation.transcript import transcribe
    from study.evaluation.transcript_value import as_value

    law = regime_named(regime)
    if calls is not None:
        recorded = read_episode(calls)
        player: Policy = Replay(recorded)
        world = profile or recorded.profile
    else:
        player, world = _player(policy, step_zero, regime, profile)
    tasks = load_pool(profile_named(world), pool).tasks
    found = next((row for row in tasks if task in (row.task_id, str(row.index))), None)
    if found is None:
        raise ConfigError(
            f"no such task in pool {pool}", expected=f"{tasks[0].task_id} to {tasks[-1].task_id}", found=task
        )
    seed = evaluation_seed(pool, found.task_id, schedule)
    transcript = transcribe(player, found, law, schedule, seed)
    if as_json:
        click.echo(readable_json(as_value(transcript)).decode(), nl=False)
    else:
        show_transcript(transcript)


def _player(policy: str, store: Path | None, regime: str, profile: str | None) -> tuple[Policy, str]:
    """The policy of a name, and the profile of the world that it plays in."""
    from prereg_kit.errors import UsageError
    from study.policies.scripted import scripted_policy
    from study.trained.checkpoint_policy import names_trained, trained

    if not names_trained(policy):
        return scripted_policy(policy), profile or "natural"
    if profile is not None:
        raise UsageError("--profile does not go with a trained run, which has its own", found=profile)
    found = trained(policy, store)
    if len(found.checkpoints) != 1:
        raise UsageError("one episode is played by one checkpoint", expected="DIR@STEP", found=policy)
    from study.trained.language_model import load

    return load(found, found.checkpoints[0], regime), found.run.tier.world.profile

"""`study play`: one episode, call by call, so that a person can say why it ended as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.evaluation.transcript import Line, Transcript


@click.command(name="play")
@click.option("--pool", required=True, help="train, validation, test or diagnostic.")
@click.option("--task", required=True, help="A task's id, or its position in the pool.")
@click.option("--regime", default="clean", show_default=True, help="The noise, for instance faults_p25.")
@click.option(
    "--policy", default="recovering", show_default=True, help="naive, recovering, grounded or finish."
)
@click.option(
    "--schedule", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1), help="Schedule index."
)
@click.option(
    "--profile", default="natural", show_default=True, help="World and language: natural or compact."
)
@click.option("--json", "as_json", is_flag=True, help="Print study.play/1.")
def command(
    *, pool: str, task: str, regime: str, policy: str, schedule: int, profile: str, as_json: bool
) -> None:
    """Play one episode of a scripted policy and show everything that happened in it."""
    from prereg_kit.digest import readable_json
    from study.backoffice.pools import load_pool
    from study.backoffice.profiles import profile_named
    from study.backoffice.regimes import regime_named
    from study.backoffice.schedule import evaluation_seed
    from study.errors import ConfigError
    from study.evaluation.transcript import transcribe
    from study.evaluation.transcript_value import as_value
    from study.policies.scripted import scripted_policy

    player, law = scripted_policy(policy), regime_named(regime)
    tasks = load_pool(profile_named(profile), pool).tasks
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
        _print(transcript)


def _print(transcript: Transcript) -> None:
    from study.backoffice.tasks import BUDGET_CAP
    from study.evaluation.transcript import show

    task, outcome, episode = transcript.task, transcript.outcome, transcript.episode
    click.echo(
        _bold(f"{task.task_id}  {transcript.policy}  {transcript.law.name}  schedule {transcript.schedule}")
    )
    click.echo(f"Request: {task.request}")
    click.echo(f"Budget: {task.budget} calls = 7 + 2 x {task.writes} planned writes, at most {BUDGET_CAP}")
    click.echo(
        "Each call: number, clock, calls left, the call; below it the reply and the fault, if one was drawn.\n"
    )
    for line in transcript.lines:
        _print_line(line)
    click.echo(_bold("\nWhat changed in the world"))
    for change in transcript.world_changes or ("nothing",):
        click.echo(f"  {change}")
    verdict = "success" if outcome.true_success else "failure"
    click.echo(
        _bold("\nGrade: ") + click.style(verdict, fg="green" if outcome.true_success else "red", bold=True),
        nl=False,
    )
    click.echo(
        f"   reported reward {outcome.observed_reward}"
        + (" (grader's flip drawn)" if outcome.flipped else "")
    )
    for row in outcome.differences:
        click.echo(
            f"  {row.row} {row.field}: expected {show(row.field, row.expected)}, found {show(row.field, row.found)}"
        )
    counts = transcript.counts
    click.echo(
        f"  ended by {episode.ended_by}; {episode.calls} of {task.budget} calls; clock {episode.clock} s; faults: "
        f"{counts.drawn} drawn, {counts.effective} effective, {counts.recovered} recovered"
    )
    if transcript.reasons:
        click.echo(_bold("\nWhy"))
    for reason in transcript.reasons:
        click.echo(f"  {reason}")


def _bold(text: str) -> str:
    return click.style(text, bold=True)


def _print_line(line: Line) -> None:
    import json

    record = line.record
    arguments = (
        json.dumps(dict(line.arguments), ensure_ascii=False) if line.arguments is not None else "(unreadable)"
    )
    number = f"{record.number:2d}" if record and line.tool != "finish" else " -"
    clock = f"{record.clock if record else '-':>3} s {line.remaining:2d} left"
    click.echo(f"{number}  {click.style(clock, dim=True)}  {line.tool} {arguments}")
    text = line.text if len(line.text) <= 400 else line.text[:400] + "..."
    failed = record is None or record.status != "ok"
    click.echo(f"{'':17}" + click.style(text, fg="yellow" if failed else None))
    if record and record.drawn:
        effect = "" if record.effective else ", without effect"
        click.echo(f"{'':17}" + click.style(f"fault: {record.drawn}{effect}", fg="magenta", bold=True))

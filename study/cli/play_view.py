"""What `study play` prints: an episode call by call, what changed, the grade and the reasons."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.evaluation.transcript import Line, Transcript


def show_transcript(transcript: Transcript) -> None:
    """Print an episode."""
    from study.backoffice.tasks import BUDGET_CAP
    from study.evaluation.explain import show

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

"""`study compare`: two episodes of one task side by side, in the terminal or as a page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.evaluation.comparison import Comparison, Row
    from study.evaluation.recorded import RecordedCall, RecordedEpisode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="compare")
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@click.option("--html", type=_FILE, help="Write one self-contained page here; never overwritten.")
@click.option("--json", "as_json", is_flag=True, help="Print study.compare/1.")
def command(a: Path, b: Path, html: Path | None, as_json: bool) -> None:
    """Put two episodes of one task side by side.

    A and B are files that `study play --json` wrote. Calls with equal event keys stand in one line, so that it shows
    where two agents met the same chance and what they made of it. The alignment score is the share of the events
    that both met in which both drew the same.
    """
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.foundation.durable import write_bytes
    from study.evaluation.comparison import as_value, compare
    from study.evaluation.comparison_page import page
    from study.evaluation.recorded import read_episode

    found = compare(read_episode(a), read_episode(b))
    if html is not None:
        write_bytes(html, page(found).encode())
        click.echo(f"wrote {html}", err=True)
    if as_json:
        click.echo(readable_json(as_value(found)).decode(), nl=False)
    elif html is None:
        _print(found)


def _print(found: Comparison) -> None:
    from prereg_kit.foundation.visible import terminal_line

    width = max(28, (shutil.get_terminal_size((120, 24)).columns - 7) // 2)

    def two(left: str, right: str, mark: str = " ") -> None:
        sides = [wrap(terminal_line(text), width, subsequent_indent="     ") for text in (left, right)]
        for number, (ours, theirs) in enumerate(zip_longest(*sides, fillvalue="")):
            click.echo(f"{ours:<{width}} {' ' if number else mark} {theirs}".rstrip())

    one, other = found.left, found.right
    click.echo(terminal_line(f"{one.task}: {one.request}"))
    two(_title(one), _title(other))
    click.echo()
    for index, row in enumerate(found.rows):
        if index == found.first:
            click.echo("-- first divergence " + "-" * max(0, 2 * width - 17))
        _row(row, two)
    click.echo()
    nothing = ("nothing changed",)
    for left, right in zip_longest(
        one.world_changes or nothing, other.world_changes or nothing, fillvalue=""
    ):
        two(left, right)
    two(_verdict(one), _verdict(other))
    for left, right in zip_longest(one.reasons, other.reasons, fillvalue=""):
        two(left, right)
    score = "no event was met by both" if found.score is None else f"alignment {found.score:.3f}"
    click.echo(f"\n{score}: {found.agreeing} of {found.shared} shared events drew the same")


def _row(row: Row, two: Callable[..., None]) -> None:
    mark = "=" if row.left and row.right and not row.diverges else "|" if row.left and row.right else " "
    two(_call(row.left), _call(row.right), mark)
    details = _detail(row.left), _detail(row.right)
    if any(details):
        two(*details)
    if row.elsewhere is not None:
        note = f"     same event as the other's call {row.elsewhere}"
        two(note if row.left else "", note if row.right else "")


def _call(call: RecordedCall | None) -> str:
    if call is None:
        return ""
    number = " -" if call.number is None or call.tool == "finish" else f"{call.number:2d}"
    arguments = "(unreadable)" if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    return f"{number} {call.tool} {arguments}"


def _detail(call: RecordedCall | None) -> str:
    if call is None or (call.drawn is None and call.status == "ok"):
        return ""
    fault = (
        "" if call.drawn is None else f", fault {call.drawn}" + ("" if call.effective else " without effect")
    )
    return f"     {call.status}{fault}"


def _title(one: RecordedEpisode) -> str:
    return f"{one.policy}, {one.regime}, schedule {one.schedule}"


def _verdict(one: RecordedEpisode) -> str:
    grade = "success" if one.true_success else "failure"
    return f"{grade}, {one.calls_counted} of {one.budget} calls, ended by {one.ended_by or 'nothing'}"

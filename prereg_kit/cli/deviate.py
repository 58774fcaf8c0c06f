"""`prereg deviate`, `prereg disclose`, `prereg withdraw`: entries of the append-only log beside a frozen plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from prereg_kit.evidence.deviations import Entry

_OCCASIONS = ("error-in-plan", "unforeseen-event", "not-feasible", "new-information", "other")
_TIMINGS = ("before-data", "during-data", "data-not-seen", "data-seen")
_EFFECTS = ("lower", "unchanged", "higher", "unknown")


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the entry as JSON."),
        click.option("--id", "id", default="", help="The entry's id; default: the next free one."),
        click.option(
            "--author", "authors", multiple=True, help="Who writes this; may be given several times."
        ),
        click.argument("plan", type=click.Path(path_type=Path, exists=True, file_okay=False)),
    ):
        function = option(function)
    return function


def _write(plan: Path, fields: dict[str, object], *, as_json: bool) -> int:
    """Append an entry to the log of a frozen plan, after its bytes were checked, and say where it stands."""
    from prereg_kit.evidence import archive, deviations
    from prereg_kit.foundation.digest import canonical_json
    from prereg_kit.foundation.visible import terminal_line

    frozen = archive.load_frozen(plan)
    now = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    entry: Entry = deviations.append(plan, frozen.digest, {"written_at": now, **fields})
    if as_json:
        click.echo(canonical_json(entry.model_dump(mode="json")).decode(), nl=False)
    else:
        click.echo(
            terminal_line(f"{deviations.log_path(plan)}: entry {entry.number}, {entry.kind} {entry.id}")
        )
        click.echo("commit the file: git is the witness against entries that are cut off later", err=True)
    return 0


@click.command()
@_shared
@click.option(
    "--subject", "subjects", multiple=True, required=True, help="Hypothesis, endpoint or run touched."
)
@click.option("--occasion", required=True, type=click.Choice(_OCCASIONS), help="What led to it.")
@click.option("--planned", required=True, help="The plan's own wording.")
@click.option("--done", required=True, help="What was done instead.")
@click.option("--reason", required=True, help="Why.")
@click.option("--timing", required=True, type=click.Choice(_TIMINGS), help="When, relative to the data.")
@click.option(
    "--severity", required=True, type=click.Choice(_EFFECTS), help="Effect on how severe the test is."
)
@click.option("--validity", required=True, type=click.Choice(_EFFECTS), help="Effect on its validity.")
def command(plan: Path, *, authors: tuple[str, ...], id: str, as_json: bool, **fields: Any) -> int:  # noqa: ANN401
    """Enter a deviation from the frozen PLAN (its folder) in the log beside it.

    The log is append-only: each entry names the digest of the one before it. A deviation changes no rule; for that,
    there is `prereg amend`.
    """
    return _write(plan, {"kind": "deviation", "id": id, "authors": authors, **fields}, as_json=as_json)


@click.command()
@_shared
@click.option("--who", required=True, help="Who saw the data.")
@click.option("--saw", required=True, help="What was seen.")
@click.option(
    "--at", "seen_at", required=True, metavar="TIME", help="When it was seen: a date, or RFC 3339 with Z."
)
@click.option(
    "--run", "runs", multiple=True, help="A run whose results were seen; may be given several times."
)
def disclose(plan: Path, *, authors: tuple[str, ...], id: str, as_json: bool, **fields: Any) -> int:  # noqa: ANN401
    """Enter in the log of the frozen PLAN that somebody saw data.

    Amendments after that time cannot claim that no results had been seen.
    """
    return _write(plan, {"kind": "disclosure", "id": id, "authors": authors, **fields}, as_json=as_json)


@click.command()
@_shared
@click.option("--of", required=True, help="The id of an entry, or `plan` for the whole study.")
@click.option("--reason", required=True, help="Why.")
def withdraw(plan: Path, *, authors: tuple[str, ...], id: str, as_json: bool, **fields: Any) -> int:  # noqa: ANN401
    """Take back an entry of the log of the frozen PLAN, or the whole study.

    Nothing is deleted: the withdrawal stands in the log beside what it takes back.
    """
    return _write(plan, {"kind": "withdrawal", "id": id, "authors": authors, **fields}, as_json=as_json)

"""`prereg amend`: an amendment checked against the plan in force, then frozen and stamped under amendments/."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from prereg_kit.cli.stamping import BANNER, Asking, outcome, report, say, show, stamping_options

_DRAFT = """\
format: prereg.amendment/1
id: {id}
plan: {plan}
amends: {parent}   # {what}
reason: <why the plan has to change>
# What was known when this was written: nothing_run, no_results_seen, results_not_opened or results_seen.
known: nothing_run
known_detail: <what exactly had been run and seen>
changes:
  # op: add, replace or remove; field: a path with slashes into the plan
  - op: replace
    field: hypotheses/H1/statement
    value: <the new text>
"""


@click.command(name="amend")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path), required=False)
@click.option(
    "--draft", metavar="PLAN", type=click.Path(path_type=Path), help="Print a draft for this frozen plan."
)
@click.option("--root", type=click.Path(path_type=Path), help="The repository with frozen/ and amendments/.")
@click.option(
    "--quorum", type=click.IntRange(1, 16), default=2, show_default=True, help="Operators that must agree."
)
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(
    file: Path | None, *, draft: Path | None, root: Path | None, quorum: int, as_json: bool, asking: Asking
) -> None:
    """Freeze and stamp the amendment in FILE as amendments/PLAN-ID/.

    It must name the digest of what it amends (the plan, or the amendment before it) and every change must apply;
    otherwise nothing is written. Nothing frozen is ever overwritten.
    """
    from prereg_kit.errors import UsageError
    from prereg_kit.evidence import archive
    from prereg_kit.foundation.digest import readable_json
    from prereg_kit.operations import amend as amending

    if (file is None) == (draft is None):
        raise UsageError(
            "either FILE or --draft PLAN", next_step="`prereg amend --draft frozen/ID > A1.yaml`"
        )
    if draft is not None:
        plan_id, number, parent, what = amending.next_parent(draft, root)
        click.echo(_DRAFT.format(id=f"A{number}", plan=plan_id, parent=parent, what=what), nl=False)
        return
    assert file is not None
    prepared = amending.prepare(file, root)
    stamper = asking.stamper()
    frozen = archive.freeze(
        prepared.data, file.name, prepared.target, stamper, kind="amendment", quorum=quorum
    )
    code = 0
    if frozen.existed:
        say(f"{prepared.target}: already frozen, with the same bytes")
    elif stamper is None:
        say(f"NOT STAMPED: nobody outside vouches for the time; `prereg stamp {prepared.target} --tsa NAME`")
    else:
        code, text = outcome(frozen.stamps, quorum)
        say(text)
    if any(stamp.demo for stamp in frozen.document.record.stamps):
        say(BANNER)
    for line in prepared.changes:
        say(f"  {line}")
    if as_json:
        made = {"format": "prereg.amend/1", **report(frozen), "changes": list(prepared.changes)}
        click.echo(readable_json(made).decode(), nl=False)
    else:
        show(frozen)
    sys.exit(code)

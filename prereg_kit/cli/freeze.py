"""`prereg freeze`: exact bytes into frozen/<id>/, with the stamps of the authorities that were asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import BinaryIO

import click

from prereg_kit.cli.stamping import BANNER, Asking, outcome, report, say, show, stamping_options
from prereg_kit.errors import ArchiveError, PlanError, PreregError, UsageError, Where
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.intake import Taken, git_warnings, take

_QUORUM = 2


def _plan(taken: Taken) -> tuple[str | None, archive.Kind, int]:
    """The id, kind and quorum that a plan brings; no id, and two operators, for any other document.

    A `prereg.plan/1` file is read strictly, so that what is frozen can be decided later.
    """
    if not any(mark in taken.data[:65536] for mark in (b"prereg.plan/", b"prereg.amendment/")):
        return None, "document", _QUORUM
    from prereg_kit.plan.file import declared_format, read_plan

    declared = declared_format(taken.data) or ""
    if declared.startswith("prereg.amendment/"):
        raise UsageError(
            "an amendment names its parent and has its own place",
            where=Where(file=str(taken.path)),
            next_step=f"Use `prereg amend {taken.path}`.",
        )
    if not declared.startswith("prereg.plan/"):
        return None, "document", _QUORUM
    plan = read_plan(taken.data, str(taken.path))
    return plan.id, "plan", plan.timestamps.quorum


def _checked(taken: Taken) -> dict[str, bytes]:
    """check.json for a plan whose rules can be decided.

    Raises:
        PlanError: a finding; the first is named, all are said.
    """
    from prereg_kit.api import load_plan
    from prereg_kit.design import plan_check
    from prereg_kit.foundation.digest import readable_json

    say(f"checking the rules of {taken.name}")
    report = plan_check.check(load_plan(taken.data).effective)
    for finding in report.findings:
        say(f"  {finding.code}: {finding.hypothesis or 'plan'}: {finding.message}")
    if not report.ok:
        raise PlanError(
            f"{len(report.findings)} finding(s) stand against the freeze, the first: {report.findings[0].message}",
            where=Where(file=str(taken.path), field=_field(report.findings[0].hypothesis)),
            next_step=f"`prereg check {taken.path}` shows them all; nothing was frozen.",
            code="check",
        )
    return {"check.json": readable_json(report.to_json())}


def _field(hypothesis: str | None) -> str | None:
    return None if hypothesis is None else f"hypotheses.{hypothesis}"


def _one(
    taken: Taken, id: str | None, root: str, quorum: int | None, stamper: archive.Stamper | None
) -> tuple[archive.Frozen, int]:
    plan_id, kind, wanted = _plan(taken)
    quorum = wanted if quorum is None else quorum
    name = id or plan_id or taken.path.stem
    if id and plan_id and id != plan_id:
        raise UsageError("--id differs from the plan's own id", expected=plan_id, found=id)
    target = Path(root) / "frozen" / archive.check_id(name, taken.name)
    for note in (*taken.notes, *git_warnings(taken, target)):
        say(f"note: {note}")
    attachments = _checked(taken) if kind == "plan" and not target.exists() else {}
    frozen = archive.freeze(
        taken.data, taken.name, target, stamper, kind=kind, quorum=quorum, attachments=attachments
    )
    code = 0
    if frozen.existed:
        say(f"{target}: already frozen, with the same bytes; `prereg stamp {target}` adds stamps")
    elif stamper is None:
        say(
            f"NOT STAMPED: nobody outside vouches for the time. `prereg stamp {target} --tsa NAME` asks somebody."
        )
    else:
        code, text = outcome(frozen.stamps, quorum)
        say(text)
    if any(stamp.demo for stamp in frozen.document.record.stamps):
        say(BANNER)
    return frozen, code


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--id", "id", help="Name of the frozen folder (one FILE); default: the plan's id, or the file's stem."
)
@click.option("--root", default=".", metavar="DIR", help="The project; frozen/ is made below it.")
@click.option(
    "--quorum", type=click.IntRange(1, 16), help="Operators that must agree; default: the plan's, or 2."
)
@click.option(
    "--offline", is_flag=True, help="Prepare the queries only; `stamp --response` brings the answers."
)
@click.option("--query", type=click.File("rb"), help="Send this prepared query instead of a fresh one.")
@stamping_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
def command(
    files: tuple[str, ...],
    *,
    id: str | None,
    root: str,
    quorum: int | None,
    offline: bool,
    query: BinaryIO | None,
    as_json: bool,
    asking: Asking,
) -> None:
    """Freeze documents byte for byte and have them timestamped.

    Any document can be frozen; a prereg.plan/1 file is checked as well. Without --tsa or --demo-tsa the bytes
    are frozen and not stamped. Nothing frozen is ever overwritten.
    """
    if len(files) > 1 and id:
        raise UsageError("--id names one document", found=list(files))
    stamper = asking.stamper(offline=offline, query=query.read() if query else None)
    results, codes, problems = [], [], []
    for file in files:
        try:
            frozen, code = _one(take(file), id, root, quorum, stamper)
            results.append(frozen)
            codes.append(code)
        except OSError as error:
            raise ArchiveError(
                "the disk refused; nothing was frozen", found=str(error), code="disk"
            ) from error
        except PreregError as error:
            if len(files) == 1:
                raise
            say(f"prereg: {error}")
            problems.append({"file": file, "problem": str(error), "code": error.code})
            codes.append(error.exit_code)
    if as_json:
        value = {
            "format": "prereg.freeze-report/1",
            "documents": [report(f) for f in results],
            "refused": problems,
        }
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        for frozen in results:
            show(frozen)
    sys.exit(1 if 1 in codes else max(codes))

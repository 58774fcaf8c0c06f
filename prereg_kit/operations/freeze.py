"""Freeze a document byte for byte, and have it timestamped: what `prereg freeze` does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from prereg_kit.errors import PlanError, UsageError, Where
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.intake import Taken, git_warnings, take
from prereg_kit.evidence.archive.record import PendingRecord, StampRecord
from prereg_kit.evidence.frozen_plans import kind_of
from prereg_kit.foundation.text_bytes import wide_encoding
from prereg_kit.operations.authorities import DEMO_BANNER, Authorities, Round, Say, silent

DEFAULT_QUORUM = 2
NOBODY = Authorities()
_MARKS = ("prereg.plan/", "prereg.amendment/")


class FrozenReport(BaseModel):
    """One frozen document as `--json` prints it."""

    model_config = ConfigDict(frozen=True)

    id: str
    folder: str
    document: str
    sha256: str
    existed: bool
    quorum: int
    stamps: tuple[StampRecord, ...]
    pending: tuple[PendingRecord, ...]


@dataclass(frozen=True)
class FreezeResult:
    """A frozen document, and what this call added to it.

    Attributes:
        document: the frozen document, its bytes checked.
        round: what the authorities answered; None if nobody was asked.
        existed: True if the same bytes were frozen before.
    """

    document: archive.FrozenDocument
    round: Round | None
    existed: bool = False

    @property
    def exit_code(self) -> int:
        """0 done; 1 too few operators answered; 3 an answer could not be checked for want of an anchor."""
        return 0 if self.round is None else self.round.exit_code

    @property
    def demo(self) -> bool:
        """True if a stamp of the demo authority lies there."""
        return any(stamp.demo for stamp in self.document.record.stamps)

    def report(self) -> FrozenReport:
        """What a program needs to know of it."""
        record = self.document.record
        return FrozenReport(
            id=self.document.id,
            folder=str(self.document.folder),
            document=self.document.document_path.name,
            sha256=self.document.digest,
            existed=self.existed,
            quorum=record.quorum,
            stamps=record.stamps,
            pending=record.pending,
        )


@dataclass(frozen=True)
class _Stated:
    """What a document says of itself: a plan has an id and a policy; any other document says nothing."""

    kind: archive.Kind = "document"
    id: str | None = None
    quorum: int | None = None
    accuracy_limit: timedelta | None = None


def freeze(
    file: str | Path,
    *,
    root: str | Path = ".",
    id: str | None = None,
    quorum: int | None = None,
    authorities: Authorities = NOBODY,
    offline: bool = False,
    query: bytes | None = None,
    say: Say = silent,
) -> FreezeResult:
    """Freeze a document's exact bytes as frozen/<id>/ and ask authorities for stamps. Nothing is ever overwritten.

    A `prereg.plan/1` file is read strictly and its rules are checked first, so that what is frozen can be decided. If
    the same bytes are frozen already, the stamps that are asked for and missing are added.

    Args:
        file: the document.
        root: the project; frozen/ is made below it.
        id: the folder's name; default: the plan's id, or the file's stem.
        quorum: operators that must agree, 1 to 16; default: the plan's, or 2. Never below the plan's.
        authorities: whom to ask; nobody by default.
        offline: prepare the queries only.
        query: send this prepared query instead of a fresh one.
        say: gets lines of talk.

    Raises:
        NotCheckedError: no such file.
        UsageError: an amendment, an id other than the plan's, a quorum below the plan's or other than the record's.
        PlanError, DocumentError: a plan that does not read, or whose rules cannot be decided.
        ArchiveError: the document or its name is unusable, or other bytes are frozen there.
        OSError: the disk refused; nothing is left behind.
    """
    taken = take(file)
    stated = _stated(taken)
    if id and stated.id and id != stated.id:
        raise UsageError("--id differs from the plan's own id", expected=stated.id, found=id)
    wanted = required_quorum(quorum, stated.quorum)
    target = Path(root) / "frozen" / archive.check_id(id or stated.id or taken.path.stem, taken.name)
    for note in (*taken.notes, *git_warnings(taken, target)):
        say(f"note: {note}")
    attachments = _checked(taken, Path(root), say) if stated.kind == "plan" and not target.exists() else {}
    stamper = authorities.stamper(offline=offline, query=query, accuracy_limit=stated.accuracy_limit)
    frozen = archive.freeze(
        taken.data, taken.name, target, stamper, kind=stated.kind, quorum=wanted, attachments=attachments
    )
    return finish(
        frozen, authorities, quorum=quorum, offline=offline, query=query, limit=stated.accuracy_limit, say=say
    )


def required_quorum(asked: int | None, of_plan: int | None) -> int:
    """The number of operators for a record: what was asked for, else the plan's, else 2.

    Raises:
        UsageError: less than the plan asks for.
    """
    if asked is not None and of_plan is not None and asked < of_plan:
        raise UsageError(
            "a quorum below the plan's own",
            where=Where(field="--quorum"),
            expected=f"at least {of_plan}, as the plan's `timestamps` says",
            found=asked,
            next_step="Leave it out, or change the plan before it is frozen.",
            code="quorum",
        )
    return asked or of_plan or DEFAULT_QUORUM


def finish(
    frozen: archive.Frozen,
    authorities: Authorities,
    *,
    quorum: int | None,
    offline: bool,
    query: bytes | None,
    limit: timedelta | None,
    say: Say,
) -> FreezeResult:
    """Add missing stamps to a document that was frozen before, and say what came; `freeze` and `amend` end here.

    Raises:
        UsageError: another quorum than the record's.
    """
    document, folder = frozen.document, frozen.document.folder
    record = document.record
    asked: Round | None = None if authorities.empty else Round(frozen.stamps, record.quorum)
    if frozen.existed:
        if quorum is not None and quorum != record.quorum:
            raise UsageError(
                f"frozen already, with a quorum of {record.quorum}",
                where=Where(file=str(folder), field="--quorum"),
                expected=f"{record.quorum}, or no --quorum",
                found=quorum,
                next_step=f"`prereg verify-timestamps {folder} --quorum {quorum}` asks for more when it is checked.",
                code="quorum",
            )
        say(f"{folder}: already frozen, with the same bytes")
        have = {stamp.url for stamp in record.stamps}
        stamper = (
            authorities.stamper(offline=offline, query=query, have=have, accuracy_limit=limit)
            if asked
            else None
        )
        if stamper is not None:
            added = archive.complete(folder, stamper)
            document, asked = added.document, Round(added.stamps, record.quorum)
            say(asked.sentence)
        else:
            if asked is not None:
                say("nothing is missing: everybody named has stamped it already")
            asked = None
    elif asked is not None:
        say(asked.sentence)
    else:
        say(
            f"NOT STAMPED: nobody outside vouches for the time. `prereg stamp {folder} --tsa NAME` asks somebody."
        )
    result = FreezeResult(document, asked, frozen.existed)
    if result.demo:
        say(DEMO_BANNER)
    return result


def _stated(taken: Taken) -> _Stated:
    start = taken.data[:65536]
    wide = wide_encoding(start)
    text = start.decode(wide or "utf-8", errors="replace")
    if not any(mark in text for mark in _MARKS):
        return _Stated()
    from prereg_kit.plan.file import read_plan

    kind = kind_of(taken.data)
    if kind == "amendment":
        raise UsageError(
            "an amendment names its parent and has its own place",
            where=Where(file=str(taken.path)),
            next_step=f"Use `prereg amend {taken.path}`.",
        )
    # A plan saved as UTF-16 would otherwise be frozen as a plain document that no `decide` can read.
    if kind == "document" and not (wide and text.lstrip("\ufeff").startswith("format:")):
        return _Stated()
    plan = read_plan(taken.data, str(taken.path))
    return _Stated("plan", plan.id, plan.timestamps.quorum, plan.timestamps.limit)


def _checked(taken: Taken, root: Path, say: Say) -> dict[str, bytes]:
    """check.json for a plan whose rules can be decided.

    Raises:
        PlanError: a finding; the first is named, all are said.
    """
    from prereg_kit.design import plan_check
    from prereg_kit.foundation.digest import readable_json, sha256_bytes
    from prereg_kit.operations import materials
    from prereg_kit.plan.history import Source, replay

    say(f"checking the rules of {taken.name}")
    effective = replay(Source(taken.data, sha256_bytes(taken.data), "<bytes>"))
    bound = materials.compare(effective.plan, root)
    report = plan_check.check(effective).with_findings(materials.findings(bound))
    for finding in report.findings:
        say(f"  {finding.code}: {finding.hypothesis or 'plan'}: {finding.message}")
    if not report.ok:
        first = report.findings[0]
        raise PlanError(
            f"{len(report.findings)} finding(s) stand against the freeze, the first: {first.message}",
            where=Where(
                file=str(taken.path),
                field=None if first.hypothesis is None else f"hypotheses.{first.hypothesis}",
            ),
            next_step=f"`prereg check {taken.path}` shows them all; nothing was frozen.",
            code="check",
        )
    return {"check.json": readable_json(report.to_json())}

"""Carry earlier evidence on with new stamps, before certificates and algorithms end: what `prereg renew` does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prereg_kit.errors import NotCheckedError, PreregError, UsageError, Where
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.renew import renew as renew_folder
from prereg_kit.evidence.folder import Examiner, evidence_files
from prereg_kit.operations.authorities import DEMO_BANNER, Authorities, Round, Say, silent
from prereg_kit.operations.freeze import FreezeResult


@dataclass(frozen=True)
class Refusal:
    """A folder or file for which nothing was done, and why."""

    name: str
    error: PreregError


@dataclass(frozen=True)
class RenewResult:
    """What was renewed and what was refused, in the order of the folders."""

    renewed: tuple[FreezeResult, ...]
    refused: tuple[Refusal, ...]

    @property
    def exit_code(self) -> int:
        """The worst of the parts; 1 comes before 3."""
        codes = [
            0,
            *(each.exit_code for each in self.renewed),
            *(each.error.exit_code for each in self.refused),
        ]
        return 1 if 1 in codes else max(codes)


def renew(
    root: str | Path, *, authorities: Authorities, within_days: int | None = None, say: Say = silent
) -> RenewResult:
    """Stamp a list of all evidence of every stamped folder below `root`, or of `root` itself.

    Args:
        root: a project, frozen/, or one frozen folder.
        authorities: whom to ask.
        within_days: only what lapses within this many days; default: everything.
        say: gets lines of talk.

    Raises:
        UsageError: nobody to ask.
        NotCheckedError: no frozen folder there.
        PreregError: as the archive says, if there is one folder alone; of several, the refused ones are listed.
    """
    stamper = authorities.stamper()
    if stamper is None:
        raise UsageError("nobody to ask", next_step="Name authorities with --tsa, or --demo-tsa.")
    folders = archive.find_frozen(root)
    if not folders:
        raise NotCheckedError("no frozen folder", where=Where(file=str(root)))
    now = datetime.now(UTC)
    examiner = Examiner(authorities.store, now)
    renewed: list[FreezeResult] = []
    refused: list[Refusal] = []
    for folder in folders:
        state = examiner.examine(folder)
        until = state.protected_until
        if within_days is not None and until is not None and until > now + timedelta(days=within_days):
            say(f"{folder}: protected until {until:%Y-%m-%d}, not renewed now")
            continue
        if state.status == "not stamped" and len(folders) > 1:
            say(f"{folder}: not stamped, nothing to renew")
            continue
        if state.status in ("lapsed", "gap", "altered", "below quorum"):
            say(f"{folder}: {state.status}; a renewal cannot mend that")
        try:
            done = renew_folder(folder, evidence_files(archive.read_record(folder)), stamper)
        except PreregError as error:
            if len(folders) == 1:
                raise
            refused.append(Refusal(str(folder), error))
            continue
        result = FreezeResult(done.document, Round(done.stamps, done.document.record.quorum), existed=True)
        say(f"{folder}: renewed; {Round(done.stamps, done.document.record.quorum).sentence}")
        if any(stamp.demo for stamp in done.stamps.done):
            say(DEMO_BANNER)
        renewed.append(result)
    return RenewResult(tuple(renewed), tuple(refused))

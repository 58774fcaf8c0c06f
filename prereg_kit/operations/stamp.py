"""Add stamps to a frozen document, or fetch revocation data again: what `prereg stamp` does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from prereg_kit.errors import NotCheckedError, UsageError, Where
from prereg_kit.evidence import archive
from prereg_kit.evidence.folder.consistency import check_consistency
from prereg_kit.operations.authorities import DEMO_BANNER, Authorities, Round, Say, silent
from prereg_kit.operations.freeze import NOBODY, FreezeResult


@dataclass(frozen=True)
class RefreshResult(FreezeResult):
    """A frozen document after its revocation data was fetched again; `added` counts the new files."""

    added: int = 0

    @property
    def exit_code(self) -> int:
        """0 if something new came, else 3."""
        return 0 if self.added else 3


def stamp(
    folder: str | Path,
    *,
    authorities: Authorities = NOBODY,
    response: bytes | None = None,
    offline: bool = False,
    query: bytes | None = None,
    say: Say = silent,
) -> FreezeResult:
    """Add the stamps that a frozen document lacks; earlier ones are kept.

    Args:
        folder: the frozen folder.
        authorities: whom to ask; if nobody is named, those that were asked before and did not answer.
        response: an authority's answer to a query that was prepared offline; nobody is asked then.
        offline: prepare queries for the named authorities only.
        query: send this prepared query instead of a fresh one.
        say: gets lines of talk.

    Raises:
        NotCheckedError: no such folder.
        UsageError: nobody to ask, or no query waits for the response.
        ArchiveError: the folder does not match its record, or another process writes there.
        TimestampError: the response is none to a waiting query.
        OSError: the disk refused; the folder is as before.
    """
    record = _record(folder)
    limit = _limit(folder, record)
    if response is not None:
        from prereg_kit.evidence import tsa

        urls = {operator.url for operator in authorities.operators()}
        stamper: archive.Stamper | None = tsa.answering(
            folder, response, authorities.store, authorities.settings(limit), urls
        )
    else:
        have = {each.url for each in record.stamps}
        also = [each.url for each in record.pending if each.url not in have] if authorities.empty else []
        stamper = authorities.stamper(
            offline=offline, query=query, also=also, have=have, accuracy_limit=limit
        )
    if stamper is None and authorities.empty:
        raise UsageError(
            "nobody to ask",
            where=Where(file=str(folder)),
            next_step="Name an authority with --tsa, or --demo-tsa.",
        )
    if stamper is None:
        say("nothing is missing: everybody named has stamped it already")
        result = FreezeResult(archive.load_frozen(folder), None, existed=True)
    else:
        frozen = archive.complete(folder, stamper)
        result = FreezeResult(frozen.document, Round(frozen.stamps, record.quorum), existed=True)
        if result.round is not None and result.round.stamps != archive.Stamps():
            say(result.round.sentence)
    if result.demo:
        say(DEMO_BANNER)
    return result


def refresh(folder: str | Path, *, authorities: Authorities = NOBODY, say: Say = silent) -> RefreshResult:
    """Fetch CRLs and OCSP answers again for a document's anchored stamps, and file what is new.

    Raises:
        NotCheckedError: no such folder.
        ArchiveError: the folder does not match its record, or another process writes there.
    """
    from prereg_kit.evidence.archive.refresh import refresh_revocation
    from prereg_kit.evidence.tsa.revocation import fetch_all

    _record(folder)
    settings = authorities.settings()
    document, added = refresh_revocation(
        folder, lambda chain: fetch_all(chain, settings.limits, settings.clock)
    )
    say(f"{folder}: {added} new pieces of revocation data")
    return RefreshResult(document, None, existed=True, added=added)


def _record(folder: str | Path) -> archive.FreezeRecord:
    if not Path(folder).is_dir():
        raise NotCheckedError(
            "no such folder",
            where=Where(file=str(folder)),
            expected="a frozen folder such as frozen/ID",
            code="absent",
        )
    return archive.load_frozen(folder).record


def _limit(folder: str | Path, record: archive.FreezeRecord) -> timedelta | None:
    """What the frozen plan asks of a token's accuracy; None if the document is no plan or says nothing."""
    found = check_consistency(Path(folder), record, archive.load_frozen(folder).data)
    return None if found.policy is None else found.policy.limit

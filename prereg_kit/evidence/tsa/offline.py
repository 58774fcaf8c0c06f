"""Without a network: queries prepared for later, and answers that came by another way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from prereg_kit.errors import TimestampError, UsageError, Where
from prereg_kit.evidence.archive.load import load_frozen, read_file
from prereg_kit.evidence.archive.record import Pending, Stamper, Stamps, moment
from prereg_kit.evidence.trust import Operator, TrustStore
from prereg_kit.evidence.tsa.client import Clock, Settings, accept, build_query


def _utc_now() -> datetime:
    return datetime.now(UTC)


def prepare(operators: Sequence[Operator], clock: Clock = _utc_now) -> Stamper:
    """A function that asks nobody: a query per operator, kept until `prereg stamp --response` brings the answer."""

    def stamp(digest: str) -> Stamps:
        text = "not asked: the query was prepared without a network"
        return Stamps(
            pending=tuple(Pending(o.name, o.url, text, clock(), build_query(digest)) for o in operators)
        )

    return stamp


def answering(
    folder: Path | str, response: bytes, store: TrustStore, settings: Settings, urls: Collection[str] = ()
) -> Stamper:
    """A stamper that files one response: it must answer a query that the folder keeps, nonce included.

    Args:
        folder: the frozen folder.
        response: the answer's bytes.
        store: for the anchors of the operator that was to be asked.
        settings: clock and tolerance; the token's time must lie between the query's making and the present.
        urls: consider only the queries for these addresses; all if empty.

    Raises:
        UsageError: no query waits.
        TimestampError: (by the stamper) the response answers none of them; the first reason.
    """
    document = load_frozen(folder)
    waiting = [item for item in document.record.pending if item.query]
    chosen = [item for item in waiting if not urls or item.url in urls]
    if not chosen:
        raise UsageError(
            "no prepared query waits for an answer",
            where=Where(file=str(folder)),
            expected="one of " + ", ".join(item.operator for item in waiting)
            if waiting
            else "a pending query",
            next_step="`prereg freeze --offline --tsa NAME FILE` prepares queries.",
        )

    def stamp(digest: str) -> Stamps:
        problems: list[TimestampError] = []
        for item in chosen:
            if item.query is None:
                continue
            operator = store.find(item.operator, item.url) or Operator(item.operator, url=item.url)
            try:
                done = accept(
                    response,
                    read_file(document.folder, item.query),
                    digest,
                    operator,
                    not_before=moment(item.asked_at),
                    not_after=settings.clock(),
                    settings=settings,
                )
            except TimestampError as error:
                problems.append(error)
                continue
            return Stamps(done=(replace(done, operator=item.operator, url=item.url),))
        raise problems[0]

    return stamp

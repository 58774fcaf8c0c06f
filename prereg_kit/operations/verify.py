"""Check digests and tokens of frozen documents, offline: what `prereg verify-timestamps` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prereg_kit.errors import NotCheckedError, UsageError, Where
from prereg_kit.evidence import archive
from prereg_kit.evidence.folder import DocumentReport, Examiner, exit_code
from prereg_kit.evidence.trust import TrustStore


@dataclass(frozen=True)
class Verification:
    """Every frozen document's status at a time.

    Attributes:
        at: when protection was judged.
        documents: one report per folder, sorted within frozen/ and amendments/; what is no frozen folder comes last.
    """

    at: datetime
    documents: tuple[DocumentReport, ...]

    @property
    def ok(self) -> bool:
        """True if every document is protected by a quorum of operators."""
        return self.exit_code() == 0

    @property
    def labels(self) -> tuple[str, ...]:
        """Banners that every report must carry, each once."""
        return tuple(sorted({label for document in self.documents for label in document.labels}))

    def exit_code(self, *, allow_demo: bool = False, allow_unstamped: bool = False) -> int:
        """0: all are protected, or excused by a flag. 1: one fails. 3: none fails, and one could not be checked."""
        return exit_code(self.documents, allow_demo=allow_demo, allow_unstamped=allow_unstamped)

    def to_json(self) -> dict[str, object]:
        """The `prereg.timestamps/1` object."""
        return {
            "format": "prereg.timestamps/1",
            "at": archive.rfc3339(self.at),
            "labels": list(self.labels),
            "documents": [document.to_json() for document in self.documents],
        }


def verify(
    root: str | Path = ".",
    *,
    at: datetime | None = None,
    quorum: int | None = None,
    trust: Sequence[str | Path] = (),
    second_opinion: bool = False,
) -> Verification:
    """Check all frozen documents below a folder: bytes, records, tokens, quorum and renewals. Opens no connection.

    Args:
        root: a project (with frozen/ or amendments/), one of these folders, or one frozen folder.
        at: judge protection at this aware time; default: now.
        quorum: operators that must agree. A frozen plan's own number is never lowered by it.
        trust: further folders of operators with their anchors.
        second_opinion: ask `openssl` and rfc3161-client too, where installed.

    Raises:
        NotCheckedError: no frozen folder there, or a trust folder is absent.
        UsageError: a time without an offset, or a quorum outside 1 to 16.
        TimestampError, DocumentError: a trust folder's configuration is wrong.
    """
    if at is not None and at.tzinfo is None:
        raise UsageError(
            "a time without an offset", where=Where(field="at"), expected="an aware time", found=at
        )
    if quorum is not None and not 1 <= quorum <= 16:
        raise UsageError(
            "not a number of operators", where=Where(field="quorum"), expected="1 to 16", found=quorum
        )
    examiner = Examiner(TrustStore.load(trust), at or datetime.now(UTC), quorum, second_opinion)
    reports = [examiner.examine(folder) for folder in archive.find_frozen(root)]
    reports += [_misplaced(path, "files without a freeze record") for path in archive.find_unrecorded(root)]
    reports += [
        _misplaced(
            path, "a symbolic link where a frozen folder belongs; it was not followed: put the folder there"
        )
        for path in archive.find_links(root)
    ]
    if not reports:
        raise NotCheckedError(
            "no frozen folder",
            where=Where(file=str(root)),
            expected="frozen/ID/freeze.json below it",
            next_step="`prereg freeze FILE` makes one.",
        )
    return Verification(examiner.at, tuple(reports))


def _misplaced(path: Path, problem: str) -> DocumentReport:
    return DocumentReport(path, path.name, "altered", problems=(f"{path}: {problem}",))

"""What is said about frozen documents and their tokens: values, their JSON, and the exit code they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from prereg_kit.evidence.archive.record import rfc3339
from prereg_kit.evidence.second_opinion import Opinion
from prereg_kit.evidence.token import Proof

DEMO_LABEL = (
    "DEMO LOCAL TSA - NO EVIDENTIAL VALUE: demo stamps prove nothing about time and are never counted"
)
Status = Literal[
    "protected", "lapsed", "gap", "demo", "below quorum", "not stamped", "not checked", "altered"
]
Verdict = Literal["accept", "bound", "reject", "unsupported", "not checked", "altered"]


@dataclass(frozen=True)
class StampReport:
    """What one token is worth.

    Attributes:
        operator: who was asked.
        verdict: of the strict verifier; `bound` if everything holds and the stated accuracy is too wide, so that
            the token bounds the time from above and does not count; `not checked` without an anchor; `altered` if
            its files do not match the record, or the record quotes it wrongly.
        reason: the verifier's code, or `no-anchor`.
        problem: a sentence, empty if accepted.
        claimed: the time that the token claims, verified or not.
        proof: what is proven, if anything is.
        demo: a demonstration token, never counted.
        anchor_origin: the folder that the anchor was pinned in.
        opinions: what other programs say, if they were asked.
    """

    operator: str
    url: str
    verdict: Verdict
    reason: str = ""
    problem: str = ""
    claimed: datetime | None = None
    proof: Proof | None = None
    demo: bool = False
    anchor_origin: str = ""
    opinions: tuple[Opinion, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Reading order; what is not known is left out."""
        value: dict[str, Any] = {"operator": self.operator, "url": self.url, "verdict": self.verdict}
        if self.verdict != "accept":
            value |= {"reason": self.reason, "problem": self.problem}
        if self.claimed is not None:
            value["gen_time"] = rfc3339(self.claimed)
        value["demo"] = self.demo
        if self.proof is not None:
            value |= {key: item for key, item in self.proof.to_json().items() if key != "gen_time"}
            value["anchor_origin"] = self.anchor_origin
        if self.opinions:
            value["second_opinions"] = [vars(opinion) for opinion in self.opinions]
        return value


@dataclass(frozen=True)
class DocumentReport:
    """One document's status, and everything it rests on.

    `proven_time` is the time by which a quorum of operators had seen the digest; `protected_until` the end of
    the last unbroken renewal. `not_checked` names what a reader might take for granted.
    """

    folder: Path
    id: str
    status: Status
    kind: str = "document"
    document: str = ""
    sha256: str = ""
    frozen_at: str = ""
    required: int = 2
    counted: tuple[str, ...] = ()
    proven_time: datetime | None = None
    protected_until: datetime | None = None
    stamps: tuple[StampReport, ...] = ()
    renewals: tuple[tuple[StampReport, ...], ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Banners that every report of this document must carry."""
        levels = (self.stamps, *self.renewals)
        return (DEMO_LABEL,) if any(stamp.demo for level in levels for stamp in level) else ()

    def to_json(self) -> dict[str, Any]:
        """One entry of `prereg.timestamps/1`."""
        return {
            "folder": str(self.folder),
            "id": self.id,
            "kind": self.kind,
            "status": self.status,
            "document": self.document,
            "sha256": self.sha256,
            "frozen_at": self.frozen_at,
            "quorum": {"required": self.required, "counted": list(self.counted)},
            "proven_time": rfc3339(self.proven_time) if self.proven_time else None,
            "protected_until": rfc3339(self.protected_until) if self.protected_until else None,
            "stamps": [stamp.to_json() for stamp in self.stamps],
            "renewals": [[stamp.to_json() for stamp in level] for level in self.renewals],
            "problems": list(self.problems),
            "notes": list(self.notes),
            "not_checked": list(self.not_checked),
        }


def exit_code(reports: Sequence[DocumentReport], *, allow_demo: bool, allow_unstamped: bool) -> int:
    """0 if all are protected (or excused by a flag), 1 if one fails, 3 if nothing fails but one is unchecked."""
    good = (
        {"protected"} | ({"demo"} if allow_demo else set()) | ({"not stamped"} if allow_unstamped else set())
    )
    rest = {report.status for report in reports} - good
    if not reports or rest == {"not checked"}:
        return 3
    return 1 if rest else 0

"""All detectors over all studies of a repository: the timeline, the ledger, the findings, and what cannot be known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prereg_kit.audit.detectors import changes, decisions, documents, registers, runs
from prereg_kit.audit.findings import Finding, Severity, in_order
from prereg_kit.audit.sources import FrozenPlan, Repository, collect
from prereg_kit.audit.timeline import events, orders
from prereg_kit.audit.times import Event, Order
from prereg_kit.decision.verdict import LedgerRow
from prereg_kit.errors import NotCheckedError, Where
from prereg_kit.evidence.archive.record import rfc3339
from prereg_kit.evidence.folder import Examiner

FORMAT = "prereg.audit/1"

_DETECTORS = (documents.find, changes.find, runs.find, registers.find, decisions.find)

_ALWAYS = (
    "Whether somebody had seen data, or run the study, without a trace in this repository.",
    "Whether the rows of a register are what the runs produced: a digest shows that they did not change since.",
    "Whether declared times are right: run times, commit times and the log's times come from the author's own clocks.",
    "Whether entries were cut off the end of a log, or runs left out of an index, before git or a decision saw them.",
)


@dataclass(frozen=True)
class StudyAudit:
    """One frozen plan's part of an audit."""

    id: str
    digest: str
    timeline: tuple[Event, ...]
    orders: tuple[Order, ...]
    ledger: tuple[LedgerRow, ...]


@dataclass(frozen=True)
class Audit:
    """What an audit found. `exit_code` is 1 when a violation stands."""

    root: Path
    studies: tuple[StudyAudit, ...]
    findings: tuple[Finding, ...]
    not_knowable: tuple[str, ...]

    def count(self, severity: Severity) -> int:
        """How many findings of a severity stand."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """1 when a violation stands, else 0."""
        return 1 if self.count("violation") else 0

    def to_json(self) -> dict[str, object]:
        """`prereg.audit/1`."""
        return {
            "format": FORMAT,
            "studies": [{"id": study.id, "digest": study.digest} for study in self.studies],
            "timeline": [_event(study.id, event) for study in self.studies for event in study.timeline],
            "orders": [
                {"study": study.id, **vars(order)} for study in self.studies for order in study.orders
            ],
            "ledger": [
                {"study": study.id, **row.model_dump(mode="json", exclude_none=True)}
                for study in self.studies
                for row in study.ledger
            ],
            "findings": [finding.to_json() for finding in self.findings],
            "not_knowable": list(self.not_knowable),
        }


def _event(study: str, event: Event) -> dict[str, object]:
    at = event.at
    return {
        "study": study,
        "kind": event.kind,
        "subject": event.subject,
        "at": None if at is None else rfc3339(at.when),
        "grade": None if at is None else at.grade,
        "source": None if at is None else at.source,
        "text": event.text,
        "file": event.file,
    }


def audit(root: Path, examiner: Examiner) -> Audit:
    """Audit a repository.

    Args:
        root: the folder with frozen/, amendments/, registers/ and reports/.
        examiner: judges frozen folders, offline; its time is the time of the audit.

    Raises:
        NotCheckedError: nothing is frozen here.
    """
    repo = collect(root, examiner)
    if not repo.plans:
        raise NotCheckedError(
            "no frozen plan",
            where=Where(file=str(root)),
            expected="frozen/ID/freeze.json of a plan below it",
            next_step="Name the repository's folder; `prereg freeze PLAN` freezes a plan.",
        )
    found = [finding for plan in repo.plans for detect in _DETECTORS for finding in detect(plan, repo)]
    found += [*registers.strays(repo), *decisions.unreadable(repo), *_history(repo)]
    return Audit(root, tuple(_study(plan, repo) for plan in repo.plans), in_order(found), _unknown(repo))


def _study(plan: FrozenPlan, repo: Repository) -> StudyAudit:
    return StudyAudit(plan.id, plan.digest, events(plan, repo), orders(plan, repo), runs.ledger_of(plan))


def _history(repo: Repository) -> list[Finding]:
    history = repo.history
    if not history.known:
        return [
            Finding(
                "history-unknown", "git", f"Git says nothing about earlier states: {history.why_unknown}."
            )
        ]
    found = []
    if history.shallow:
        found.append(
            Finding("history-unknown", "git", "The git history is shallow: its beginning is not here.")
        )
    if history.rewritten:
        found.append(
            Finding(
                "history-rewritten",
                "git",
                f"{len(history.rewritten)} commits were made again after they were written (rebase or amend): earlier "
                "states are unknown.",
                {"for instance": history.rewritten[0]},
            )
        )
    return found


def _unknown(repo: Repository) -> tuple[str, ...]:
    extra = []
    if not repo.history.known or repo.history.shallow:
        extra.append("What the files said earlier: git's history is not here, or not whole.")
    if any(plan.report.status != "protected" for plan in repo.plans):
        extra.append(
            "When a plan without a quorum of verified timestamps was frozen, beyond the author's own word."
        )
    return (*_ALWAYS, *extra)

"""What lies in a repository, read once: frozen plans, amendments, logs, indexes of runs, registers, decisions.

Nothing here judges. What cannot be read is kept with the reason, so that a detector can say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from prereg_kit.audit.git_history import GitHistory, read_history
from prereg_kit.audit.times import Moment, parse_time
from prereg_kit.decision import verdict as verdict_file
from prereg_kit.decision.verdict import Verdicts
from prereg_kit.errors import PreregError
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.record import FreezeRecord
from prereg_kit.evidence.deviations import Log, read_log
from prereg_kit.evidence.folder import DocumentReport, Examiner
from prereg_kit.evidence.frozen_plans import LoadedPlan, load
from prereg_kit.foundation.digest import sha256_bytes, sha256_file
from prereg_kit.foundation.strict_json import read_json
from prereg_kit.plan.amendment import FORMAT as AMENDMENT_FORMAT
from prereg_kit.plan.amendment import Amendment
from prereg_kit.plan.file import declared_format, read_amendment
from prereg_kit.plan.plan import FORMAT as PLAN_FORMAT
from prereg_kit.registers.file.index import is_index, read_runs
from prereg_kit.registers.formats import RunRow

_SKIPPED = frozenset(
    {".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist", ".mypy_cache", ".tox"}
)
_VERDICTS_LIMIT = 64 << 20


@dataclass(frozen=True)
class FrozenAmendment:
    """An amendment's folder. `amendment` is None where its bytes do not read or do not match the record."""

    folder: Path
    report: DocumentReport
    record: FreezeRecord | None = None
    amendment: Amendment | None = None
    digest: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Decision:
    """A verdicts.json found in the repository. `verdicts` is None where it does not read."""

    path: Path
    data: bytes
    verdicts: Verdicts | None = None
    problem: str = ""


@dataclass(frozen=True)
class Index:
    """An index of runs found in the repository."""

    path: Path
    runs: tuple[RunRow, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class RegisterOnDisk:
    """A Parquet register of this project's formats, whether or not an index names it."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class FrozenPlan:
    """One frozen plan and everything in the repository that belongs to it.

    Attributes:
        folder: frozen/ID.
        report: what its bytes and stamps prove.
        record: freeze.json, None where it does not read.
        loaded: the plan in force, None where it or an amendment does not read: then `problem` says why.
        log: deviations and disclosures.
        amendments: every folder under amendments/ that names this plan, in the order of their parents.
        runs: every attempt of every run that names this plan's digest, with the index that names it.
        decisions: verdict files about this plan.
    """

    folder: Path
    report: DocumentReport
    record: FreezeRecord | None = None
    loaded: LoadedPlan | None = None
    problem: str = ""
    log: Log = field(default_factory=lambda: Log(Path()))
    amendments: tuple[FrozenAmendment, ...] = ()
    runs: tuple[tuple[RunRow, Path], ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def id(self) -> str:
        """The plan's own id, or the folder's name."""
        return self.loaded.effective.plan.id if self.loaded else self.folder.name

    @property
    def digest(self) -> str:
        """SHA-256 of the frozen bytes as recorded, empty where there is no record."""
        return self.record.document.sha256 if self.record else ""

    def frozen_at(self) -> Moment | None:
        """When the plan was frozen: the proven time where there is one, else the time that the record declares."""
        return frozen_time(self.report, self.record)

    @property
    def retrospective(self) -> bool:
        """Whether the plan says of itself that its results existed: then nothing that follows them is a surprise."""
        return self.loaded is not None and self.loaded.effective.original.kind == "retrospective"

    def rows(self) -> tuple[RunRow, ...]:
        """The attempts, without the indexes that name them."""
        return tuple(row for row, _ in self.runs)


@dataclass(frozen=True)
class Repository:
    """Everything that the audit reads. Paths in messages are relative to `root`."""

    root: Path
    history: GitHistory
    plans: tuple[FrozenPlan, ...]
    indexes: tuple[Index, ...]
    registers: tuple[RegisterOnDisk, ...]
    decisions: tuple[Decision, ...]
    at: datetime

    def name(self, path: Path) -> str:
        """A path as seen from the root."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return str(path)


def frozen_time(report: DocumentReport, record: FreezeRecord | None) -> Moment | None:
    """The proven time of a frozen document, else the time that its record declares, else None."""
    if report.proven_time is not None:
        return Moment(report.proven_time, "anchored", f"timestamps of {', '.join(report.counted)}")
    declared = parse_time(record.frozen_at) if record else None
    return None if declared is None else Moment(declared, "declared", "frozen_at of freeze.json")


def collect(root: Path, examiner: Examiner) -> Repository:
    """Read a repository.

    Args:
        root: the folder with frozen/, amendments/, registers/, reports/.
        examiner: judges frozen folders, offline, with the pinned anchors; its time is the time of the audit.
    """
    indexes, registers, decisions = _walk(root)
    amendments = [_amendment(folder, examiner) for folder in _home(root, "amendments")]
    plans = []
    for folder in _home(root, "frozen"):
        plan = _plan(folder, root, examiner, amendments, indexes, decisions)
        if plan is not None:
            plans.append(plan)
    return Repository(
        root,
        read_history(root),
        tuple(plans),
        tuple(indexes),
        tuple(registers),
        tuple(decisions),
        examiner.at,
    )


def _home(root: Path, name: str) -> list[Path]:
    home = root / name
    if not home.is_dir():
        return []
    recorded = [folder for folder in archive.find_frozen(root) if folder.parent.name == name]
    bare = [folder for folder in archive.find_unrecorded(root) if folder.parent.name == name]
    return sorted({*recorded, *bare})


def _amendment(folder: Path, examiner: Examiner) -> FrozenAmendment:
    report = examiner.examine(folder)
    try:
        document = archive.load_frozen(folder)
        if declared_format(document.data) != AMENDMENT_FORMAT:
            return FrozenAmendment(folder, report, document.record, problem="it holds no amendment")
        read = read_amendment(document.data, str(document.document_path))
    except PreregError as error:
        return FrozenAmendment(folder, report, problem=str(error))
    return FrozenAmendment(folder, report, document.record, read, document.digest)


def _plan(
    folder: Path,
    root: Path,
    examiner: Examiner,
    amendments: list[FrozenAmendment],
    indexes: list[Index],
    decisions: list[Decision],
) -> FrozenPlan | None:
    """A frozen folder as a plan; None for a frozen document of another kind."""
    report = examiner.examine(folder)
    record = None
    try:
        record = archive.read_record(folder)
        if record.kind not in ("plan", "document"):
            return None
        if record.kind == "document" and not _holds_plan(folder, record):
            return None
    except PreregError as error:
        return FrozenPlan(folder, report, problem=str(error))
    loaded, problem = None, ""
    try:
        loaded = load(folder, root)
    except PreregError as error:
        problem = str(error)
    digest = record.document.sha256
    own = [each for each in amendments if each.amendment is not None and each.amendment.plan == record.id]
    log = Log(folder, head=digest)
    try:
        log = read_log(folder, digest)
    except PreregError as error:
        problem = problem or str(error)
    return FrozenPlan(
        folder,
        report,
        record,
        loaded,
        problem,
        log,
        tuple(_chain(digest, own)),
        tuple((row, index.path) for index in indexes for row in index.runs if row.plan_digest == digest),
        tuple(each for each in decisions if each.verdicts is not None and _about(each.verdicts, record)),
    )


def _holds_plan(folder: Path, record: FreezeRecord) -> bool:
    try:
        return declared_format((folder / record.document.path).read_bytes()) == PLAN_FORMAT
    except (OSError, PreregError):
        return False


def _about(verdicts: Verdicts, record: FreezeRecord) -> bool:
    return verdicts.plan.digest == record.document.sha256 or verdicts.plan.id == record.id


def _chain(digest: str, amendments: list[FrozenAmendment]) -> Iterator[FrozenAmendment]:
    """Amendments in the order of their parents; those without their parent come last."""
    waiting = list(amendments)
    parent = digest
    while True:
        following = next(
            (each for each in waiting if each.amendment and each.amendment.amends == parent), None
        )
        if following is None:
            break
        waiting.remove(following)
        yield following
        parent = following.digest
    yield from waiting


def _walk(root: Path) -> tuple[list[Index], list[RegisterOnDisk], list[Decision]]:
    indexes: list[Index] = []
    registers: list[RegisterOnDisk] = []
    decisions: list[Decision] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith(".venv"))
        for name in sorted(files):
            path = Path(folder, name)
            if path.is_symlink():
                continue
            if name.endswith(".parquet"):
                _parquet(path, indexes, registers)
            elif name.endswith(".json") and _is_verdicts(path):
                decisions.append(_decision(path))
    return indexes, registers, decisions


def _parquet(path: Path, indexes: list[Index], registers: list[RegisterOnDisk]) -> None:
    try:
        if is_index(path):
            indexes.append(Index(path, read_runs(path)))
            return
    except PreregError as error:
        indexes.append(Index(path, problem=str(error)))
        return
    registers.append(RegisterOnDisk(path, sha256_file(path)))


def _is_verdicts(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            return b'"prereg.verdicts/' in handle.read(200)
    except OSError:
        return False


def _decision(path: Path) -> Decision:
    try:
        if path.stat().st_size > _VERDICTS_LIMIT:
            return Decision(path, b"", problem="larger than 64 MiB")
        data = path.read_bytes()
        return Decision(path, data, verdict_file.read(read_json(data, str(path)), str(path)))
    except OSError as error:
        return Decision(path, b"", problem=error.strerror or str(error))
    except PreregError as error:
        return Decision(path, data, problem=str(error))


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file's bytes, None where it cannot be read."""
    try:
        return sha256_bytes(path.read_bytes()) if path.is_file() else None
    except OSError:
        return None

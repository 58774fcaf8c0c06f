"""Plans as they lie in a repository: loose files, or frozen folders with the amendments that name them.

Floor 3: reads files through `archive`, hands bytes to `history`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prereg_kit import archive
from prereg_kit.digest import sha256_bytes
from prereg_kit.errors import ArchiveError, NotCheckedError, PlanError, UsageError, Where
from prereg_kit.history import EffectivePlan, Source, replay
from prereg_kit.plan.amendment import FORMAT as AMENDMENT_FORMAT
from prereg_kit.plan.plan import FORMAT as PLAN_FORMAT
from prereg_kit.plan_file import declared_format, read_amendment


@dataclass(frozen=True)
class LoadedPlan:
    """A plan in force and where it came from. `folder` is None for a plan that is not frozen."""

    effective: EffectivePlan
    path: Path
    root: Path
    folder: Path | None = None

    @property
    def frozen(self) -> bool:
        """Whether the plan lies in a frozen folder whose bytes match their record."""
        return self.folder is not None


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        NotCheckedError: absent, a folder, or unreadable.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NotCheckedError(
            "the file cannot be read", where=Where(file=str(path)), found=error.strerror, code="file-absent"
        ) from error
    archive.refuse_pointer(data, str(path))
    return data


def find_root(near: Path) -> Path:
    """The repository that `near` lies in: its nearest ancestor with a frozen/ folder, else the current folder."""
    start = near.resolve()
    for folder in (start, *start.parents):
        if (folder / "frozen").is_dir():
            return folder
    return Path()


def load(path: Path, root: Path | None = None) -> LoadedPlan:
    """The plan at `path` (a file or a frozen folder), with its amendments if it is frozen.

    A loose file whose bytes equal those of a frozen plan of the same repository counts as that frozen plan.

    Raises:
        NotCheckedError: no such file.
        ArchiveError, DocumentError, PlanError: as the readers say.
    """
    if path.is_dir():
        return _frozen(archive.load_frozen(path), root or find_root(path))
    if (path.parent / "freeze.json").is_file():
        document = archive.load_frozen(path.parent)
        if document.document_path.resolve() == path.resolve():
            return _frozen(document, root or find_root(path.parent))
    data = read_bytes(path)
    base = root or find_root(path.parent)
    same = [frozen for frozen in archive.find_by_digest(base, sha256_bytes(data)) if _is_plan(frozen.data)]
    if same:
        return _frozen(same[0], base)
    return LoadedPlan(replay(Source(data, sha256_bytes(data), str(path))), path, base)


def time_in_words(loaded: LoadedPlan) -> str:
    """What is known, without checking a token, about when the plan was frozen."""
    if loaded.folder is None:
        return "not frozen"
    record = archive.read_record(loaded.folder)
    if not record.stamps:
        return "frozen, not timestamped: nobody vouches for when"
    who = ", ".join(stamp.operator for stamp in record.stamps)
    return f"timestamped by {who}; `prereg verify-timestamps` checks it"


def labels(loaded: LoadedPlan) -> tuple[str, ...]:
    """Banners that every output about this plan carries."""
    if loaded.folder is None:
        return ()
    stamps = archive.read_record(loaded.folder).stamps
    if not stamps:
        return ("NOT TIMESTAMPED: the frozen folder proves what the plan says, not when it was written",)
    if all(stamp.demo for stamp in stamps):
        return (
            "DEMO TIMESTAMP, NO EVIDENTIAL VALUE: the plan was stamped by the embedded demonstration authority",
        )
    return ()


def named_by(digests: set[str], root: Path) -> LoadedPlan:
    """The one frozen plan whose digest a register names.

    Raises:
        UsageError: the register names none, or several; they are listed.
        NotCheckedError: the named plan is not frozen under `root`.
    """
    frozen = {document.digest: document for document in _plans(root)}
    known = sorted(frozen[digest].id for digest in digests if digest in frozen)
    if len(known) > 1:
        raise UsageError(
            f"the register names several frozen plans: {', '.join(known)}",
            next_step="Choose one with --plan frozen/ID.",
            code="several-plans",
        )
    if not known:
        listed = ", ".join(sorted(document.id for document in frozen.values())) or "none"
        raise NotCheckedError(
            "no frozen plan is named by the register",
            where=Where(file=str(root / "frozen")),
            expected=f"a plan with one of the digests {', '.join(sorted(digests)) or '(the register names none)'}",
            found=f"frozen plans here: {listed}",
            next_step="Name the plan with --plan FILE.",
            code="no-plan",
        )
    digest = next(digest for digest in digests if digest in frozen)
    return _frozen(frozen[digest], root)


def _plans(root: Path) -> list[archive.FrozenDocument]:
    found = []
    for folder in archive.find_frozen(root):
        if folder.parent.name != "frozen":
            continue
        try:
            document = archive.load_frozen(folder)
        except ArchiveError:
            continue  # another study's altered folder is `verify-timestamps`'s business
        if _is_plan(document.data):
            found.append(document)
    return found


def _is_plan(data: bytes) -> bool:
    return declared_format(data) == PLAN_FORMAT


def _frozen(document: archive.FrozenDocument, root: Path) -> LoadedPlan:
    if not _is_plan(document.data):
        raise PlanError(
            "the frozen document is not a plan",
            where=Where(file=str(document.document_path), field="format"),
            expected=PLAN_FORMAT,
            found=declared_format(document.data),
        )
    source = Source(document.data, document.digest, str(document.document_path))
    effective = replay(
        source, [amendment for amendment in amendments(root) if _amends(amendment, document.id)]
    )
    return LoadedPlan(effective, document.document_path, root, document.folder)


def _amends(source: Source, plan_id: str) -> bool:
    return read_amendment(source.data, source.name).plan == plan_id


def amendments(root: Path) -> list[Source]:
    """Every frozen amendment under `root`/amendments, bytes checked.

    Raises:
        ArchiveError: an amendment whose bytes do not match its record: a rule could hide behind it.
    """
    found = []
    for folder in archive.find_frozen(root):
        if folder.parent.name != "amendments":
            continue
        document = archive.load_frozen(folder)
        if declared_format(document.data) == AMENDMENT_FORMAT:
            found.append(Source(document.data, document.digest, str(document.document_path)))
    return found

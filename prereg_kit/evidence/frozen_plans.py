"""Plans as they lie in a repository: loose files, or frozen folders with the amendments that name them.

Floor 3: reads files through `archive`, hands bytes to `history`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, NotCheckedError, PlanError, UsageError, Where
from prereg_kit.evidence import archive
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.plan.amendment import FORMAT as AMENDMENT_FORMAT
from prereg_kit.plan.file import declared_format, read_amendment
from prereg_kit.plan.history import EffectivePlan, Source, replay
from prereg_kit.plan.plan import FORMAT as PLAN_FORMAT

LATE = ("results_not_opened", "results_seen")
"""What an amendment says was known, where a reader must be warned."""


@dataclass(frozen=True)
class LoadedPlan:
    """A plan in force and where it came from. `folder` is None for a plan that is not frozen.

    `unstamped` names the amendments in force for whose time nobody outside vouches.
    """

    effective: EffectivePlan
    path: Path
    root: Path
    folder: Path | None = None
    unstamped: tuple[str, ...] = ()

    @property
    def frozen(self) -> bool:
        """Whether the plan lies in a frozen folder whose bytes match their record."""
        return self.folder is not None


def kind_of(data: bytes) -> archive.Kind:
    """What a document's bytes say that it is, whatever a record says: its declared format decides."""
    declared = declared_format(data) or ""
    if declared.startswith("prereg.plan/"):
        return "plan"
    return "amendment" if declared.startswith("prereg.amendment/") else "document"


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        NotCheckedError: absent, a folder, or unreadable.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NotCheckedError(
            "the file cannot be read",
            where=Where(file=str(path)),
            expected="a plan, or a frozen folder such as frozen/ID",
            found=error.strerror,
            next_step="Check the path; `ls frozen` shows what is frozen here.",
            code="file-absent",
        ) from error
    archive.refuse_pointer(data, str(path))
    return data


def find_root(near: Path) -> Path:
    """The repository that `near` lies in: its nearest ancestor with a frozen/ folder, else the current folder."""
    start = near.resolve()
    for folder in (start, *start.parents):
        if folder.name != "frozen" and (folder / "frozen").is_dir():  # a plan may itself be called `frozen`
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
    banners = []
    stamps = archive.read_record(loaded.folder).stamps
    if not stamps:
        banners.append(
            "NOT TIMESTAMPED: the frozen folder proves what the plan says, not when it was written"
        )
    elif all(stamp.demo for stamp in stamps):
        banners.append(
            "DEMO TIMESTAMP, NO EVIDENTIAL VALUE: the plan was stamped by the embedded demonstration authority"
        )
    if loaded.unstamped:
        names = ", ".join(loaded.unstamped)
        banners.append(f"AMENDMENT {names} NOT TIMESTAMPED: it could have been written after the results")
    late = [a.amendment.id for a in loaded.effective.amendments if a.amendment.known in LATE]
    if late:
        banners.append(
            f"RULES CHANGED BY AMENDMENT {', '.join(late)} WHEN RESULTS EXISTED: the amendment says what was known"
        )
    return tuple(banners)


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
    plan_id = replay(source).plan.id  # from the plan's own bytes: the record beside it vouches for nothing
    stamped = {found.digest: found.record for found in _amendment_folders(root)}
    own = [each for each in amendments(root) if read_amendment(each.data, each.name).plan == plan_id]
    bare = tuple(
        read_amendment(each.data, each.name).id
        for each in own
        if not any(not stamp.demo for stamp in stamped[each.digest].stamps)
    )
    return LoadedPlan(replay(source, own), document.document_path, root, document.folder, bare)


def _amendment_folders(root: Path) -> list[archive.FrozenDocument]:
    """Every folder under amendments/, loaded.

    Raises:
        ArchiveError: a folder without a record, or a link in place of a folder: a rule could hide behind either.
    """
    home = root / "amendments"
    for path in sorted(home.iterdir()) if home.is_dir() else ():
        if path.is_symlink():
            raise ArchiveError(
                "a link among the amendments", where=Where(file=str(path)), expected="a folder with a freeze.json",
                next_step="Put the amendment itself there, or remove the link.", code="link",
            )  # fmt: skip
    for folder in archive.find_unrecorded(root):
        if folder.parent.name == "amendments":
            raise ArchiveError(
                "an amendment without its record", where=Where(file=str(folder)), expected="freeze.json beside it",
                next_step="Restore the record; without it nobody can tell whether the amendment is in force.",
                code="no-record",
            )  # fmt: skip
    folders = [folder for folder in archive.find_frozen(root) if folder.parent.name == "amendments"]
    return [archive.load_frozen(folder) for folder in folders]


def amendments(root: Path) -> list[Source]:
    """Every frozen amendment under `root`/amendments, bytes checked; whatever lies there must be one.

    Raises:
        ArchiveError: an amendment whose bytes do not match its record, or that has none.
        PlanError: a document there that is no amendment.
    """
    found = []
    for document in _amendment_folders(root):
        if declared_format(document.data) != AMENDMENT_FORMAT:
            raise PlanError(
                "a document among the amendments that is none",
                where=Where(file=str(document.document_path), field="format"),
                expected=AMENDMENT_FORMAT,
                found=declared_format(document.data),
                next_step="Move it to frozen/.",
            )
        found.append(Source(document.data, document.digest, str(document.document_path)))
    return found

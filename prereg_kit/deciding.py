"""From paths to verdicts and back to files: what `prereg decide` does, for the command line and for notebooks.

Floor 3: the plan comes through `plan_archive`, rows through `register_file`, the verdicts from the pure `decision`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prereg_kit import decision, plan_archive
from prereg_kit.decision import Decided, Standing
from prereg_kit.digest import readable_json
from prereg_kit.durable import write_bytes
from prereg_kit.errors import ArchiveError, RegisterError, UsageError, Where
from prereg_kit.plan_archive import LoadedPlan
from prereg_kit.register_file import Registers, open_register
from prereg_kit.verdict import RegisterRef, Verdicts

FILES = ("verdicts.json", "curves.json")


def decide_files(registers: Sequence[Path], *, plan: Path | None = None, root: Path | None = None) -> Decided:
    """Decide a plan on registers on disk.

    Args:
        registers: the index of runs, rows files, folders.
        plan: a plan file or its frozen folder; None takes the one frozen plan that the index names.
        root: the repository; None looks upwards from the plan, or from the first register.

    Raises:
        NotCheckedError: a file is absent, or no plan can be told.
        UsageError: the index names several plans.
        RegisterError, PlanError, ArchiveError, DecisionError: as the parts say; nothing is decided then.
    """
    if not registers:
        raise UsageError("no register was given", next_step="Name one with --register PATH.")
    if plan is not None:
        loaded = plan_archive.load(plan, root)
        rows = open_register(registers, plan_digest=loaded.effective.digest)
    else:
        found = open_register(registers, plan_digest=None)
        if not found.plan_digests:
            raise UsageError(
                "the register names no plan",
                where=Where(file=str(registers[0])),
                next_step="Name the plan with --plan FILE.",
                code="no-plan",
            )
        loaded = plan_archive.named_by(
            set(found.plan_digests), root or plan_archive.find_root(registers[0].parent)
        )
        rows = open_register(registers, plan_digest=loaded.effective.digest)
    return decide_loaded(loaded, rows)


def decide_loaded(loaded: LoadedPlan, rows: Registers) -> Decided:
    """Decide a loaded plan on opened registers.

    Raises:
        RegisterError: the index holds no run of this plan, or a defect.
    """
    if rows.runs is not None and not rows.runs:
        others = ", ".join(sorted(rows.plan_digests)) or "none"
        raise RegisterError(
            f"the index holds no run of the plan {loaded.effective.plan.id}",
            expected=f"runs that name the plan digest {loaded.effective.digest}",
            found=f"plans named: {others}",
            next_step="A plan given by --plan decides rows files directly: name those instead of the index.",
            code="other-plan",
        )
    standing = Standing(
        path=_within(loaded.path, loaded.root),
        frozen=loaded.frozen,
        time=plan_archive.time_in_words(loaded),
        labels=plan_archive.labels(loaded),
    )
    files = [
        RegisterRef(
            path=_within(Path(table.path), loaded.root),
            sha256=table.sha256,
            format=table.format,
            rows=table.rows,
        )
        for table in rows.tables()
    ]
    decided = decision.decide(
        loaded.effective, rows, runs=rows.runs, files=files, notes=rows.notes, standing=standing
    )
    plan = decided.verdicts.plan
    amendments = tuple(
        ref.model_copy(update={"path": _within(Path(ref.path), loaded.root)}) if ref.path else ref
        for ref in plan.amendments
    )
    named = plan.model_copy(update={"amendments": amendments})
    return replace(decided, verdicts=decided.verdicts.model_copy(update={"plan": named}))


def _within(path: Path, root: Path) -> str:
    """`path` as seen from the repository, so that a published result names no folder of one machine."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return str(path)


def refuse_existing(folder: Path) -> None:
    """Refuse a folder that holds results already, before anything is computed.

    Raises:
        ArchiveError: one of the files exists.
    """
    for name in FILES:
        if (folder / name).exists():
            raise ArchiveError(
                "a result exists and is never overwritten",
                where=Where(file=str(folder / name)),
                next_step="Choose another folder with --out.",
                code="exists",
            )


def write(result: Decided, folder: Path) -> tuple[Path, ...]:
    """Write verdicts.json and curves.json; neither is ever overwritten, and verdicts.json comes last.

    Raises:
        ArchiveError: a file exists.
    """
    folder.mkdir(parents=True, exist_ok=True)
    refuse_existing(folder)
    curves, verdicts = folder / "curves.json", folder / "verdicts.json"
    write_bytes(curves, readable_json(result.curves_json()))
    write_bytes(verdicts, readable_json(result.verdicts.to_json()))
    return verdicts, curves


def exit_code(verdicts: Verdicts) -> int:
    """0 if every hypothesis passes, 1 if one fails or is void, 3 if one is undecided or was not run."""
    outcomes = {verdict.outcome for verdict in verdicts.hypotheses.values()}
    if outcomes & {"fail", "void"}:
        return 1
    return 0 if outcomes <= {"pass"} else 3

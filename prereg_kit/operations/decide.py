"""From paths to verdicts and back to files: what `prereg decide` does, for the command line and for notebooks.

Floor 3: the plan comes through `plan_archive`, rows through `register_file`, the verdicts from the pure `decision`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from prereg_kit.decision import decide as decision
from prereg_kit.decision.decide import Decided, Standing
from prereg_kit.decision.ledger import cell_of, is_planned
from prereg_kit.decision.verdict import RegisterRef, Verdicts
from prereg_kit.errors import ArchiveError, RegisterError, UsageError, Where
from prereg_kit.evidence import frozen_plans as plan_archive
from prereg_kit.evidence.frozen_plans import LoadedPlan
from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.durable import write_together
from prereg_kit.operations import materials
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.registers.file import Registers, open_register, plans_named

VERDICTS, CURVES = "verdicts.json", "curves.json"


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
        digests = plans_named(registers)
        if not digests:
            raise UsageError(
                "the register names no plan",
                where=Where(file=str(registers[0])),
                next_step="Name the plan with --plan FILE.",
                code="no-plan",
            )
        loaded = plan_archive.named_by(set(digests), root or plan_archive.find_root(registers[0].parent))
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
    rows = planned_only(rows, loaded.effective)
    bound = materials.compare(loaded.effective.plan, loaded.root)
    standing = Standing(
        path=_within(loaded.path, loaded.root),
        frozen=loaded.frozen,
        time=plan_archive.time_in_words(loaded),
        labels=(*plan_archive.labels(loaded), *materials.banners(bound)),
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
    used = [table.used for table in rows.tables()]  # known only now: by then every endpoint has read its rows
    read = tuple(file.model_copy(update={"used": count}) for file, count in zip(files, used, strict=True))
    guard = materials.guard(bound)
    guards = (*decided.verdicts.guards, *(() if guard is None else (guard,)))
    made = decided.verdicts.model_copy(update={"plan": named, "registers": read, "guards": guards})
    return replace(decided, verdicts=made)


def _within(path: Path, root: Path) -> str:
    r"""`path` as seen from the repository, so that a published result names no folder of one machine.

    Bytes of a name that are not UTF-8 are written as `\xff`, since JSON and the other reports carry Unicode only.
    """
    try:
        text = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        text = str(path)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def planned_only(rows: Registers, effective: EffectivePlan) -> Registers:
    """The registers without the rows of runs that the plan's matrix does not plan: they stand in the ledger only."""
    planned = effective.plan.runs.cells()
    if rows.runs is None or not planned:
        return rows
    return rows.select_runs(lambda run: is_planned(cell_of(run), planned))


def refuse_existing(folder: Path) -> None:
    """Refuse a folder that cannot hold results, or holds some already, before anything is computed.

    A curves.json of ours without a verdicts.json is no result: a run that was stopped left it, and it is replaced.

    Raises:
        ArchiveError: not a folder, or one of the files exists.
    """
    nearest = next((each for each in (folder, *folder.parents) if _there(each)), Path())
    if not nearest.is_dir():
        raise _refused_folder(folder, f"{nearest} is not a folder")
    verdicts, curves = folder / VERDICTS, folder / CURVES
    for path in (verdicts, curves):
        if os.path.lexists(path) and not (path == curves and _left_alone(folder)):
            raise ArchiveError(
                "a result exists and is never overwritten",
                where=Where(file=str(path)),
                next_step="Choose another folder with --out.",
                code="exists",
            )


def _there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _refused_folder(path, error.strerror) from error
    return True


def _left_alone(folder: Path) -> bool:
    """Whether the folder holds the curves of a decision whose verdicts were never written."""
    if os.path.lexists(folder / VERDICTS):
        return False
    try:
        found = json.loads((folder / CURVES).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("format") == "prereg.curves/1"


def _refused_folder(folder: Path, reason: str | None) -> ArchiveError:
    return ArchiveError(
        "the results cannot be written",
        where=Where(file=str(folder)),
        expected="a folder that can be written, or a new one",
        found=reason,
        next_step="Choose another folder with --out; nothing was written.",
        code="out",
    )


def write(result: Decided, folder: Path) -> tuple[Path, ...]:
    """Write verdicts.json and curves.json, both or neither; an existing result is never overwritten.

    Raises:
        ArchiveError: a result exists, or the folder or the disk refuses.
    """
    refuse_existing(folder)
    verdicts, curves = folder / VERDICTS, folder / CURVES
    made: list[Path] = []
    try:
        for each in reversed([folder, *folder.parents]):
            if not each.is_dir():
                each.mkdir()
                made.append(each)
        # verdicts.json comes last: where it stands, the result is whole
        data = {
            curves: readable_json(result.curves_json()),
            verdicts: readable_json(result.verdicts.to_json()),
        }
        write_together(data, replace=(curves,) if _left_alone(folder) else ())
    except (OSError, ArchiveError) as error:
        for each in reversed(made):
            with suppress(OSError):
                each.rmdir()
        if isinstance(error, OSError):
            raise _refused_folder(folder, error.strerror) from error
        raise
    return verdicts, curves


def exit_code(verdicts: Verdicts) -> int:
    """0 if every hypothesis passes, 1 if one fails or is void, 3 if one is undecided or was not run."""
    outcomes = {verdict.outcome for verdict in verdicts.hypotheses.values()}
    if outcomes & {"fail", "void"}:
        return 1
    return 0 if outcomes <= {"pass"} else 3

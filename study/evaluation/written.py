"""An evaluation's registers on disk: DIR/episodes.parquet or groups.parquet, and the row in DIR/runs.parquet.

The first run in a folder writes beside the index; every further one writes into a folder named by its run id, so
one index serves any number of arms, seeds and conditions. Times stand in runs.parquet alone, so the rows' files
are equal, byte for byte, whenever and wherever the same run is played.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from prereg_kit.errors import ArchiveError, UsageError, Where
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.plan.file import read_plan
from prereg_kit.registers.file import add_run, read_runs, sibling_of, write_register
from prereg_kit.registers.formats import RunRow
from study.backoffice.schedule import LAW
from study.evaluation.spec import EvaluationSpec
from study.runs.rows import EpisodeRow, GroupRow, columns

INDEX = "runs.parquet"
NO_PLAN = "0" * 64
"""The plan digest of a run that no plan was made for."""


def digest_of_plan(plan: Path | None, digest: str | None) -> str:
    """The digest of the plan that a run is for: of the file's bytes, or as given, or `NO_PLAN`.

    Raises:
        UsageError: both are given, or a digest that is none.
        PreregError: the file is no plan; the line or field is named.
    """
    if plan is not None and not plan.is_file():
        raise UsageError("--plan", expected="a file", found=str(plan))
    if plan is not None:
        read_plan(
            plan.read_bytes(), str(plan)
        )  # rows made for a file that is no plan would count for nothing
    if plan is not None and digest is not None:
        raise UsageError("--plan and --plan-digest exclude each other")
    if digest is not None and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise UsageError("--plan-digest", expected="64 lower-case hex digits", found=digest)
    return digest or (sha256_file(plan) if plan is not None else NO_PLAN)


def place_for(out: Path, spec: EvaluationSpec) -> Path:
    """Where the rows of a run go, examined before anything is played.

    A register that lies there without a row in the index (an interrupted call left it, or it is somebody's) is left
    alone: the run gets a folder of its own.

    Args:
        out: the folder; need not exist.
        spec: the run.

    Raises:
        ArchiveError: the run is there already, `out` belongs to a training run, or nothing can be written there.
        RegisterError: an index that cannot be read.
    """
    name = "groups.parquet" if spec.group_size else "episodes.parquet"
    run_id = spec.label().run_id
    index = out / INDEX
    _require_usable(out, index)
    runs = read_runs(index) if index.exists() else []
    if any(run.run_id == run_id for run in runs):
        raise ArchiveError(
            "this run is registered here already",
            where=Where(file=str(index), key=run_id),
            next_step="Choose another --out, --seed, --arm or --condition.",
            code="exists",
        )
    beside = out / name
    return out / run_id / name if runs or beside.exists() or beside.is_symlink() else beside


def _require_usable(out: Path, index: Path) -> None:
    place = out.resolve()
    for folder in (place, *place.parents[:2]):  # also inside its checkpoints or attempts
        if (folder / "run.json").exists():
            raise ArchiveError(
                "this folder belongs to a training run, which rewrites its own index",
                where=Where(file=str(folder)),
                next_step="Choose another --out.",
                code="exists",
            )
    nearest = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if (
        not nearest.is_dir()
        or not os.access(nearest, os.W_OK | os.X_OK)
        or any(path.is_symlink() and not path.exists() for path in (out, index))
    ):
        raise ArchiveError(
            "nothing can be written here: it is no folder, its permissions forbid it, or a link leads nowhere",
            where=Where(file=str(out)),
            next_step="Choose another --out.",
        )


def _write_once(
    path: Path, kind: str, table: Mapping[str, Sequence[object]], metadata: Mapping[str, str]
) -> None:
    """Write a register, or find there the very bytes that would be written, as an interrupted call leaves them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write_register(path, kind, table, metadata)
        return
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        same = write_register(part, kind, table, metadata).sha256 == sha256_file(path)
    finally:
        part.unlink(missing_ok=True)
    if not same:
        raise ArchiveError(
            "the register exists and is never overwritten",
            where=Where(file=str(path)),
            next_step="Choose another --out.",
            code="exists",
        )


def write_run(
    out: Path,
    spec: EvaluationSpec,
    rows: Sequence[EpisodeRow] | Sequence[GroupRow],
    *,
    study: str,
    plan_digest: str,
    started_at: str,
    finished_at: str,
    code_commit: str | None,
) -> RunRow:
    """Write a run's rows and then name them in the index.

    Args:
        out: the folder of the index.
        spec: what was played.
        rows: all rows.
        study: the study's name in the index.
        plan_digest: SHA-256 of the plan's bytes, or `NO_PLAN`.
        started_at: RFC 3339, UTC.
        finished_at: alike.
        code_commit: the commit that ran, None if unknown.

    Raises:
        ArchiveError: a file appeared in the meantime.
        RegisterError: the index refuses the row.
    """
    kind: Literal["groups", "episodes"] = "groups" if spec.group_size else "episodes"
    table, metadata = columns(rows), {"config_digest": spec.digest(), "law": LAW}
    path = place_for(out, spec)  # again: another call may have taken the first place meanwhile
    try:
        _write_once(path, kind, table, metadata)
    except ArchiveError:
        path = out / spec.label().run_id / path.name
        _write_once(path, kind, table, metadata)
    label = spec.label()
    run = RunRow(
        run_id=label.run_id,
        study=study,
        plan_digest=plan_digest,
        condition=label.condition,
        arm=label.arm,
        seed=label.seed,
        started_at=started_at,
        finished_at=finished_at,
        code_commit=code_commit,
        config_digest=spec.digest(),
        stack=f"python {platform.python_version()}",
        registers=(sibling_of(out / INDEX, kind, path),),
    )
    add_run(out / INDEX, run)
    return run

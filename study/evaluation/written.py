"""An evaluation's registers on disk: DIR/episodes.parquet or groups.parquet, and the row in DIR/runs.parquet.

The first run in a folder writes beside the index; every further one writes into a folder named by its run id, so
one index serves any number of arms, seeds and conditions. Times stand in runs.parquet alone, so the rows' files
are equal, byte for byte, whenever and wherever the same run is played.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from pathlib import Path

from prereg_kit.digest import sha256_file
from prereg_kit.errors import ArchiveError, UsageError, Where
from prereg_kit.register_file import add_run, read_runs, sibling_of, write_register
from prereg_kit.registers import RunRow
from study.backoffice.schedule import LAW
from study.evaluation.spec import EvaluationSpec
from study.records import EpisodeRow, GroupRow, columns

INDEX = "runs.parquet"
NO_PLAN = "0" * 64
"""The plan digest of a run that no plan was made for."""


def digest_of_plan(plan: Path | None, digest: str | None) -> str:
    """The digest of the plan that a run is for: of the file's bytes, or as given, or `NO_PLAN`.

    Raises:
        UsageError: both are given, or a digest that is none.
    """
    if plan is not None and digest is not None:
        raise UsageError("--plan and --plan-digest exclude each other")
    if digest is not None and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise UsageError("--plan-digest", expected="64 lower-case hex digits", found=digest)
    return digest or (sha256_file(plan) if plan is not None else NO_PLAN)


def place_for(out: Path, spec: EvaluationSpec) -> Path:
    """Where the rows of a run go, examined before anything is played.

    Args:
        out: the folder; need not exist.
        spec: the run.

    Raises:
        ArchiveError: the run is there already, or a file of another origin is in its place.
        RegisterError: an index that cannot be read.
    """
    name = "groups.parquet" if spec.group_size else "episodes.parquet"
    run_id = spec.label().run_id
    index = out / INDEX
    taken = index.exists()
    if taken and any(run.run_id == run_id for run in read_runs(index)):
        raise ArchiveError(
            "this run is registered here already",
            where=Where(file=str(index), key=run_id),
            next_step="Choose another --out, --seed, --arm or --condition.",
            code="exists",
        )
    path = out / run_id / name if taken else out / name
    if path.exists():
        raise ArchiveError(
            "the register exists and is never overwritten",
            where=Where(file=str(path)),
            next_step="Choose another --out.",
            code="exists",
        )
    return path


def write_run(
    path: Path,
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
        path: from `place_for`.
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
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = "groups" if spec.group_size else "episodes"
    write_register(path, kind, columns(rows), {"config_digest": spec.digest(), "law": LAW})
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

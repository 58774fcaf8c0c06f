"""run.json: what one run is and what became of it; and its registers, written from the merged attempts.

run.json and runs.parquet hold times and attempts; groups.parquet and episodes.parquet hold neither, so two runs of
one config write equal bytes, whatever was killed and resumed on the way.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from prereg_kit.errors import ArchiveError, Where
from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.durable import sync_folder, write_bytes
from prereg_kit.registers.file import add_run, sibling_of, write_register, write_runs
from prereg_kit.registers.formats import RunRow, RunStatus
from study.config.file import parse_run, translated
from study.config.run_config import Name, RunConfig
from study.errors import ConfigError, DivergedError, StudyError
from study.runs import step_zero_record
from study.runs.json_file import read_json
from study.runs.log import KINDS, Kind, merged
from study.runs.provenance import Binding, now
from study.runs.spare import temporary

FORMAT = "study.record/1"
_STATUS: dict[str, RunStatus] = {"completed": "completed", "stopped": "running", "running": "running"}
UNBOUND = "0" * 64
"""The plan digest of a run that no frozen plan binds."""


class Divergence(BaseModel):
    """Why an attempt ended as diverged.

    Attributes:
        step: optimiser steps made before the one in which it was seen; None before the first.
        quantity: which number.
        found: its value as text, as JSON has no NaN.
        limit: what it should have been.
    """

    model_config = ConfigDict(strict=True)
    step: int | None
    quantity: str
    found: str
    limit: str

    @classmethod
    def of(cls, error: DivergedError) -> Divergence:
        """The record of an error."""
        return cls(step=error.step, quantity=error.quantity, found=str(error.value), limit=error.limit)


class _Attempt(BaseModel):
    model_config = ConfigDict(strict=True)
    attempt: int
    status: str
    started_at: str
    finished_at: str | None
    step_zero: dict[str, Any] | None = None
    device: str | None = None
    code: dict[str, Any] | None = None
    versions: dict[str, str | None] | None = None
    divergence: Divergence | None = None


class _Binding(BaseModel):
    model_config = ConfigDict(strict=True)
    plan: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    material: str


class _Record(BaseModel):
    """The fields of run.json that anything here reads; others may stand beside them."""

    model_config = ConfigDict(strict=True)
    format: Literal["study.record/1"]
    run_id: Name
    study: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
    config_digest: str
    exploratory: bool
    bound_by: _Binding | None
    config: dict[str, Any]
    attempts: Annotated[list[_Attempt], Field(min_length=1)]
    done: int | None

    @model_validator(mode="after")
    def _bound_or_exploratory(self) -> _Record:
        if self.exploratory == (self.bound_by is not None):
            raise ValueError("a run is either exploratory or bound by a plan")
        return self


def read(folder: Path) -> dict[str, Any]:
    """run.json of a run's folder.

    Raises:
        ConfigError: there is none, it cannot be read, or it is not ours; the field is named.
        StudyError: an attempt names no weights where it names a start.
    """
    path = folder / "run.json"
    try:
        record = read_json(path, "a run's record")
    except FileNotFoundError as error:
        raise ConfigError("no run lies here", where=Where(file=str(path)), expected=FORMAT) from error
    try:
        _Record.model_validate(record)
    except ValidationError as error:
        raise translated(error, str(path)) from error
    for number, attempt in enumerate(record["attempts"]):
        if attempt.get("step_zero") is not None:
            step_zero_record.hold_start(attempt["step_zero"], path, f"attempts.{number}.step_zero.")
    return record


def config_of(record: Mapping[str, Any], path: str = "run.json") -> RunConfig:
    """The resolved config that a record carries.

    Raises:
        ConfigError: not a config, or not the one whose digest stands beside it.
    """
    run = parse_run(json.dumps(record["config"]).encode(), path)
    if run.digest != record["config_digest"] or run.run_id != record["run_id"]:
        raise ConfigError(
            "the record's config is not the one that its digest and run id name",
            where=Where(file=path, field="config"),
            expected=f"{record['run_id']}, {record['config_digest'][:64]}",
            found=f"{run.run_id}, {run.digest}",
        )
    return run


def begin(
    folder: Path,
    run: RunConfig,
    *,
    binding: Binding | None,
    study: str,
    resume: bool,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Open a run's folder for one more attempt.

    Args:
        folder: made if it does not exist.
        run: the resolved config.
        binding: the frozen plan that binds it, None if exploratory.
        study: the study's name in the index.
        resume: continue a run that lies there already.
        facts: versions, code, device and so on, recorded with the attempt.

    Raises:
        ArchiveError: a run lies there and `resume` is false; nothing is touched.
        StudyError: the run that lies there has another config, another plan or study, or its last attempt had
            another device or another version of a package that can change a number; nothing is touched.
    """
    path = folder / "run.json"
    attempt: dict[str, Any] = {
        "attempt": 1,
        "started_at": now(),
        "finished_at": None,
        "status": "running",
        **facts,
    }
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise ArchiveError(
                "the folder is not empty and holds no run",
                where=Where(file=str(folder)),
                next_step="Choose another folder.",
                code="exists",
            )
        folder.mkdir(parents=True, exist_ok=True)
        record: dict[str, Any] = {
            "format": FORMAT,
            "run_id": run.run_id,
            "study": study,
            "config_digest": run.digest,
            "exploratory": binding is None,
            "bound_by": _bound(binding),
            "config": run.model_dump(mode="json"),
            "attempts": [attempt],
            "done": None,
        }
        write_bytes(path, readable_json(record))
        return record
    if not resume:
        raise ArchiveError(
            "a run lies here already",
            where=Where(file=str(path)),
            next_step="Pass --resume to continue it, or choose another folder.",
            code="exists",
        )
    record = read(folder)
    now_so = {"config_digest": run.digest, "study": study, "bound_by": _bound(binding)}
    _require_same({name: record[name] for name in now_so}, now_so, path)
    last = record["attempts"][-1]
    stack = {name: facts.get(name) for name in ("versions", "device")}
    _require_same({name: last.get(name) for name in stack}, stack, path, f"attempts.{last['attempt'] - 1}.")
    for earlier in record["attempts"]:
        if earlier["status"] == "running":  # it can no longer be: this process holds the folder's lock
            earlier["status"] = "failed"
    record["attempts"].append({**attempt, "attempt": len(record["attempts"]) + 1})
    write_bytes(path, readable_json(record), replace=True)
    return record


def _bound(binding: Binding | None) -> dict[str, str] | None:
    if binding is None:
        return None
    return {"plan": binding.plan, "sha256": binding.plan_digest, "material": binding.material}


def _require_same(recorded: Mapping[str, Any], found: Mapping[str, Any], path: Path, field: str = "") -> None:
    """Refuse to continue a run as something else; the first difference is named, down to the package."""
    for name, value in found.items():
        before = recorded.get(name)
        if before == value:
            continue
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            _require_same(before, {key: value.get(key) for key in (*before, *value)}, path, f"{field}{name}.")
            continue
        raise StudyError(
            "the run that lies here is another one",
            where=Where(file=str(path), field=f"{field}{name}"),
            expected=repr(before),
            found=value,
            next_step="Continue it as it was begun, or train it again in another folder.",
        )


def update(folder: Path, record: dict[str, Any], **values: Any) -> None:  # noqa: ANN401
    """Change fields of the attempt in progress and rewrite run.json in one step."""
    record["attempts"][-1].update(values)
    write_bytes(folder / "run.json", readable_json(record), replace=True)


def end(folder: Path, record: dict[str, Any], status: str, done: int, **values: Any) -> None:  # noqa: ANN401
    """Close the attempt in progress.

    Args:
        folder: the run's folder.
        record: from `begin`.
        status: completed, stopped (where it was told to), interrupted, diverged or failed.
        done: optimiser steps made.
        **values: further figures of the attempt.
    """
    record["done"] = done
    update(folder, record, status=status, finished_at=now(), steps_done=done, **values)


def write_registers(folder: Path) -> dict[Kind, Path]:
    """groups.parquet and episodes.parquet from the attempts that count, replacing earlier ones in one step each.

    Raises:
        RegisterError: a damaged log, or a lineage with a gap.
    """
    written: dict[Kind, Path] = {}
    for kind in KINDS:
        rows = merged(folder, kind)
        if not rows:
            continue
        target = folder / f"{kind}.parquet"
        with temporary(folder / f".{kind}.{secrets.token_hex(4)}.partial") as part:
            write_register(part, kind, columns(rows))
            part.replace(target)
        written[kind] = target
    sync_folder(folder)
    return written


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows of one kind as columns; a column of nothing but None is left out."""
    table = {name: [row.get(name) for row in rows] for name in rows[0]}
    return {name: values for name, values in table.items() if any(value is not None for value in values)}


def run_rows(folder: Path, index: Path, record: Mapping[str, Any]) -> list[RunRow]:
    """The run's attempts as rows of an index; the registers, merged over all attempts, belong to the last.

    A run that was only stopped counts as still running: its rows decide nothing until it reaches its last step.

    Args:
        folder: the run's folder, at or below the index's.
        index: path of the index.
        record: run.json.
    """
    run = config_of(record)
    bound = record["bound_by"]
    registers = tuple(
        sibling_of(index, kind, folder / f"{kind}.parquet")
        for kind in KINDS
        if (folder / f"{kind}.parquet").exists()
    )
    rows = []
    for attempt in record["attempts"]:
        last = attempt is record["attempts"][-1]
        rows.append(
            RunRow(
                run_id=record["run_id"],
                study=record["study"],
                plan_digest=UNBOUND if bound is None else bound["sha256"],
                condition=run.condition,
                arm=run.arm,
                seed=run.seed,
                attempt=attempt["attempt"],
                status=_STATUS.get(attempt["status"], "failed") if last else "failed",
                started_at=attempt["started_at"],
                finished_at=attempt["finished_at"],
                accelerator=attempt.get("device"),
                code_commit=(attempt.get("code") or {}).get("commit"),
                config_digest=record["config_digest"],
                stack=", ".join(f"{k} {v}" for k, v in (attempt.get("versions") or {}).items() if v),
                registers=registers if last else (),
            )
        )
    return rows


def write_index(folder: Path, record: Mapping[str, Any]) -> Path:
    """DIR/runs.parquet, which names the run's own registers and nothing else."""
    target = folder / "runs.parquet"
    with temporary(folder / f".runs.{secrets.token_hex(4)}.partial") as part:
        write_runs(part, run_rows(folder, target, record))
        part.replace(target)
    sync_folder(folder)
    return target


def add_to_index(folder: Path, index: Path, record: Mapping[str, Any]) -> bool:
    """Add a completed run to an index that several runs share; False, and nothing done, if it is not completed."""
    if record["attempts"][-1]["status"] != "completed":
        return False
    for row in run_rows(folder, index, record):
        add_run(index, row)
    return True

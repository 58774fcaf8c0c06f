"""The index of runs (`prereg.runs/1`): read with its siblings' digests, and appended to in one step under a lock."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow.parquet as pq

from prereg_kit.errors import NotCheckedError, RegisterError, Where
from prereg_kit.foundation import durable
from prereg_kit.foundation.digest import sha256_bytes, sha256_file
from prereg_kit.registers.file.locate import shape_of
from prereg_kit.registers.file.parts import readable, reading
from prereg_kit.registers.file.write import RegisterInfo, encoded
from prereg_kit.registers.formats import FORMAT_KEY, RUNS, RunRow, Sibling, format_of

INDEX_NAME = "runs.parquet"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|\+00:00)", re.ASCII)
_STATUSES = ("completed", "failed", "running")
_WAIT_S = 60.0


def is_index(path: Path) -> bool:
    """Whether a Parquet file says that it is an index of runs.

    Raises:
        RegisterError: `corrupt`, or `unknown-format` for a version of the index that is not read here.
    """
    with reading(str(path)):
        metadata = pq.read_schema(readable(path)).metadata or {}
    text = metadata.get(FORMAT_KEY.encode())
    return text is not None and format_of(text.decode("utf-8", "replace"), str(path)) is RUNS


def read_runs(path: Path) -> tuple[RunRow, ...]:
    """All rows of an index, in the file's order.

    Raises:
        RegisterError: `corrupt`, `unknown-format`, `format-columns`, or `bad-run` for a row that is no run.
    """
    if not is_index(path):
        raise RegisterError("not an index of runs", where=Where(file=str(path), field=FORMAT_KEY), expected=RUNS.name,
                            code="unknown-format")  # fmt: skip
    with reading(str(path)), pq.ParquetFile(readable(path), page_checksum_verification=True) as source:
        rows = source.read().to_pylist()
    return tuple(_run(row, i, str(path)) for i, row in enumerate(rows))


def write_runs(path: Path, runs: Sequence[RunRow]) -> RegisterInfo:
    """Write a new index; `add_run` appends to an existing one.

    Raises:
        RegisterError: `bad-run`, or `run-exists` where two rows share study, run_id and attempt.
        ArchiveError: the file exists.
    """
    _require_distinct(runs, str(path))
    data = _bytes(runs, str(path))
    durable.write_bytes(path, data)
    return RegisterInfo(path, sha256_bytes(data), len(runs))


def add_run(path: Path, run: RunRow, *, wait_s: float = _WAIT_S) -> RegisterInfo:
    """Append one row to an index, or make the index: no row is lost whatever else writes at the same time.

    A row that is there already, field by field, is left as it is. A row `running` may be followed by the same
    attempt completed or failed. Anything else with the same study, run_id and attempt is refused.

    Args:
        path: the index; its folder must exist.
        run: the row; siblings that exist are checked against their digests.
        wait_s: how long to wait for another writer, in seconds.

    Raises:
        RegisterError: `bad-run`, `run-exists`, `sibling-altered`, `outside`.
        NotCheckedError: `locked`, with the owner of the lock.
    """
    _require_run(run, str(path))
    for sibling in run.registers:
        _require_bytes(path, sibling, run)
    with locked(path, wait_s):
        runs = list(read_runs(path)) if path.exists() else []
        places = [i for i, other in enumerate(runs) if other.identity == run.identity]
        if not places:
            runs.append(run)
        else:
            before = runs[places[0]]
            if before != run and not _continues(before, run):
                raise _exists(before, run, str(path))
            runs[places[0]] = run
        data = _bytes(runs, str(path))
        durable.write_bytes(path, data, replace=True)
    return RegisterInfo(path, sha256_bytes(data), len(runs))


def sibling_of(index: Path, kind: str, file: Path) -> Sibling:
    """A finished register as a sibling of the index: its relative path, digest and number of rows.

    Raises:
        RegisterError: `outside`, where the file is not under the index's folder; `corrupt`.
    """
    root = index.parent.resolve()
    if not file.resolve().is_relative_to(root):
        place, folder = Where(file=str(file)), str(index.parent)
        raise RegisterError(
            "a register outside the index's folder", where=place, expected=folder, code="outside"
        )
    with reading(str(file)):
        rows = pq.read_metadata(readable(file)).num_rows
    return Sibling(kind, file.resolve().relative_to(root).as_posix(), sha256_file(file), rows)


def siblings(index: Path, runs: Sequence[RunRow]) -> dict[Path, tuple[frozenset[str], frozenset[str], str]]:
    """The registers that runs name: file -> (runs that name it, those whose rows count, digest), digests checked.

    A run's rows count if its last attempt is completed and counted; attempts of one run continue each other.
    A file that only a run in progress names is left alone.

    Raises:
        RegisterError: `outside`, `sibling-absent`, `sibling-altered`.
        NotCheckedError: `lfs-pointer`.
    """
    counted = counting(runs)
    found: dict[Path, tuple[set[str], set[str], str]] = {}
    for run in runs:
        if run.status == "running" and run.run_id not in counted:
            continue
        for sibling in run.registers:
            file = _place(index, sibling, run)
            names, good, digest = found.setdefault(file, (set(), set(), sibling.sha256))
            if not names:
                _require_bytes(index, sibling, run, must_exist=True)
            elif digest != sibling.sha256:
                raise _altered(file, sibling, digest, run)
            names.add(run.run_id)
            if run.counted and run.run_id in counted:
                good.add(run.run_id)
    return {
        file: (frozenset(names), frozenset(good), digest) for file, (names, good, digest) in found.items()
    }


def counting(runs: Sequence[RunRow]) -> frozenset[str]:
    """The runs whose rows count: the last attempt is completed and counted."""
    last: dict[str, RunRow] = {}
    for run in runs:
        if run.run_id not in last or run.attempt > last[run.run_id].attempt:
            last[run.run_id] = run
    return frozenset(name for name, run in last.items() if run.counted and run.status == "completed")


@contextmanager
def locked(path: Path, wait_s: float = _WAIT_S) -> Iterator[None]:
    """Hold the lock of an index. The kernel frees it when its owner ends, however it ends.

    Raises:
        NotCheckedError: `locked`, with the owner, after `wait_s` seconds.
    """
    import fcntl

    lock = path.with_name(f".{path.name}.lock")
    with lock.open("a+", encoding="utf-8") as handle:
        end = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise _locked(lock) from None
                time.sleep(0.01)
        handle.seek(0)
        handle.truncate()
        handle.write(
            f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n"
        )
        handle.flush()
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def _locked(lock: Path) -> NotCheckedError:
    owner = "unknown"
    with suppress(OSError):
        owner = lock.read_text(encoding="utf-8").strip() or owner
    return NotCheckedError(
        "another writer holds the index",
        where=Where(file=str(lock)),
        found=owner,
        next_step="Wait for it to end; the lock goes with its process.",
        code="locked",
    )


def _continues(before: RunRow, after: RunRow) -> bool:
    same = ("plan_digest", "condition", "arm", "seed", "started_at")
    return before.status == "running" and all(getattr(before, name) == getattr(after, name) for name in same)


def _place(index: Path, sibling: Sibling, run: RunRow) -> Path:
    path = PurePosixPath(sibling.path)
    file = index.parent / path
    inside = not path.is_absolute() and ".." not in path.parts and "\\" not in sibling.path and path.parts
    if not inside or not file.resolve().is_relative_to(index.parent.resolve()):
        raise RegisterError(
            "a register outside the index's folder",
            where=Where(file=str(index), field="registers", key=run.run_id),
            expected="a relative path under the index's folder, without `..` and not by a link",
            found=sibling.path,
            code="outside",
        )
    return file


def _require_bytes(index: Path, sibling: Sibling, run: RunRow, *, must_exist: bool = False) -> None:
    file = _place(index, sibling, run)
    if not file.is_file():
        if not must_exist:
            return
        raise RegisterError(
            "a register that the index names is not there",
            where=Where(file=str(file), key=run.run_id),
            expected=f"bytes with SHA-256 {sibling.sha256}",
            next_step="Restore it, or give a register that does not need it.",
            code="sibling-absent",
        )
    if must_exist:
        shape_of(file)
    digest = sha256_file(file)
    if digest != sibling.sha256:
        raise _altered(file, sibling, digest, run)


def _altered(file: Path, sibling: Sibling, digest: str, run: RunRow) -> RegisterError:
    return RegisterError(
        "the register's bytes are not those that the index names",
        where=Where(file=str(file), key=run.run_id),
        expected=f"SHA-256 {sibling.sha256}",
        found=digest,
        next_step="Restore the bytes that the run wrote; a changed register decides nothing.",
        code="sibling-altered",
    )


def _exists(before: RunRow, run: RunRow, file: str) -> RegisterError:
    names = [each.name for each in fields(RunRow) if getattr(before, each.name) != getattr(run, each.name)]
    return RegisterError(
        f"the index has this run already, with another {', '.join(names)}",
        where=Where(file=file, field=names[0], key=f"{run.study}, {run.run_id}, attempt {run.attempt}"),
        expected=f"{getattr(before, names[0])!r}",
        found=getattr(run, names[0]),
        next_step="Register another attempt: rows of an index are never changed.",
        code="run-exists",
    )


def _require_distinct(runs: Sequence[RunRow], file: str) -> None:
    seen: dict[tuple[str, str, int], RunRow] = {}
    for run in runs:
        _require_run(run, file)
        if run.identity in seen:
            other = seen[run.identity]
            raise _exists(other, run if run != other else replace(run, stack="(the same row twice)"), file)
        seen[run.identity] = run


def _require_run(run: RunRow, file: str) -> None:
    def refuse(name: str, expected: str) -> RegisterError:
        return RegisterError("not a run", where=Where(file=file, field=name, key=str(run.run_id)), expected=expected,
                             found=getattr(run, name), code="bad-run")  # fmt: skip

    for name in ("run_id", "study"):
        if not isinstance(getattr(run, name), str) or not getattr(run, name):
            raise refuse(name, "a text that is not empty")
    for name in ("seed", "attempt"):
        if not isinstance(getattr(run, name), int) or isinstance(getattr(run, name), bool):
            raise refuse(name, "a whole number")
    if not isinstance(run.plan_digest, str) or not _SHA256.fullmatch(run.plan_digest):
        raise refuse("plan_digest", "the SHA-256 of a plan: 64 lower-case hex digits")
    if run.status not in _STATUSES:
        raise refuse("status", " or ".join(_STATUSES))
    if not isinstance(run.counted, bool):
        raise refuse("counted", "true or false")
    for name in ("started_at", "finished_at"):
        moment = getattr(run, name)
        if moment is not None and not _MOMENT.fullmatch(moment):
            raise refuse(name, "a moment in UTC such as 2026-01-31T08:00:00Z")
    if any(not _SHA256.fullmatch(sibling.sha256) for sibling in run.registers):
        raise refuse("registers", "a SHA-256 of 64 lower-case hex digits")


def _run(row: Mapping[str, Any], i: int, file: str) -> RunRow:
    known = {each.name for each in fields(RunRow)}
    try:
        values = {name: value for name, value in row.items() if name in known}
        found = RunRow(
            **{**values, "registers": tuple(Sibling(**each) for each in row.get("registers") or ())}
        )
    except TypeError as error:
        raise RegisterError(
            f"not a run: {error}", where=Where(file=file, key=str(i + 1)), code="bad-run"
        ) from error
    _require_run(found, file)
    return found


def _bytes(runs: Sequence[RunRow], file: str) -> bytes:
    columns: dict[str, list[Any]] = {
        each.name: [getattr(run, each.name) for run in runs] for each in fields(RunRow)
    }
    columns["registers"] = [
        [{"kind": s.kind, "path": s.path, "sha256": s.sha256, "rows": s.rows} for s in run.registers]
        for run in runs
    ]
    return encoded(RUNS, columns, {}, file)[0]

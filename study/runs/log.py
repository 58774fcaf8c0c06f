"""Append-only registers of one run, safe against a kill at any moment, merged over its attempts by lineage.

    DIR/attempts/001/attempt.json    where this attempt resumed from; written once, whole
    DIR/attempts/001/groups.jsonl    one JSON object a line, in the order in which batches were trained on
    DIR/attempts/001/episodes.jsonl  alike, one evaluation set after another

A batch of rows is one write and one fsync. A reader ignores a last line without its newline, which only a kill
can leave. Steps order everything: a training group carries the number of updates before it was sampled, an
evaluation the number of updates it saw. When attempt k+1 resumed from step r, attempt k counts for groups with
step < r and evaluations with step <= r, and nothing later, so every row is counted once whatever was killed when.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prereg_kit.errors import DocumentError, RegisterError, Where
from prereg_kit.foundation.digest import canonical_json, readable_json
from prereg_kit.foundation.durable import sync_folder, write_bytes
from prereg_kit.foundation.strict_json import read_json, read_json_object

Kind = Literal["groups", "episodes"]
Row = Mapping[str, Any]
KINDS: tuple[Kind, ...] = ("groups", "episodes")


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run.

    Attributes:
        number: 1, 2, ...
        resumed_from: the checkpoint's step, or None for a start from the beginning.
        folder: where its rows lie.
    """

    number: int
    resumed_from: int | None
    folder: Path


def attempts(run: Path) -> list[Attempt]:
    """The attempts of a run in order; a folder without its attempt.json was killed before it began.

    Raises:
        RegisterError: an attempt.json that is not ours.
    """
    found = []
    for folder in sorted((run / "attempts").glob("[0-9][0-9][0-9]")):
        record = folder / "attempt.json"
        if not record.exists():
            continue
        found.append(_attempt(record))
    return found


def _attempt(path: Path) -> Attempt:
    try:
        value = read_json_object(path.read_bytes(), str(path))
    except DocumentError as error:
        raise RegisterError(
            f"not an attempt's record: {error.problem}", where=error.where, found=error.found
        ) from error
    number, resumed_from = value.get("attempt"), value.get("resumed_from", "nothing")
    if type(number) is not int or not (resumed_from is None or type(resumed_from) is int):
        raise RegisterError(
            "not an attempt's record",
            where=Where(file=str(path)),
            expected="attempt, a whole number, and resumed_from, a whole number or null",
            found=(number, resumed_from),
        )
    return Attempt(number, resumed_from, path.parent)


class Log:
    """The rows of the attempt in progress.

    Args:
        attempt: from `begin`.
    """

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt

    @classmethod
    def begin(cls, run: Path, resumed_from: int | None) -> Log:
        """Start the next attempt of a run.

        Args:
            run: the run's folder; it must exist.
            resumed_from: step of the checkpoint that training continues from, None from the start.
        """
        known = attempts(run)
        number = max((int(path.name) for path in (run / "attempts").glob("[0-9][0-9][0-9]")), default=0) + 1
        folder = run / "attempts" / f"{number:03d}"
        folder.mkdir(parents=True)
        write_bytes(
            folder / "attempt.json",
            readable_json(
                {
                    "format": "study.attempt/1",
                    "attempt": number,
                    "resumed_from": resumed_from,
                    "earlier": [attempt.number for attempt in known],
                }
            ),
        )
        sync_folder(folder.parent)
        return cls(Attempt(number, resumed_from, folder))

    def append(self, kind: Kind, rows: Iterable[Row]) -> None:
        """Append rows in one write, flushed to the disk before this returns."""
        data = b"".join(canonical_json(dict(row)) for row in rows)
        handle = os.open(self.attempt.folder / f"{kind}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The complete rows of one file; nothing if it does not exist.

    Raises:
        RegisterError: a complete line that is not a JSON object.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = read_json(line, str(path))
        except DocumentError as error:
            raise RegisterError(
                f"a damaged row: {error.problem}",
                where=Where(file=str(path), line=number, field=error.where.field),
                found=error.found,
            ) from error
        if not isinstance(row, dict) or "step" not in row:
            raise RegisterError("a row without a step", where=Where(file=str(path), line=number))
        rows.append(row)
    return rows


def merged(run: Path, kind: Kind, *, until: int | None = None) -> list[dict[str, Any]]:
    """The rows of a run that count, over all its attempts.

    Args:
        run: the run's folder.
        kind: `groups` or `episodes`.
        until: also drop what lies beyond this checkpoint, as if an attempt resumed from it.

    Raises:
        RegisterError: an attempt that resumed from a step which no earlier attempt reached.
    """
    bound_from = {"groups": 0, "episodes": 1}[kind]  # evaluations of step r happen before checkpoint r
    counted: list[dict[str, Any]] = []
    known = attempts(run)
    for attempt in known:
        start = attempt.resumed_from
        counted = [] if start is None else [row for row in counted if row["step"] < start + bound_from]
        if start and kind == "groups" and (not counted or counted[-1]["step"] != start - 1):
            raise RegisterError(
                f"attempt {attempt.number} resumed from step {start}, which no earlier attempt recorded",
                where=Where(file=str(attempt.folder)),
            )
        counted += read_log(attempt.folder / f"{kind}.jsonl")
    if until is not None:
        counted = [row for row in counted if row["step"] < until + bound_from]
    return counted

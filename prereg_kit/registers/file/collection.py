"""Registers: everything that a decision reads, opened from paths or frames and checked against the index of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prereg_kit.errors import RegisterError, UsageError, Where
from prereg_kit.registers.file.index import INDEX_NAME, counting, is_index, read_runs, siblings
from prereg_kit.registers.file.locate import Found, files_of, shape_of
from prereg_kit.registers.file.parts import Part, beside_index, empty, frame_part, open_part, with_runs
from prereg_kit.registers.file.scan import PartRows
from prereg_kit.registers.formats import FORMATS, KINDS, RunRow

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")


@dataclass(frozen=True)
class TableInfo:
    """A file that was opened: what a decision record says about it. `kind` is None where the file names none.

    `used` counts the rows that entered some endpoint so far; each row counts once.
    """

    path: str
    sha256: str
    format: str
    kind: str | None
    rows: int
    used: int = 0


class Registers:
    """Registers by kind, with the index's runs where there is an index.

    Attributes:
        runs: the runs of the wanted plan, counted or not; None for registers without an index.
        plan_digests: the digests of all plans that the index names, sorted; empty without an index.
        notes: what was passed over: empty parts, other files, runs that do not count.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        runs: Sequence[RunRow] | None = None,
        plan_digests: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self._parts = tuple(parts)
        self.runs: tuple[RunRow, ...] | None = None if runs is None else tuple(runs)
        self.plan_digests = tuple(plan_digests)
        self.notes = tuple(notes)

    @classmethod
    def from_frames(cls, frames: Mapping[str, Any]) -> Registers:
        """Registers from data frames by kind, for notebooks: `Registers.from_frames({"episodes": df})`.

        Args:
            frames: kind -> pandas DataFrame, Arrow table, any object with the Arrow PyCapsule interface (polars,
                DuckDB, ...), or mapping of columns.

        Raises:
            RegisterError: `mixed-types`, `no-rows`, `no-columns`.
            UsageError: an unknown kind, or an object that is no table.
        """
        parts = []
        for kind, frame in frames.items():
            if kind not in KINDS:
                raise UsageError("an unknown kind of register", expected=", ".join(KINDS), found=kind)
            part = frame_part(kind, frame)
            if not part.rows:
                raise empty(part)
            parts.append(part)
        return cls(parts)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that files declare or are named after, sorted."""
        return tuple(sorted({part.kind for part in self._parts if part.kind is not None}))

    def tables(self, kind: str | None = None) -> tuple[TableInfo, ...]:
        """The files that were opened, or those that serve one kind."""
        return tuple(
            TableInfo(
                part.file,
                part.sha256,
                part.format.name if part.format else part.shape,
                part.kind,
                part.rows,
                part.usage.count,
            )
            for part in (self._parts if kind is None else self._serving(kind))
        )

    def has(self, kind: str) -> bool:
        """Whether some rows can serve this kind."""
        return bool(self._serving(kind))

    def rows(self, kind: str) -> PartRows:
        """The rows of one kind: files that declare it or are named after it, else files that declare nothing.

        Raises:
            RegisterError: code `absent-kind`; the kinds present are named.
        """
        serving = self._serving(kind)
        if not serving:
            raise RegisterError(
                f"no {kind} register",
                where=Where(file=self._parts[0].file if self._parts else None),
                expected=f"a file of format {FORMATS[kind].name if kind in FORMATS else kind}",
                found=list(self.kinds),
                next_step="Give the register's path, or add it to its run in the index.",
                code="absent-kind",
            )
        return PartRows(kind, serving, None if self.runs is None else {row.run_id: row for row in self.runs})

    def select_runs(self, keep: Callable[[RunRow], bool]) -> Registers:
        """The same registers with only the rows of runs that `keep` admits, among those that count.

        Raises:
            UsageError: there is no index.
        """
        if self.runs is None:
            raise UsageError("registers without an index have no runs to select")
        kept = {row.run_id for row in self.runs if keep(row)}
        parts = [
            part if part.runs is None else replace(part, counted=part.counted & kept) for part in self._parts
        ]
        return Registers(parts, runs=self.runs, plan_digests=self.plan_digests, notes=self.notes)

    def _serving(self, kind: str) -> tuple[Part, ...]:
        named = tuple(part for part in self._parts if part.kind == kind)
        return named or tuple(part for part in self._parts if part.kind is None)


def plans_named(paths: Sequence[Path | str]) -> tuple[str, ...]:
    """The digests of all plans that the indexes among some paths name, sorted. No other register is opened.

    Raises:
        NotCheckedError, RegisterError: as `open_register`, for the indexes alone.
    """
    return tuple(
        sorted(
            {
                row.plan_digest
                for path in map(Path, paths)
                for each in _look(path)[0]
                for row in read_runs(each)
            }
        )
    )


def _look(path: Path) -> tuple[list[Path], list[Found], list[str]]:
    """The indexes at a path, else its files, and notes. Beside an index at its top a folder is not searched."""
    top = path / INDEX_NAME
    if path.is_dir() and top.is_file() and shape_of(top) == "parquet" and is_index(top):
        return [top], [], []
    found, passed = files_of(path)
    return [each.path for each in found if each.shape == "parquet" and is_index(each.path)], found, passed


def open_register(paths: Sequence[Path | str], *, plan_digest: str | None = None) -> Registers:
    """Open registers.

    Args:
        paths: each the index `runs.parquet`, a register in Parquet or CSV, or a folder (of an index, of parts, or
            partitioned by `key=value`).
        plan_digest: of an index only the runs of this plan are read; None reads all.

    Raises:
        NotCheckedError: `absent`, or `lfs-pointer`.
        RegisterError: `no-rows`, `no-columns`, `corrupt`, `unknown-format`, `not-a-register`, `sibling-altered`,
            `sibling-absent`, `outside`, `contradicts-folder`, `no-runs-of-plan`, ...
    """
    parts: dict[Path, Part] = {}
    runs: list[RunRow] | None = None
    digests: set[str] = set()
    notes: list[str] = []
    for path in map(Path, paths):
        indexes, found, passed = _look(path)
        notes += passed
        for each in indexes:
            runs = [] if runs is None else runs
            of_all = read_runs(each)
            digests.update(row.plan_digest for row in of_all)
            wanted = [row for row in of_all if plan_digest in (None, row.plan_digest)]
            runs += wanted
            counted = counting(wanted)
            notes += [
                f"{each}: rows of {row.run_id}, attempt {row.attempt}, are not used: "
                f"{row.exclusion_reason or (row.status if row.counted else 'not counted')}"
                for row in wanted
                if row.run_id not in counted
            ]
            for file, (named, good, digest) in siblings(each, wanted).items():
                part = open_part(Found(file, shape_of(file)), digest)
                if not part.rows:
                    raise empty(part)
                parts[file.resolve()] = with_runs(part, named, good)
        if not indexes:
            fresh = [file for file in found if file.path.resolve() not in parts]
            read, skipped = _open_all(fresh)
            notes += skipped
            parts.update({Path(part.file).resolve(): part for part in read})
    if runs is not None and plan_digest is not None and not runs:
        raise RegisterError(
            "the index names no run of this plan",
            where=Where(file=str(paths[0]), field="plan_digest"),
            expected=plan_digest,
            found=sorted(digests),
            next_step="Give the plan that the runs belong to, or the register of this plan.",
            code="no-runs-of-plan",
        )
    if runs is not None:
        named, good = frozenset(row.run_id for row in runs), counting(runs)
        parts = {
            file: part if part.runs is not None else beside_index(part, named, good)
            for file, part in parts.items()
        }
    return Registers(list(parts.values()), runs=runs, plan_digests=sorted(digests), notes=notes)


def _open_all(found: Sequence[Found]) -> tuple[list[Part], list[str]]:
    """Open parts, skip empty ones beside others, and settle the types of keys that stand in folder names."""
    opened: list[Part] = []
    notes: list[str] = []
    nothing: RegisterError | None = None
    for each in found:
        try:
            part = open_part(each)
            if not part.rows:
                raise empty(part)
            opened.append(part)
        except RegisterError as error:
            if error.code not in ("no-rows", "no-columns"):
                raise
            nothing = nothing or error
            notes.append(f"{each.path}: {error.problem}; this part was skipped")
    if nothing is not None and not opened:
        raise nothing
    return _typed(opened), notes


def _typed(parts: list[Part]) -> list[Part]:
    names = {name for part in parts for name in part.partition}
    whole = {
        name
        for name in names
        if all(_WHOLE.fullmatch(str(part.partition[name])) for part in parts if name in part.partition)
    }
    return [
        replace(part, partition={n: int(v) if n in whole else v for n, v in part.partition.items()})
        for part in parts
    ]

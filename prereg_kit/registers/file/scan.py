"""Rows of one kind over many parts, streamed as coded blocks for `prereg_kit.registers.cells`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from prereg_kit.errors import RegisterError, Where
from prereg_kit.registers.cells.labels import listing, shown, text_of
from prereg_kit.registers.cells.source import Block, Ints, Levels, Mask, ValueKind
from prereg_kit.registers.file.arrays import Coder, lists_of, values_of
from prereg_kit.registers.file.parts import Part, reading
from prereg_kit.registers.formats import FORMATS, ColumnType, RunRow, role_of

_NUMBERS = {"integer", "number"}


class PartRows:
    """All rows of one kind: implements `prereg_kit.registers.cells.source.Rows`."""

    def __init__(self, kind: str, parts: Sequence[Part], runs: Mapping[str, RunRow] | None = None) -> None:
        self._kind = kind
        self._parts = tuple(parts)
        self._runs = runs or {}
        self._columns: dict[str, ColumnType] = {}
        self._lacking: dict[str, str] = {}
        typed_first = sorted(self._parts, key=lambda part: any(part.is_null(name) for name in part.columns))
        for part in typed_first:
            for name, type_ in part.columns.items():
                before = self._columns.get(name)
                if before is None or (before, type_) == ("integer", "number"):
                    self._columns[name] = type_
        for name in self._columns:
            without = [part.file for part in self._parts if name not in part.columns]
            if without:
                self._lacking[name] = without[0]

    @property
    def kind(self) -> str:
        """The kind asked for."""
        return self._kind

    @property
    def declared(self) -> bool:
        """Whether every file says that it is of this kind."""
        return all(part.format is not None and part.format.kind == self._kind for part in self._parts)

    @property
    def files(self) -> tuple[str, ...]:
        """The files' names."""
        return tuple(part.file for part in self._parts)

    @property
    def size(self) -> int:
        """Number of rows, used or not."""
        return sum(part.rows for part in self._parts)

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns of any part and their types."""
        return self._columns

    @property
    def lacking(self) -> Mapping[str, str]:
        """Columns that some parts lack, with the first such file."""
        return self._lacking

    @property
    def key(self) -> tuple[str, ...]:
        """Every column that identifies a row, in the order of the files."""
        kind = self._kind if all(part.kind == self._kind for part in self._parts) else None
        looks = {name: type_ for part in self._parts for name, type_ in part.looks.items()}
        return tuple(
            name
            for name, type_ in self._columns.items()
            if role_of(name, looks.get(name, type_), kind) == "key"
        )

    def scan(
        self, coded: Sequence[str], values: Mapping[str, ValueKind] | None = None, lists: Sequence[str] = ()
    ) -> PartScan:
        """One pass over the named columns.

        Raises:
            RegisterError: `mixed-types`, where parts disagree on the type of a coded column.
        """
        for name in coded:
            self._require_one_type(name)
        # published figures belong to no run of ours, and so to no index
        figures = self._kind == "reported"
        parts = tuple(replace(part, runs=None) if figures and part.loose else part for part in self._parts)
        return PartScan(parts, self._runs, coded=tuple(coded), values=dict(values or {}), lists=tuple(lists))

    def _require_one_type(self, name: str) -> None:
        types: dict[str, str] = {}
        for part in self._parts:
            if name in part.columns and not part.is_null(name):
                types.setdefault(part.columns[name], part.file)
        if len(types) > 1 and not set(types) <= _NUMBERS:
            shown = ", ".join(f"{type_} in {file}" for type_, file in types.items())
            raise RegisterError(
                f"a key of mixed types: {shown}",
                where=Where(file=next(iter(types.values())), field=name),
                expected="one type in all parts",
                found=sorted(types),
                next_step='Export the parts with the same types; 1 and "1" are never taken for each other.',
                code="mixed-types",
            )


_OF_THE_INDEX = ("condition", "arm", "seed")
"""What an index says of a run and rows may repeat: the two must agree, also where an endpoint does not read them."""


class PartScan:
    """One pass: implements `prereg_kit.registers.cells.source.Scan`."""

    def __init__(
        self,
        parts: tuple[Part, ...],
        runs: Mapping[str, RunRow],
        *,
        coded: tuple[str, ...],
        values: Mapping[str, ValueKind],
        lists: tuple[str, ...],
    ) -> None:
        self._parts = parts
        self._runs = runs
        self._coded = coded
        self._values = values
        self._lists = lists
        names = dict.fromkeys((*coded, *lists, "run_id", *_OF_THE_INDEX))
        self.levels: dict[str, Levels] = {name: Levels() for name in names}

    def __iter__(self) -> Iterator[Block]:
        """The blocks, part by part."""
        for part in self._parts:
            yield from self._blocks(part)

    def _blocks(self, part: Part) -> Iterator[Block]:
        watched = part.runs is not None and "run_id" in part.columns
        if part.runs is not None and not watched:
            if part.loose:
                raise RegisterError(
                    "rows that name no run, beside an index of runs",
                    where=Where(file=part.file, field="run_id"),
                    expected="a column run_id with runs of the index",
                    found=sorted(part.columns)[:10],
                    next_step="Give the rows alone, without the index, or register them in it.",
                    code="stray-run",
                )
            if len(part.runs) > 1:
                raise RegisterError(
                    "several runs share this file and its rows do not say whose they are",
                    where=Where(file=part.file, field="run_id"),
                    expected="a column run_id",
                    found=sorted(part.runs),
                    code="absent-column",
                )
            if not part.counted:
                return
        compared = ("run_id", *(name for name in _OF_THE_INDEX if name in part.columns)) if watched else ()
        names = tuple(dict.fromkeys((*self._coded, *compared)))
        coders = {name: Coder(self.levels[name], part.file, name) for name in (*names, *self._lists)}
        first = 0
        for batch in part.batches((*names, *self._values, *self._lists), as_codes=(*names, *self._values)):
            with reading(part.file):
                codes = {name: self._codes(part, batch, coders[name], name) for name in names}
                block = Block(
                    file=part.file,
                    first_row=first,
                    size=batch.num_rows,
                    codes=codes,
                    values={name: values_of(batch.column(name), kind) for name, kind in self._values.items()},
                    lists={name: lists_of(batch.column(name), coders[name]) for name in self._lists},
                    raw=_raw(batch, part),
                    keep=self._of_counted_runs(part, codes) if watched else None,
                    usage=part.usage,
                )
            yield block
            first += batch.num_rows
        if first != part.rows:
            with reading(part.file):
                raise pa.ArrowInvalid(f"the file says that it has {part.rows} rows and holds {first}")

    def _codes(self, part: Part, batch: pa.RecordBatch, coder: Coder, name: str) -> Ints | int:
        levels = self.levels[name]
        if name in part.partition:
            value = part.partition[name]
            return -1 if value == "" else levels.code(value)
        if name not in part.schema.names:
            return levels.code(None)
        codes = coder.codes(batch.column(name))
        known = part.format or FORMATS.get(part.stem or "")
        declared = known.column(name) if known else None
        if declared is not None and declared.nullable:
            if isinstance(codes, int):
                return levels.code(None) if codes < 0 else codes
            if int(codes.min(initial=0)) < 0:
                return np.where(codes < 0, levels.code(None), codes)
        return codes

    def _of_counted_runs(self, part: Part, codes: Mapping[str, Ints | int]) -> Mask | None:
        """Mask rows of runs that do not count; refuse rows of runs that the index does not name for this file."""
        assert part.runs is not None
        labels = self.levels["run_id"].labels
        run = codes["run_id"]
        present = [run] if isinstance(run, int) else np.unique(run).tolist()
        for code in present:
            if code >= 0 and labels[code] is None:
                continue  # a format may say that some rows, such as published figures, belong to no run
            name = text_of(labels[code]) if code >= 0 else "(missing)"
            if name not in part.runs:
                raise RegisterError(
                    f"rows of the run {shown(name)}, which the index does not name"
                    + (" among the runs of this plan" if part.loose else " for this file"),
                    where=Where(file=part.file, field="run_id"),
                    expected=f"rows of {listing(part.runs)}",
                    found=name,
                    next_step="Correct the run_id, or register the run in the index.",
                    code="stray-run",
                )
            self._require_agreement(part, codes, code, name)
        good = np.array([label is None or text_of(label) in part.counted for label in labels])
        if isinstance(run, int):
            return None if good[run] else np.zeros(1, dtype=np.bool_)
        kept = good[run]
        return None if kept.all() else kept

    def _require_agreement(self, part: Part, codes: Mapping[str, Ints | int], run: int, name: str) -> None:
        row = self._runs.get(name)
        if row is None:
            return
        for column in _OF_THE_INDEX:
            if column not in codes or column not in part.columns:
                continue
            found = codes[column]
            here = [found] if isinstance(found, int) else np.unique(
                found if isinstance(codes["run_id"], int) else found[codes["run_id"] == run]).tolist()  # fmt: skip
            for code in here:
                label = self.levels[column].labels[code] if code >= 0 else None
                if label is not None and text_of(label) != str(getattr(row, column)):
                    raise RegisterError(
                        f"the index says {column} = {getattr(row, column)} for the run {name}, "
                        f"its rows say {text_of(label)}",
                        where=Where(file=part.file, field=column),
                        expected=str(getattr(row, column)),
                        found=text_of(label),
                        code="contradicts-index",
                    )


def _raw(batch: pa.RecordBatch, part: Part) -> Any:  # noqa: ANN401 - a closure over Arrow data
    def raw(name: str, row: int) -> object:
        return part.partition[name] if name in part.partition else batch.column(name)[row].as_py()

    return raw

"""One pass over the rows of an endpoint: integer sums per cell, and the defects that only rows can show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells import sparse
from prereg_kit.registers.cells.constants import Constants
from prereg_kit.registers.cells.counts import whole_counts
from prereg_kit.registers.cells.keys import Packer
from prereg_kit.registers.cells.labels import text_of
from prereg_kit.registers.cells.layout import Layout
from prereg_kit.registers.cells.locate import located
from prereg_kit.registers.cells.repeats import Repeats, settle
from prereg_kit.registers.cells.source import Ints, Label, Rows, ValueKind
from prereg_kit.registers.cells.sums import Sums
from prereg_kit.registers.cells.walk import MissingPolicy, Part, Walk

_MOST_CELLS = 1 << 26


@dataclass(frozen=True)
class Gathered:
    """Sums and counts of shape [arm, unit, axis, task, *averaged], in order of appearance along each axis."""

    layout: Layout
    sums: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    scale: int
    labels: list[list[Label]]
    averaged: dict[str, list[Label]]
    used: int
    total: int
    place: Place
    runs: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class _Owners:
    """The run that each (arm, seed) came from; a second one is a defect."""

    def __init__(self, active: bool) -> None:
        self.active = active
        self._runs: npt.NDArray[np.int64] = np.full((1, 1), -1, dtype=np.int64)
        self.second: tuple[int, int, int, int] | None = None

    def look(self, part: Part, arm: Ints | int, unit: Ints | int, sizes: tuple[int, int]) -> None:
        if not self.active or self.second is not None:
            return
        self._fit(sizes)
        run = part.codes("run_id")
        if isinstance(arm, int) and isinstance(unit, int) and isinstance(run, int):
            self._settle(np.array([arm * self._runs.shape[1] + unit]), np.array([run], dtype=np.int64))
            return
        cell = np.broadcast_to(arm * self._runs.shape[1] + unit, (part.size,))
        self._settle(cell, np.broadcast_to(np.asarray(run, dtype=np.int64), (part.size,)))

    def _settle(self, cell: Ints, run: Ints) -> None:
        flat = self._runs.reshape(-1)
        before = flat[cell]
        wrong = (before >= 0) & (before != run)
        if not wrong.any():
            flat[cell] = run
            before = flat[cell]
            wrong = before != run
        if wrong.any():
            i = int(np.argmax(wrong))
            arm, unit = divmod(int(cell[i]), self._runs.shape[1])
            self.second = (arm, unit, int(before[i]), int(run[i]))

    def _fit(self, sizes: tuple[int, int]) -> None:
        if sizes[0] > self._runs.shape[0] or sizes[1] > self._runs.shape[1]:
            grown = np.full((sizes[0], max(sizes[1], 2 * self._runs.shape[1])), -1, dtype=np.int64)
            grown[: self._runs.shape[0], : self._runs.shape[1]] = self._runs
            self._runs = grown

    def names(self, walk: Walk, layout: Layout) -> dict[tuple[str, str], str]:
        if not self.active:
            return {}
        arms, units = (part.labels(walk.scan.levels.get(part.column, _NONE)) for part in layout.dims[:2])
        labels = walk.scan.levels["run_id"].labels
        return {
            (text_of(arm), text_of(unit)): text_of(labels[self._runs[a, u]])
            for a, arm in enumerate(arms)
            for u, unit in enumerate(units)
            if a < len(self._runs) and u < self._runs.shape[1] and self._runs[a, u] >= 0
        }

    def require(self, walk: Walk, layout: Layout) -> None:
        if self.second is None:
            return
        arm, unit, *both = self.second
        labels = walk.scan.levels["run_id"].labels
        named = {
            part.column: text_of(part.labels(walk.scan.levels[part.column])[i])
            for part, i in zip(layout.dims[:2], (arm, unit), strict=True)
            if part.column
        }
        shown = ", ".join(f"{name}={label}" for name, label in named.items())
        first, second = sorted(text_of(labels[run]) for run in both)
        raise RegisterError(
            f"two runs for one cell: {first} and {second}",
            where=Place(file=walk.rows.files[0], field="run_id", key=shown),
            expected="one run for each arm and seed",
            found=[first, second],
            next_step="Exclude one by a reason that the plan lists, or name the run_id in the endpoint's `where`.",
            code="second-run",
        )


_NONE: Any = type("_NoLevels", (), {"labels": []})()


def gather(
    rows: Rows,
    layout: Layout,
    *,
    value: str,
    value_kind: ValueKind,
    episodes: str | None,
    policy_repeats: Literal["refuse", "drop_exact"],
    missing_values: MissingPolicy,
    complete: bool,
) -> Gathered:
    """Sum the selected rows by cell; `complete` says that every cell must have a row.

    Raises:
        RegisterError: see `prereg_kit.registers.cells.table.cell_table`.
    """
    kinds: dict[str, ValueKind] = {value: "number" if episodes else value_kind}
    if episodes:
        kinds[episodes] = "number"
    watch_runs = "run_id" in rows.columns and "run_id" not in rows.lacking and "run_id" not in layout.where
    watch_runs = watch_runs and "run_id" not in layout.columns

    def walk_() -> Walk:
        return Walk(rows, layout.where, key=layout.columns, required=("run_id",) if watch_runs else (), values=kinds,
                    missing=missing_values)  # fmt: skip

    walk = walk_()
    packer = Packer(layout.fields, rows.size)
    sums, counts = Sums((1,) * len(layout.cells)), Sums((1,) * len(layout.cells))
    constants, owners = Constants(layout.fixed), _Owners(watch_runs)
    used = 0
    hopeless = False
    for part in walk:
        part, locals_ = located(part, layout.fields, walk)  # noqa: PLW2901 - narrowed to the arms and steps asked for
        if not part.size:
            continue
        used += part.size
        part.use()
        constants.look(part)
        owners.look(part, locals_[0], locals_[1], (layout.dims[0].size, layout.dims[1].size))
        keys = packer.pack(locals_, part.size)
        hopeless = complete and sparse.hopeless(layout.cells, rows.size)
        if hopeless:
            continue  # the keys are kept, and say what is missing
        shape = tuple(1 << each.bits for each in layout.cells)
        _require_room(shape, layout)
        sums.reshape(shape)
        counts.reshape(shape)
        cells = keys >> sum(each.bits for each in layout.repeats)
        if episodes:
            successes, out_of = whole_counts(walk, part, value, episodes)
            sums.add(cells, successes, 1)
            counts.add(cells, out_of, 1)
        else:
            sums.add(cells, part.numerators(value), part.block.values[value].denominator)
            counts.add(cells, np.ones(part.size, dtype=np.int64), 1)
    if not used:
        raise walk.selector.nothing()
    constants.require(walk)
    owners.require(walk, layout)
    if hopeless:
        labels = [each.labels(walk.scan.levels.get(each.column, _NONE)) for each in layout.cells]
        cells = packer.kept() >> sum(each.bits for each in layout.repeats)
        raise sparse.refusal(cells, layout.cells, labels, Place(file=rows.files[0]))
    notes = [f"{walk.excluded} rows without a {value} were left out"] if walk.excluded else []
    repeated = packer.repeated()
    if len(repeated):
        corrections: Repeats = settle(walk_(), packer, repeated, tuple(kinds), policy_repeats)
        corrections.apply(sums, layout.repeats, value)
        corrections.apply(counts, layout.repeats, episodes)
        used -= corrections.dropped
        notes.append(corrections.note)
    sizes = tuple(each.size for each in layout.cells)
    return Gathered(
        layout, sums.trimmed(sizes), counts.trimmed(sizes), sums.denominator,
        [each.labels(walk.scan.levels.get(each.column, _NONE)) for each in layout.dims],
        {each.column: each.labels(walk.scan.levels[each.column]) for each in layout.averaged},
        used, rows.size, Place(file=rows.files[0]), owners.names(walk, layout), tuple(notes),
    )  # fmt: skip


def _require_room(shape: tuple[int, ...], layout: Layout) -> None:
    total = 1
    for length in shape:
        total *= length
    if total > _MOST_CELLS:
        raise RegisterError(
            "more cells than a table can hold",
            expected=f"at most {_MOST_CELLS} cells (each dimension rounded up to a power of two)",
            found={each.column: each.size for each in layout.cells if each.column},
            next_step="Select fewer rows with `where`.",
            code="too-many-cells",
        )

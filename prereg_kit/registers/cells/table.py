"""The cell table: successes and episodes per arm, seed, point of an axis, and task, as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.registers.cells.cell_sums import CellSums, sum_cells
from prereg_kit.registers.cells.completeness import Grid
from prereg_kit.registers.cells.labels import canonical_order, text_of
from prereg_kit.registers.cells.layout import lay_out
from prereg_kit.registers.cells.query import CellQuery, Policy
from prereg_kit.registers.cells.source import Label, Source
from prereg_kit.registers.cells.value_span import ValueSpan

Counts = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CellTable:
    """An endpoint's rows, aggregated. Every order is canonical: none depends on the order of the rows.

    Attributes:
        successes: sums of the value times `scale`; shape [arm, unit, axis, task], int64 (object beyond 2**62).
        episodes: numbers of episodes, same shape, int64.
        scale: what sums are divided by; 1 for truth values and whole numbers.
        arms: in the order asked for: treatment, reference; ("",) without arms.
        seeds: the pairing column's labels; ("",) without one.
        axis: the axis' labels; ("",) without an axis.
        tasks: the cluster column's labels; ("",) where there is none, and then `has_tasks` is false.
        runs: (arm, seed) -> run_id, where the register names runs.
        rows_used: rows that entered the table.
        rows_unused: the register's other rows.
        notes: what a policy dropped, and other facts for the decision record.
        span: between which numbers the values lie; it says of a unit whether that is plausible.
    """

    successes: Counts
    episodes: npt.NDArray[np.int64]
    scale: int
    arms: tuple[str, ...]
    seeds: tuple[str, ...]
    axis: tuple[str, ...]
    tasks: tuple[str, ...]
    has_tasks: bool
    rows_used: int
    rows_unused: int
    runs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    span: ValueSpan | None = None

    def numerators(self) -> tuple[Counts, int]:
        """Cell means as whole numbers over one denominator: `mean[a, s, x, t] = numerators[a, s, x, t] / denominator`.

        A cell without episodes (policy `allow`) has numerator 0: mask it with `episodes`.
        """
        sizes = np.unique(self.episodes[self.episodes > 0]).tolist()
        common = math.lcm(*sizes) if sizes else 1
        largest = max((abs(int(self.successes.min())), abs(int(self.successes.max()))), default=0)
        wide = common * max(largest, 1) >= 1 << 62
        factors = np.zeros(self.episodes.shape, dtype=object if wide else np.int64)
        np.floor_divide(common, self.episodes, out=factors, where=self.episodes > 0, casting="unsafe")
        return self.successes * factors, common * self.scale


def cell_table(registers: Source, kind: str, query: CellQuery) -> CellTable:
    """Aggregate the rows that an endpoint names.

    Args:
        registers: where the rows come from.
        kind: the kind of register, for instance episodes or counts.
        query: which rows and columns, and what the frozen plan says about defects.

    Raises:
        RegisterError: a defect, with the row or the key named. Codes: absent-column, absent-value, where-type,
            no-rows-selected, missing-key, missing-value, bad-value, mixed, second-run, repeated-rows,
            conflicting-rows, orphan-seeds, missing-step, missing-cells, unequal-cells, impossible-count.
        UsageError: a query that contradicts itself.
    """
    rows = registers.rows(kind)
    if query.episodes is not None and query.cluster is not None and query.cluster not in rows.columns:
        query = replace(query, cluster=None)  # counts were summed over tasks before they were written
    found = sum_cells(rows, lay_out(rows, query), query)
    return _finished(found, query.policy, query.cluster is not None)


def _finished(found: CellSums, policy: Policy, has_tasks: bool) -> CellTable:
    names = tuple(part.column for part in found.layout.dims)
    orders = [_order(labels) for labels in found.labels]
    sums, counts = found.sums, found.counts
    for place, order in enumerate(orders):
        if place in (0, 2) and found.layout.dims[place].fixed is not None:
            orders[place] = np.arange(len(order))
            continue
        sums, counts = sums.take(order, axis=place), counts.take(order, axis=place)
    grid = Grid(
        counts, sums, names, [[labels[i] for i in order] for labels, order in zip(found.labels, orders, strict=True)],
        averaged=found.averaged, place=found.place,
    )  # fmt: skip
    notes = list(found.notes)
    notes += grid.pair_up(policy.orphans)
    notes += grid.require_steps(policy.missing)
    notes += grid.fill(policy.missing)
    notes += grid.equalise(policy.unequal)
    arms, seeds, axis, tasks = (tuple(text_of(label) for label in labels) for labels in grid.labels)
    return CellTable(
        successes=grid.sums, episodes=grid.counts, scale=found.scale, arms=arms, seeds=seeds, axis=axis, tasks=tasks,
        has_tasks=has_tasks, rows_used=found.used, rows_unused=found.total - found.used, runs=found.runs,
        notes=tuple(notes), span=found.span,
    )  # fmt: skip


def _order(labels: Sequence[Label]) -> npt.NDArray[np.intp]:
    place = {(type(label), label): i for i, label in enumerate(labels)}
    return np.array([place[type(label), label] for label in canonical_order(labels)], dtype=np.intp)

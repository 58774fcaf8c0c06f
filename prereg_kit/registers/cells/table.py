"""The cell table: successes and episodes per arm, seed, point of an axis, and task, as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prereg_kit.registers.cells import complete
from prereg_kit.registers.cells.gather import Gathered, gather
from prereg_kit.registers.cells.labels import canonical_order, text_of
from prereg_kit.registers.cells.layout import lay_out
from prereg_kit.registers.cells.source import Label, Source, ValueKind, Where

Counts = npt.NDArray[Any]


@dataclass(frozen=True)
class Policy:
    """What the frozen plan says about defects. Everything that is not refused is written in the table's notes.

    Attributes:
        repeats: `drop_exact` keeps one of several rows with the same key and the same value; a conflict is refused.
        unequal: `cell_means` admits different numbers of episodes per cell, each cell counting once.
        missing: `exclude_tasks` drops a task that some cell lacks from all cells; `allow` leaves 0 episodes.
        orphans: `exclude` drops seeds that some arm lacks; `allow` leaves 0 episodes.
        missing_values: `exclude` leaves rows without a value out.
    """

    repeats: Literal["refuse", "drop_exact"] = "refuse"
    unequal: Literal["refuse", "cell_means"] = "refuse"
    missing: Literal["refuse", "exclude_tasks", "allow"] = "refuse"
    orphans: Literal["refuse", "exclude", "allow"] = "refuse"
    missing_values: Literal["refuse", "exclude"] = "refuse"


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


def cell_table(
    registers: Source,
    kind: str,
    *,
    where: Where,
    value: str,
    value_kind: ValueKind = "boolean",
    episodes: str | None = None,
    arm: str | None = None,
    arms: Sequence[str] = (),
    pairs: str | None = None,
    cluster: str | None = None,
    axis: str | None = None,
    axis_values: Sequence[str] | None = None,
    key: Sequence[str] | None = None,
    averaged: Sequence[str] = (),
    policy: Policy = Policy(),
) -> CellTable:
    """Aggregate the rows that an endpoint names.

    Args:
        registers: where the rows come from.
        kind: the kind of register, for instance episodes or counts.
        where: conditions on columns; a column given several values is averaged over them.
        value: the column of outcomes.
        value_kind: boolean (true/false, 0/1) or number (exact decimals).
        episodes: for count registers: the column that says out of how many; `value` then holds sums of whole
            numbers. A count register without the cluster column has no tasks.
        arm: the column of arms, with
        arms: the arms in the order wanted: (treatment, reference). Rows of other arms are unused.
        pairs: the column whose equal values pair runs across arms, for instance seed.
        cluster: the column of repeated units, for instance task.
        axis: a column whose points stay apart, for instance step, with
        axis_values: the points that a rule names (other points are unused), or None for those found.
        key: the columns that identify a row, or None for the register's default.
        averaged: columns that the plan averages over, of which every cell must have the same.
        policy: what the frozen plan says about defects.

    Raises:
        RegisterError: a defect, with the row or the key named. Codes: absent-column, absent-value, where-type,
            no-rows-selected, missing-key, missing-value, bad-value, mixed, second-run, repeated-rows,
            conflicting-rows, orphan-seeds, missing-step, missing-cells, unequal-cells, impossible-count.
        UsageError: arguments that contradict each other.
    """
    rows = registers.rows(kind)
    if episodes is not None and cluster is not None and cluster not in rows.columns:
        cluster = None
    layout = lay_out(
        rows, where, arm=arm, arms=arms, pairs=pairs, axis=axis, axis_values=axis_values, cluster=cluster, key=key,
        averaged=averaged, values=(value,) if episodes is None else (value, episodes),
    )  # fmt: skip
    found = gather(rows, layout, value=value, value_kind=value_kind, episodes=episodes, policy_repeats=policy.repeats,
                   missing_values=policy.missing_values,
                   complete=policy.missing == "refuse" and policy.orphans == "refuse")  # fmt: skip
    return _finished(found, policy, cluster is not None)


def _finished(found: Gathered, policy: Policy, has_tasks: bool) -> CellTable:
    names = tuple(part.column for part in found.layout.dims)
    orders = [_order(labels) for labels in found.labels]
    sums, counts = found.sums, found.counts
    for place, order in enumerate(orders):
        if place in (0, 2) and found.layout.dims[place].fixed is not None:
            orders[place] = np.arange(len(order))
            continue
        sums, counts = sums.take(order, axis=place), counts.take(order, axis=place)
    grid = complete.Grid(
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
        notes=tuple(notes),
    )  # fmt: skip


def _order(labels: Sequence[Label]) -> npt.NDArray[np.intp]:
    place = {(type(label), label): i for i, label in enumerate(labels)}
    return np.array([place[type(label), label] for label in canonical_order(labels)], dtype=np.intp)

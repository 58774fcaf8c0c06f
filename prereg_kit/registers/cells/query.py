"""What an endpoint asks of a register, as one value that is passed down: which rows, which columns, which policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prereg_kit.errors import UsageError
from prereg_kit.registers.cells.source import ValueKind, ValueRange, Where

RepeatsPolicy = Literal["refuse", "drop_exact"]
MissingPolicy = Literal["refuse", "exclude"]


def literals(where: Where) -> dict[str, tuple[str, ...]]:
    """Every condition as a tuple of texts."""
    return {name: (wanted,) if isinstance(wanted, str) else tuple(wanted) for name, wanted in where.items()}


def several_values(where: Where) -> tuple[str, ...]:
    """The columns of which the conditions list more than one value: an average is taken over them on purpose."""
    return tuple(name for name, wanted in literals(where).items() if len(wanted) > 1)


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

    repeats: RepeatsPolicy = "refuse"
    unequal: Literal["refuse", "cell_means"] = "refuse"
    missing: Literal["refuse", "exclude_tasks", "allow"] = "refuse"
    orphans: Literal["refuse", "exclude", "allow"] = "refuse"
    missing_values: MissingPolicy = "refuse"

    @property
    def needs_every_cell(self) -> bool:
        """Whether a cell without a row is a defect."""
        return self.missing == "refuse" and self.orphans == "refuse"


@dataclass(frozen=True, kw_only=True)
class CellQuery:
    """A cell table to be made.

    Attributes:
        where: conditions on columns; a column given several values is averaged over them.
        value: the column of outcomes.
        value_kind: boolean (true/false, 0/1) or number (exact decimals).
        value_range: between which numbers every value must lie, None for any.
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
    """

    where: Where = field(default_factory=dict)
    value: str
    value_kind: ValueKind = "boolean"
    value_range: ValueRange | None = None
    episodes: str | None = None
    arm: str | None = None
    arms: Sequence[str] = ()
    pairs: str | None = None
    cluster: str | None = None
    axis: str | None = None
    axis_values: Sequence[str] | None = None
    key: Sequence[str] | None = None
    averaged: Sequence[str] = ()
    policy: Policy = Policy()

    @property
    def values(self) -> Mapping[str, ValueKind]:
        """The value columns and how they are read; counts are whole numbers."""
        if self.episodes is None:
            return {self.value: self.value_kind}
        return {self.value: "number", self.episodes: "number"}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The columns that are dimensions of the table.

        Raises:
            UsageError: arms without an arm column, or two dimensions on one column.
        """
        if bool(self.arms) != (self.arm is not None):
            raise UsageError(
                "arms and their column go together",
                expected="both or neither",
                found=(self.arm, tuple(self.arms)),
            )
        named = [name for name in (self.arm, self.pairs, self.axis, self.cluster) if name is not None]
        if len(set(named)) != len(named):
            raise UsageError("one column cannot be two dimensions of a cell table", found=named)
        return tuple(named)


@dataclass(frozen=True, kw_only=True)
class RateQuery:
    """A count over a count.

    Attributes:
        where: conditions on columns; a column given several values is pooled over them.
        numerator: the flag that is counted, among rows that have the
        denominator: flag; None admits every selected row (in `counts`: the column `episodes`).
        by: a column to split by, where the register has it.
        key: the columns that identify a row, or None for the register's default.
        repeats: what to do with rows of the same key and the same values.
        pooled: further columns to pool over, for instance a plan's own pairing column and repeated units.
    """

    where: Where = field(default_factory=dict)
    numerator: str
    denominator: str | None = None
    by: str | None = "run_id"
    key: Sequence[str] | None = None
    repeats: RepeatsPolicy = "refuse"
    pooled: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class OutcomeQuery:
    """Diagnostic tables: outcomes over schedules x samples for every unit of every `each`."""

    where: Where = field(default_factory=dict)
    value: str = "outcome"
    value_kind: ValueKind = "number"
    value_range: ValueRange | None = None
    each: str = "run_id"
    unit: str = "task"
    schedule: str = "schedule"
    sample: str = "sample"

    @property
    def dimensions(self) -> tuple[str, str, str, str]:
        """The columns of the tables, from the outermost to the innermost."""
        return (self.each, self.unit, self.schedule, self.sample)

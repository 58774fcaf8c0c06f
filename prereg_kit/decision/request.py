"""One endpoint to measure: the plan's words about it, resolved against this reading and this `for_each`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from prereg_kit.decision.verdict import Guard, GuardName, Outcome, Reason, ReasonCode
from prereg_kit.plan import planned_pairs
from prereg_kit.plan.criteria.measured import Unknown
from prereg_kit.plan.endpoint import Contrast, Selected
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.registers import cells
from prereg_kit.registers.cells import Policy, Source
from prereg_kit.registers.cells.source import ValueKind
from prereg_kit.registers.formats import RunRow


@dataclass(frozen=True, eq=False)
class AlongAxis:
    """Cell means before the axis is weighted away: numerators [arm, seed, axis, task] over one denominator."""

    column: str
    axis: tuple[str, ...]
    arms: tuple[str, ...]
    seeds: tuple[str, ...]
    numerators: NDArray[Any]
    denominator: int


@dataclass
class Request:
    """One endpoint to measure; `notes`, `guards` and `along` are filled on the way.

    `only` narrows the rows to the planned pairs, where an endpoint sums over pairs.
    """

    effective: EffectivePlan
    registers: Source
    runs: Sequence[RunRow] | None
    name: str
    endpoint: Selected
    each: dict[str, str]
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    along: AlongAxis | None = None

    @property
    def where(self) -> dict[str, tuple[str, ...]]:
        """The endpoint's conditions with those of `for_each`; a reported register is searched by endpoint name."""
        where = dict(self.endpoint.where)
        if self.endpoint.register_ == "reported":
            where.setdefault("endpoint", (self.name,))
        return where | {column: (value,) for column, value in self.each.items()} | self.only

    @property
    def planned(self) -> planned_pairs.PlannedPairs:
        """The pairs that the plan's matrix plans for this endpoint."""
        return planned_pairs.planned_pairs(self.effective.plan, self.endpoint, self.where)

    def guard(self, name: GuardName, reason: str | None = None) -> None:
        """Note that a guard applied to this endpoint, or the reason why it did not."""
        self.guards.append(Guard(name=name, applies=reason is None, endpoints=(self.name,), reason=reason))

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key columns that the plan gives this register, or None for the register's default."""
        spec = self.effective.plan.registers.get(self.endpoint.register_)
        return None if spec is None else spec.key

    @property
    def policy(self) -> Policy:
        """How the plan says defects are treated."""
        spec = self.effective.plan.registers.get(self.endpoint.register_)
        unequal = self.endpoint.unequal if isinstance(self.endpoint, Contrast) else "refuse"
        return Policy(
            repeats="refuse" if spec is None else spec.repeats,
            unequal=unequal,
            orphans="exclude" if self.effective.plan.runs.missing == "exclude_pair" else "refuse",
        )

    def value_rows(self, value: str, columns: tuple[str, ...]) -> tuple[cells.ValueRow, ...]:
        """The endpoint's rows one by one, each with its exact value and some columns."""
        return cells.value_rows(
            self.registers, self.endpoint.register_, where=self.where, value=value, columns=columns, key=self.key,
            value_range=self.value_range,
        )  # fmt: skip

    def value_kind(self, column: str) -> ValueKind:
        """A proportion is a mean of true and false; every other unit is a mean of numbers."""
        return (
            "boolean"
            if self.endpoint.unit == "proportion" and self.endpoint.register_ != "counts"
            else "number"
        )

    @property
    def value_range(self) -> tuple[Fraction, Fraction] | None:
        """Between which numbers every row must lie, by the endpoint's range or unit."""
        return self.endpoint.bounds

    def unknown(self, outcome: Outcome, code: ReasonCode, message: str) -> Unknown:
        """Nothing to judge, and why."""
        return Unknown(self.name, outcome, (Reason(code=code, message=message),))

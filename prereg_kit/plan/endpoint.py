"""Endpoints: what is computed from which rows. A plan names the columns; nothing here knows a study.

contrast            treatment minus reference per seed pair and repeated unit (decisions: "the cell table")
mean                one average over cells of one selection, for instance a reference arm
rate                a count over a count, for instance spurious groups among all-correct groups
luck_share          one value per run from tables of outcomes over schedules x samples
series              one value per point of an axis, for instance a ratio per checkpoint
distinct            the number of distinct values inside each group of rows
steps_to_threshold  the first step at which a curve reaches a level; never reached is a bound, not a value
gap, ratio          two endpoints' estimates combined
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from prereg_kit.foundation.closed import table
from prereg_kit.plan.fields import Column, Exact, Listed, Name, Text, Texts, Value

Conditions = dict[Column, Listed]
"""Columns with the values that count."""

Kind = Literal[
    "contrast", "mean", "rate", "luck_share", "series", "distinct", "steps_to_threshold", "gap", "ratio",
]  # fmt: skip


class Arms(Value):
    """The column that tells the arms apart and the two values that are compared."""

    column: Column = "arm"
    treatment: Text
    reference: Text

    @model_validator(mode="after")
    def _differ(self) -> Arms:
        if self.treatment == self.reference:
            raise ValueError("two different arms")
        return self


class Over(Value):
    """A weighted mean over the values of a column; weights are divided by their sum and every value must be there."""

    column: Column
    weights: Annotated[dict[Text, Exact], Field(min_length=1)]

    @model_validator(mode="after")
    def _positive_total(self) -> Over:
        if sum(self.weights.values()) <= 0:
            raise ValueError("weights whose sum is positive")
        return self


class _Endpoint(Value):
    description: Text = ""
    unit: Text = "proportion"

    def combines(self) -> tuple[str, ...]:
        """The endpoints whose estimates this one is made of; none for an endpoint that is read from rows."""
        return ()


class Selection(_Endpoint):
    """A register (by kind: episodes, counts, groups, luck, probe, reported) and the rows of it that count.

    `unit: proportion` means true or false in every row, `unit: fraction` a number from 0 to 1. `range` says between
    which numbers every row must lie; a row outside refuses the register.
    """

    register_: Annotated[Name, Field(alias="register")]
    where: Conditions = Field(default_factory=dict)
    range: tuple[Exact, Exact] | None = None

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The least and the greatest value of a row: the declared range, or that of the unit."""
        return (Fraction(0), Fraction(1)) if self.range is None and self.unit == "fraction" else self.range

    @model_validator(mode="after")
    def _sensible_range(self) -> Self:
        if self.range is None:
            return self
        if isinstance(self, Rate | Distinct):
            raise ValueError("no range, since this endpoint counts rows and averages no numbers")
        if self.range[0] >= self.range[1]:
            raise ValueError("a range whose first number is below its second")
        if self.unit == "proportion":
            raise ValueError(
                "a unit beside the range: `unit: proportion`, the default, means true or false per row"
            )
        if self.unit == "fraction" and not 0 <= self.range[0] < self.range[1] <= 1:
            raise ValueError("a range within 0 and 1, since the unit is fraction")
        return self

    @abstractmethod
    def column(self) -> str:
        """The column that is averaged, counted or compared."""


class Contrast(Selection):
    """Treatment minus reference: cells by (arm, pairing column, `over`, cluster column).

    `arms` overrides the plan's arms. `unequal: cell_means` admits different numbers of rows per cell, which the
    default refuses.
    """

    kind: Literal["contrast"] = "contrast"
    value: Column
    over: Over | None = None
    arms: Arms | None = None
    unequal: Literal["refuse", "cell_means"] = "refuse"

    def column(self) -> str:
        """The column `value`."""
        return self.value


class Mean(Selection):
    """The average of `value` over the cells of one selection, each run counting once, each unit once."""

    kind: Literal["mean"]
    value: Column
    over: Over | None = None

    def column(self) -> str:
        """The column `value`."""
        return self.value


class Rate(Selection):
    """Rows where `count` is true, among rows where `among` is true (or all rows).

    On a count register `count` and `among` name columns of whole numbers, which are summed.
    """

    kind: Literal["rate"]
    count: Column
    among: Column | None = None

    def column(self) -> str:
        """The column `count`."""
        return self.count


class LuckShare(Selection):
    """One-way random effects per table of schedules x samples, averaged where defined; one value per `each`."""

    kind: Literal["luck_share"]
    value: Column = "outcome"
    each: Column = "run_id"

    def column(self) -> str:
        """The column `value`."""
        return self.value


class Series(Selection):
    """One value per point of `axis`; with `relative_to`, minus the value at that point, which then drops out."""

    kind: Literal["series"]
    value: Column = "value"
    axis: Column
    relative_to: Text | None = None

    def column(self) -> str:
        """The column `value`."""
        return self.value


class Distinct(Selection):
    """How many distinct values `value` (a column or a list column) takes inside each group of rows."""

    kind: Literal["distinct"]
    value: Column
    group: Annotated[tuple[Column, ...], Field(min_length=1)]

    def column(self) -> str:
        """The column `value`."""
        return self.value


class StepsToThreshold(Selection):
    """Per seed and arm, where the curve of `value` over `axis` first reaches `threshold`, linearly interpolated.

    `steps` names the points that must be there; without it the points found are taken.
    """

    kind: Literal["steps_to_threshold"]
    value: Column
    axis: Column = "step"
    steps: Texts | None = None
    arms: Arms | None = None
    threshold: Exact
    unit: Text = "steps"

    def column(self) -> str:
        """The column `value`."""
        return self.value


class Gap(_Endpoint):
    """The estimate of endpoint `of` minus the estimate of endpoint `minus`."""

    kind: Literal["gap"]
    of: Name
    minus: Name

    def combines(self) -> tuple[str, ...]:
        """What is subtracted from what."""
        return self.of, self.minus


class Ratio(_Endpoint):
    """The estimate of endpoint `of` divided by the estimate of endpoint `over`."""

    kind: Literal["ratio"]
    of: Name
    over: Name
    unit: Text = "ratio"

    def combines(self) -> tuple[str, ...]:
        """What is divided by what."""
        return self.of, self.over


def _default_kind(value: Any) -> Any:  # noqa: ANN401 - checked by the union afterwards
    return {"kind": "contrast", **value} if isinstance(value, dict) else value


Selected = Contrast | Mean | Rate | LuckShare | Series | Distinct | StepsToThreshold
"""The kinds that are read from rows of a register."""
_Any = Selected | Gap | Ratio
Endpoint = Annotated[Annotated[_Any, Field(discriminator="kind")], BeforeValidator(_default_kind)]
KINDS: dict[Kind, type[_Endpoint]] = table(
    Kind, {get_args(kind.model_fields["kind"].annotation)[0]: kind for kind in get_args(_Any)}
)


def arms_of(endpoint: Endpoint, arms: Arms) -> Arms | None:
    """The two arms that an endpoint compares, its own or the plan's `arms`; None where it compares none."""
    return (endpoint.arms or arms) if isinstance(endpoint, Contrast | StepsToThreshold) else None

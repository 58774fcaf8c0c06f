"""What an endpoint turned out to be: exact numbers, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from prereg_kit.plan.criteria.clause import Evidence, Outcome, Reason

if TYPE_CHECKING:  # a plan is read, shown and amended without numpy
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Paired:
    """A contrast: `cells` is int64 [seed pair, task]; the true difference of a cell is cells / denominator.

    Cells too large for sums in int64 are Python integers (dtype object), which no engine resamples.

    `has_tasks` is False for counts without rows, where nothing but the seeds could be resampled.
    """

    endpoint: str
    unit: str
    seeds: tuple[str, ...]
    cells: NDArray[Any]
    denominator: int
    has_tasks: bool = True
    evidence: Evidence = "recomputed"

    @property
    def per_unit(self) -> dict[str, Fraction]:
        """Each seed pair's mean difference over tasks, exact."""
        tasks = self.cells.shape[1]
        return {
            seed: Fraction(int(self.cells[index].sum()), tasks * self.denominator)
            for index, seed in enumerate(self.seeds)
        }

    @property
    def value(self) -> Fraction:
        """The mean difference over seed pairs and tasks, exact."""
        return Fraction(int(self.cells.sum()), self.cells.size * self.denominator)

    def without(self, seed: str) -> Paired:
        """The same contrast with one seed pair left out."""
        keep = [index for index, name in enumerate(self.seeds) if name != seed]
        return replace(self, seeds=tuple(self.seeds[i] for i in keep), cells=self.cells[keep])


@dataclass(frozen=True)
class Scalar:
    """One exact number; `per_unit` shows what it was made from."""

    endpoint: str
    unit: str
    value: Fraction
    evidence: Evidence = "recomputed"
    per_unit: dict[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Units:
    """One value per unit (a run, a checkpoint), with ends of an interval where they are known.

    `lower` and `upper` map (unit, level) to an end; the unit "" stands for the least favourable of all units.
    """

    endpoint: str
    unit: str
    values: dict[str, Fraction]
    lower: dict[tuple[str, Fraction], Fraction] = field(default_factory=dict)
    upper: dict[tuple[str, Fraction], Fraction] = field(default_factory=dict)
    evidence: Evidence = "recomputed"
    undefined: int = 0

    @property
    def value(self) -> Fraction:
        """The mean over units."""
        return sum(self.values.values(), Fraction(0)) / len(self.values)


@dataclass(frozen=True)
class Groups:
    """How many groups of rows there are and how many have one distinct value; an example of either kind."""

    endpoint: str
    unit: str
    groups: int
    with_one: int
    first_with_one: str | None = None
    first_with_several: str | None = None
    evidence: Evidence = "recomputed"

    @property
    def value(self) -> Fraction:
        """The share of groups with one distinct value."""
        return Fraction(self.with_one, self.groups)


@dataclass(frozen=True)
class Reach:
    """Where a curve first reaches a threshold: `at` in steps, or None where it never does up to `horizon`."""

    at: Fraction | None
    horizon: Fraction


@dataclass(frozen=True)
class Steps:
    """Steps to a threshold per arm and seed. Censored values are bounds: there is no mean, and nothing is imputed."""

    endpoint: str
    unit: str
    treatment: dict[str, Reach]
    reference: dict[str, Reach]
    evidence: Evidence = "recomputed"

    def difference(self, seed: str) -> tuple[Fraction | None, Fraction | None]:
        """Bounds of treatment minus reference: equal where both are known, None where open.

        A finite end that differs from the other is never attained: the difference lies strictly beyond it.
        """
        first, second = self.treatment[seed], self.reference[seed]
        if first.at is not None and second.at is not None:
            return first.at - second.at, first.at - second.at
        if first.at is not None:
            return None, first.at - second.horizon
        if second.at is not None:
            return first.horizon - second.at, None
        return None, None


@dataclass(frozen=True)
class Unknown:
    """Nothing to judge: `outcome` is not_run or not_evaluable, and the reasons name what is missing."""

    endpoint: str
    outcome: Outcome
    reasons: tuple[Reason, ...]


Measured = Paired | Scalar | Units | Groups | Steps | Unknown

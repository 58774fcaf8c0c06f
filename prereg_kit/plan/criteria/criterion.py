"""What every criterion is: typed fields, and one meaning that everything else asks for. Pure.

A criterion is evaluated exactly on measured endpoints (`judged`), on a possible register (`true_in`), and on many
simulated studies (`holds_in`). It says itself what it compares, in words and in numbers.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import model_serializer

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.clause import Clause, Evidence, Figure, Interval, Outcome, Reason
from prereg_kit.plan.criteria.compare import (
    LOW,
    Bounds,
    EndBound,
    meets,
    numbers,
    within,
    within_arrays,
)
from prereg_kit.plan.criteria.measured import Measured, Unknown
from prereg_kit.plan.criteria.possible import Point, PossibleRegister, Studies
from prereg_kit.plan.endpoint import Endpoint, Kind
from prereg_kit.plan.fields import Name, Value, decimal_text

if TYPE_CHECKING:
    from prereg_kit.plan.criteria.compare import Flags


class BaseCriterion(Value):
    """Base of every criterion; serialises to the form of the plan, `{name: {...}}`.

    `body` names the one field that stands for the whole body, as in `{all: [...]}`.
    """

    criterion: str
    body: ClassVar[str | None] = None

    @model_serializer(mode="plain")
    def _as_written(self) -> dict[str, Any]:
        if self.body is not None:
            return {self.criterion: _written(getattr(self, self.body))}
        fields = {name: _written(getattr(self, name)) for name in type(self).model_fields}
        return {
            self.criterion: {
                name: value for name, value in fields.items() if value is not None and name != "criterion"
            }
        }

    @abstractmethod
    def words(self) -> str:
        """The criterion as an English phrase without a final stop."""

    @abstractmethod
    def judged(self, answers: Answers) -> Clause:
        """The criterion on the registers: exact and three-valued.

        A clause that cannot be evaluated never turns into a false one.

        Raises:
            DecisionError: an interval method that the engines refuse by name.
        """

    @abstractmethod
    def true_in(self, register: PossibleRegister) -> bool:
        """Whether it holds in a possible register, exact."""

    @abstractmethod
    def holds_in(self, studies: Studies) -> Flags:
        """Whether it holds, [simulated study]; only where `obstacle` is None."""

    @abstractmethod
    def obstacle(self) -> str | None:
        """Why it cannot be simulated from per-seed differences; None if it can."""

    def parts(self) -> tuple[BaseCriterion, ...]:
        """The criteria directly inside."""
        return ()

    def replaced(self, names: Mapping[str, str]) -> Self:
        """The criterion with some endpoints exchanged for others."""
        return self


def _written(value: Any) -> Any:  # noqa: ANN401 - the values of criteria: text, numbers, criteria, tuples of them
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, BaseCriterion):
        return value.model_dump()
    return [_written(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Compared:
    """The bounds of a criterion, by what they bound.

    Attributes:
        mean: the endpoint's estimate.
        each: every seed pair, run or point of an axis.
        ends: ends of the interval.
        groups: whether groups of rows are counted instead.
    """

    mean: Bounds = ()
    each: Bounds = ()
    ends: tuple[EndBound, ...] = ()
    groups: bool = False

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """All the numbers that are compared with, each once."""
        of_ends = tuple((bound.op, bound.bound) for bound in self.ends)
        return numbers((*self.mean, *self.each, *of_ends))


class OneEndpoint(BaseCriterion):
    """A criterion about one endpoint.

    A subclass must name the `kinds` of endpoint that it can be asked about, and whether it is `about_pairs`: whether
    per-seed differences are all that it needs.
    """

    kinds: ClassVar[tuple[Kind, ...]]
    about_pairs: ClassVar[bool]

    endpoint: Name

    @abstractmethod
    def compared(self) -> Compared:
        """The bounds and what they bound."""

    @abstractmethod
    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """The clause on a measured endpoint of one of its kinds, which is not unknown."""

    def misfit(self, name: str, endpoint: Endpoint) -> str | None:
        """Why the criterion cannot be asked about an endpoint of this name; None if it can."""
        if endpoint.kind in self.kinds:
            return None
        kinds = " or ".join(self.kinds)
        return (
            f"the criterion {self.criterion} needs an endpoint of kind {kinds}; {name!r} is a {endpoint.kind}"
        )

    def judged(self, answers: Answers) -> Clause:
        """The clause: what is unknown of the endpoint is unknown of the criterion."""
        measured = answers.measured(self.endpoint)
        if isinstance(measured, Unknown):
            return Clause(
                criterion=self.criterion,
                words=self.words(),
                outcome=measured.outcome,
                endpoint=self.endpoint,
                reasons=measured.reasons,
            )
        return self.assessed(measured, answers)

    def true_in(self, register: PossibleRegister) -> bool:
        """Whether it holds in a possible register, exact."""
        return self.true_at(register.points[self.endpoint])

    def true_at(self, point: Point) -> bool:
        """Whether every bound is met by what it bounds."""
        compared = self.compared()
        if compared.mean and (point.mean is None or not within(compared.mean, point.mean)):
            return False
        return all(within(compared.each, value) for value in point.values) and all(
            meets(op, point.ends[end, level], bound) for end, level, op, bound in compared.ends
        )

    def holds_in(self, studies: Studies) -> Flags:
        """Whether every bound is met by what it bounds, [simulated study]."""
        compared = self.compared()
        differences = studies.differences(self.endpoint)
        held: list[Flags] = []
        if compared.mean:
            held.append(within_arrays(compared.mean, differences.mean(axis=1)))
        if compared.each:
            held.extend(within_arrays(compared.each, differences).T)
        for end, level, op, bound in compared.ends:
            lower, upper = studies.ends(self.endpoint, level)
            held.append(within_arrays(((op, bound),), lower if end == "lower" else upper))
        return reduce(and_, held)

    def obstacle(self) -> str | None:
        """Why per-seed differences are not enough."""
        return None if self.about_pairs else f"its clause {self.criterion} is not about seed pairs"

    def replaced(self, names: Mapping[str, str]) -> Self:
        """The criterion on another endpoint."""
        return self.model_copy(update={"endpoint": names.get(self.endpoint, self.endpoint)})

    def marks(self) -> tuple[Fraction, ...]:
        """The numbers that a reader, or a plot, is shown as its bounds."""
        return self.compared().numbers

    def claims(self) -> tuple[Fraction, ...]:
        """The bounds from below: a pass claims an effect where none of them is negative (non-inferiority is)."""
        compared = self.compared()
        bounds = [
            *compared.mean,
            *compared.each,
            *((b.op, b.bound) for b in compared.ends if b.end == "lower"),
        ]
        return tuple(bound for op, bound in bounds if op in LOW)

    def interval_level(self) -> Fraction | None:
        """The level of the interval that the criterion is about; None where it is about none."""
        return None

    def takes_any_points(self) -> bool:
        """Whether it judges the points of an axis that happen to be there, and not those that the plan names."""
        return False

    def simulates_intervals(self) -> bool:
        """Whether a simulated study of it needs interval ends."""
        return bool(self.compared().ends)

    def clause(
        self,
        measured: Measured,
        reasons: Iterable[Reason],
        *,
        estimate: Fraction | None,
        evidence: Evidence | None = None,
        distance: Fraction | None = None,
        interval: Interval | None = None,
        per_unit: Mapping[str, Fraction] | None = None,
        outcome: Outcome | None = None,
    ) -> Clause:
        """A clause about the endpoint.

        Args:
            measured: the endpoint.
            reasons: why the criterion is not met; empty if it is.
            estimate: the value.
            evidence: what the figures rest on, if on something else than the endpoint does.
            distance: to the nearest bound, positive inside.
            interval: if one was used.
            per_unit: values by seed, run or point.
            outcome: instead of pass or fail, which follow from the reasons.
        """
        assert not isinstance(measured, Unknown)
        evidence = evidence or measured.evidence
        reasons = tuple(reasons)
        return Clause(
            criterion=self.criterion,
            words=self.words(),
            outcome=outcome or ("fail" if reasons else "pass"),
            endpoint=measured.endpoint,
            evidence=evidence,
            estimate=None if estimate is None else Figure.of(estimate, evidence),
            distance=None if distance is None else Figure.of(distance, evidence),
            bounds=tuple(map(Figure.of, self.marks())),
            interval=interval,
            per_unit={unit: Figure.of(value, evidence) for unit, value in (per_unit or {}).items()},
            reasons=reasons,
        )


def registered(*kinds: type[BaseCriterion]) -> dict[str, type[BaseCriterion]]:
    """The criteria by name.

    Raises:
        TypeError: one that lacks a part of its meaning, or has the name of another. The import fails then.
    """
    found: dict[str, type[BaseCriterion]] = {}
    for kind in kinds:
        name = kind.model_fields["criterion"].default
        lacking = sorted(getattr(kind, "__abstractmethods__", ()))
        if issubclass(kind, OneEndpoint):
            lacking += [part for part in ("kinds", "about_pairs") if not hasattr(kind, part)]
        if inspect.isabstract(kind) or lacking:
            raise TypeError(f"the criterion {kind.__name__} does not say: {', '.join(lacking)}")
        if not isinstance(name, str) or name in found:
            raise TypeError(f"the criterion {kind.__name__} has no name of its own: {name!r}")
        found[name] = kind
    return found

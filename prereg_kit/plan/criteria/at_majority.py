"""`at_majority`: a series lies within the bounds at more than half of its points."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.bounded import NeedsBound
from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.compare import bound_words, within
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.every_unit import chosen, wrong_axis
from prereg_kit.plan.criteria.measured import Measured, Units
from prereg_kit.plan.criteria.possible import Point
from prereg_kit.plan.endpoint import Endpoint, Kind
from prereg_kit.plan.fields import Column, Listed


class AtMajority(OneEndpoint, NeedsBound):
    """A series lies within the bounds at more than half of its points."""

    criterion: Literal["at_majority"] = "at_majority"
    kinds: ClassVar[tuple[Kind, ...]] = ("series", "luck_share")
    about_pairs: ClassVar[bool] = False

    over: Column | None = None
    points: Listed | None = None

    def misfit(self, name: str, endpoint: Endpoint) -> str | None:
        """Another kind of endpoint, or a series over another axis."""
        return super().misfit(name, endpoint) or wrong_axis(self.over, name, endpoint)

    def words(self) -> str:
        """Such as `ratio < 1 at more than half of the steps`."""
        axis = self.over or "point"
        points = f"the {axis}s" if self.points is None else f"{axis} {', '.join(self.points)}"
        return f"{self.endpoint} {bound_words(self.bounds)} at more than half of {points}"

    def takes_any_points(self) -> bool:
        """Where the plan names no points."""
        return self.points is None

    def compared(self) -> Compared:
        """Every point's value."""
        return Compared(each=self.bounds)

    def true_at(self, point: Point) -> bool:
        """More than half of the points meet every bound."""
        return 2 * sum(within(self.bounds, value) for value in point.values) > len(point.values)

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """How many points meet every bound, exact; not evaluable where a named point is missing."""
        assert isinstance(measured, Units)
        values = chosen(measured, self.points)
        if isinstance(values, Reason):
            return self.clause(measured, (values,), estimate=None, outcome="not_evaluable")
        held = sum(within(self.bounds, value) for value in values.values())
        reasons: tuple[Reason, ...] = ()
        if 2 * held <= len(values):
            message = f"{held} of {len(values)} points, not more than half"
            reasons = (Reason(code="bound-not-met", message=message),)
        return self.clause(
            measured, reasons, estimate=measured.value, distance=Fraction(2 * held - len(values), 2),
            per_unit=values,
        )  # fmt: skip

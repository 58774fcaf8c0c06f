"""`at_every`: a series lies within the bounds at every point of its axis."""

from __future__ import annotations

from typing import ClassVar, Literal

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.bounded import NeedsBound
from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.compare import bound_words
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.every_unit import chosen, every, wrong_axis
from prereg_kit.plan.criteria.measured import Measured, Units
from prereg_kit.plan.endpoint import Endpoint, Kind
from prereg_kit.plan.fields import Column, Listed


class AtEvery(OneEndpoint, NeedsBound):
    """A series lies within the bounds at every point of its axis (`points` restricts them, all must be there)."""

    criterion: Literal["at_every"] = "at_every"
    kinds: ClassVar[tuple[Kind, ...]] = ("series", "luck_share")
    about_pairs: ClassVar[bool] = False

    over: Column | None = None
    points: Listed | None = None

    def misfit(self, name: str, endpoint: Endpoint) -> str | None:
        """Another kind of endpoint, or a series over another axis."""
        return super().misfit(name, endpoint) or wrong_axis(self.over, name, endpoint)

    def words(self) -> str:
        """Such as `ratio < 1 at every step`."""
        axis = self.over or "point"
        where = f"at every {axis}" if self.points is None else f"at {axis} {', '.join(self.points)}"
        return f"{self.endpoint} {bound_words(self.bounds)} {where}"

    def takes_any_points(self) -> bool:
        """Where the plan names no points."""
        return self.points is None

    def compared(self) -> Compared:
        """Every point's value."""
        return Compared(each=self.bounds)

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """Each point's value, exact, against each bound; not evaluable where a named point is missing."""
        assert isinstance(measured, Units)
        values = chosen(measured, self.points)
        if isinstance(values, Reason):
            return self.clause(measured, (values,), estimate=None, outcome="not_evaluable")
        return every(self, self.bounds, values, measured, self.over or "point")

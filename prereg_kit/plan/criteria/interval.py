"""`interval`: ends of a contrast's two-sided interval, at the level written in the criterion."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import model_validator

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.compare import SIGNS, End, EndBound, Op, number, percent
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.measured import Measured, Paired
from prereg_kit.plan.endpoint import Kind
from prereg_kit.plan.fields import Exact, Level, PercentileMethod


class IntervalEnd(OneEndpoint):
    """One end of a two-sided interval, at the level written here, lies on the wanted side of a bound.

    The lower end is the quantile at (1 - level)/2 and the upper end that at 1 - (1 - level)/2, by inverse CDF.
    """

    criterion: Literal["interval"] = "interval"
    kinds: ClassVar[tuple[Kind, ...]] = ("contrast",)
    about_pairs: ClassVar[bool] = True

    two_sided_level: Level = Fraction(19, 20)
    method: PercentileMethod = "percentile"
    lower_above: Exact | None = None
    lower_at_least: Exact | None = None
    upper_below: Exact | None = None
    upper_at_most: Exact | None = None
    lower_below: Exact | None = None
    upper_above: Exact | None = None

    @model_validator(mode="after")
    def _has_end(self) -> IntervalEnd:
        if not self.ends:
            raise ValueError(
                "lower_above, lower_at_least, lower_below, upper_below, upper_at_most or upper_above"
            )
        return self

    @property
    def ends(self) -> tuple[tuple[End, Op, Fraction], ...]:
        """Each (end, comparison, bound) that was given."""
        named: tuple[tuple[End, Op, Fraction | None], ...] = (
            ("lower", "above", self.lower_above),
            ("lower", "at_least", self.lower_at_least),
            ("lower", "below", self.lower_below),
            ("upper", "below", self.upper_below),
            ("upper", "at_most", self.upper_at_most),
            ("upper", "above", self.upper_above),
        )
        return tuple((end, op, bound) for end, op, bound in named if bound is not None)

    def words(self) -> str:
        """Such as `95 % interval of success: lower end > 0`."""
        ends = " and ".join(f"{end} end {SIGNS[op]} {number(bound)}" for end, op, bound in self.ends)
        return f"{percent(self.two_sided_level)} interval of {self.endpoint}: {ends}"

    def compared(self) -> Compared:
        """The ends."""
        return Compared(ends=tuple(EndBound(e, self.two_sided_level, op, b) for e, op, b in self.ends))

    def interval_level(self) -> Fraction:
        """The level that the plan names for this criterion."""
        return self.two_sided_level

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """Each end against its bound; inconclusive where one lies within its Monte Carlo error and none is unmet."""
        assert isinstance(measured, Paired)
        found = answers.interval(measured, self.two_sided_level, self.method)
        if isinstance(found, Reason):
            return self.clause(
                measured, (found,), estimate=measured.value, per_unit=measured.per_unit,
                outcome="not_evaluable",
            )  # fmt: skip
        reasons: list[Reason] = []
        unsure: list[Reason] = []
        distances = []
        for end, op, bound in self.ends:
            unmet, undecided, distance = found.against(end, op, bound, f"{end} end: ")
            distances.append(distance)
            reasons += unmet
            unsure += undecided
        return self.clause(
            measured, reasons or unsure, estimate=measured.value, distance=min(distances), interval=found.shown,
            evidence="reported" if found.shown.engine == "reported" else None, per_unit=measured.per_unit,
            outcome="inconclusive" if unsure and not reasons else None,
        )  # fmt: skip

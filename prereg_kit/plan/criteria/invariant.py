"""`invariant`: every group of rows has one distinct value, or every group has several."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from prereg_kit.foundation.closed import table
from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.measured import Groups, Measured
from prereg_kit.plan.criteria.possible import Point
from prereg_kit.plan.endpoint import Kind

Wanted = Literal["one_value", "several_values"]
_WORDS: dict[Wanted, str] = table(
    Wanted,
    {
        "one_value": "every group has one distinct value",
        "several_values": "every group has more than one distinct value",
    },
)


class Invariant(OneEndpoint):
    """Every group of rows has one distinct value, or every group has several (no group with one)."""

    criterion: Literal["invariant"] = "invariant"
    kinds: ClassVar[tuple[Kind, ...]] = ("distinct",)
    about_pairs: ClassVar[bool] = False

    each_group_has: Wanted

    def words(self) -> str:
        """Such as `actions: every group has one distinct value`."""
        return f"{self.endpoint}: {_WORDS[self.each_group_has]}"

    def compared(self) -> Compared:
        """Groups are counted; nothing is compared with a number."""
        return Compared(groups=True)

    def true_at(self, point: Point) -> bool:
        """Every group is of the wanted sort."""
        return bool(point.all_groups if self.each_group_has == "one_value" else point.no_group)

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """The groups that are not of the wanted sort, with an example."""
        assert isinstance(measured, Groups)
        if self.each_group_has == "one_value":
            exceptions, example = measured.groups - measured.with_one, measured.first_with_several
        else:
            exceptions, example = measured.with_one, measured.first_with_one
        reasons: tuple[Reason, ...] = ()
        if exceptions:
            at = f", the first at {example}" if example else ""
            message = f"{exceptions} of {measured.groups} groups do not{at}"
            reasons = (Reason(code="bound-not-met", message=message),)
        return self.clause(
            measured, reasons, estimate=Fraction(measured.groups - exceptions, measured.groups)
        )

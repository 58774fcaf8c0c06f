"""`rate`: a rate lies within the bounds, or within a tolerance of a value."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.bounded import Near
from prereg_kit.plan.criteria.clause import Clause
from prereg_kit.plan.criteria.compare import bound_reasons
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.measured import Measured, Scalar
from prereg_kit.plan.endpoint import Kind


class RateCriterion(OneEndpoint, Near):
    """A rate lies within the bounds, or within a tolerance of a value."""

    criterion: Literal["rate"] = "rate"
    kinds: ClassVar[tuple[Kind, ...]] = ("rate",)
    about_pairs: ClassVar[bool] = False

    @model_validator(mode="after")
    def _has_limit(self) -> RateCriterion:
        if not self.limits:
            raise ValueError("a bound, or within and of")
        return self

    def words(self) -> str:
        """Such as `rate spurious ≤ 0.1`."""
        return f"rate {self.endpoint} {self.near_words()}"

    def compared(self) -> Compared:
        """The rate."""
        return Compared(mean=self.limits)

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """The rate, exact, against each bound."""
        assert isinstance(measured, Scalar)
        reasons, distance = bound_reasons(measured.value, self.limits)
        return self.clause(
            measured, reasons, estimate=measured.value, distance=distance, per_unit=measured.per_unit
        )

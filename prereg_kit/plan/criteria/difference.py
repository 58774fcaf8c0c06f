"""`difference`: the mean over seed pairs of treatment minus reference lies within the bounds."""

from __future__ import annotations

from typing import ClassVar, Literal

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.bounded import NeedsBound
from prereg_kit.plan.criteria.clause import Clause
from prereg_kit.plan.criteria.compare import bound_reasons, bound_words
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.measured import Measured, Paired, Scalar
from prereg_kit.plan.endpoint import Kind


class Difference(OneEndpoint, NeedsBound):
    """The mean over seed pairs of treatment minus reference lies within the bounds."""

    criterion: Literal["difference"] = "difference"
    kinds: ClassVar[tuple[Kind, ...]] = ("contrast", "gap")
    about_pairs: ClassVar[bool] = True

    def words(self) -> str:
        """Such as `mean difference of success ≥ 0.03`."""
        return f"mean difference of {self.endpoint} {bound_words(self.bounds)}"

    def compared(self) -> Compared:
        """The mean."""
        return Compared(mean=self.bounds)

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """The mean, exact, against each bound."""
        assert isinstance(measured, Paired | Scalar)
        reasons, distance = bound_reasons(measured.value, self.bounds)
        return self.clause(
            measured, reasons, estimate=measured.value, distance=distance, per_unit=measured.per_unit
        )

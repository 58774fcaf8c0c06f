"""`every_seed`: every seed pair's difference lies within the bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.bounded import NeedsBound
from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.compare import LOW, Op, bound_reasons, bound_words, short
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.every_unit import every
from prereg_kit.plan.criteria.measured import Measured, Paired, Steps
from prereg_kit.plan.endpoint import Kind


class EverySeed(OneEndpoint, NeedsBound):
    """Every seed pair's difference lies within the bounds."""

    criterion: Literal["every_seed"] = "every_seed"
    kinds: ClassVar[tuple[Kind, ...]] = ("contrast", "steps_to_threshold")
    about_pairs: ClassVar[bool] = True

    def words(self) -> str:
        """Such as `every seed's difference of success > 0`."""
        return f"every seed's difference of {self.endpoint} {bound_words(self.bounds)}"

    def compared(self) -> Compared:
        """Every seed pair's difference."""
        return Compared(each=self.bounds)

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """Each seed pair's difference, exact, against each bound."""
        if isinstance(measured, Steps):
            return self._of_steps(measured)
        assert isinstance(measured, Paired)
        return every(self, self.bounds, measured.per_unit, measured, "seed")

    def _of_steps(self, measured: Steps) -> Clause:
        """Some differences are only bounds: a bound may decide, and where it does not the clause is unknown."""
        failed: list[Reason] = []
        unknown: list[Reason] = []
        known: dict[str, Fraction] = {}
        for seed in measured.treatment:
            low, high = measured.difference(seed)
            if low is not None and low == high:
                known[seed] = low
                failed += bound_reasons(low, self.bounds, f"seed {seed}: ")[0]
                continue
            for op, bound in self.bounds:
                reason, decided = _censored(seed, low, high, op, bound)
                if reason is not None:
                    (failed if decided else unknown).append(reason)
        return self.clause(
            measured, failed or unknown, estimate=None, per_unit=known,
            outcome=None if failed or not unknown else "not_evaluable",
        )  # fmt: skip


def _censored(
    seed: str, low: Fraction | None, high: Fraction | None, op: Op, bound: Fraction
) -> tuple[Reason | None, bool]:
    """Why a difference strictly between two ends does not meet a bound, and whether that is certain."""
    over, under = low is not None and low >= bound, high is not None and high <= bound
    met, refuted = (over, under) if op in LOW else (under, over)
    shown = _between(low, high)
    if refuted:
        message = f"seed {seed}: the difference is {shown}, not {op.replace('_', ' ')} {short(bound)}"
        return Reason(code="bound-not-met", message=message), True
    if met:
        return None, True
    return Reason(code="censored", message=f"seed {seed}: the difference is only known to be {shown}"), False


def _between(low: Fraction | None, high: Fraction | None) -> str:
    if low is None and high is None:
        return "unknown (neither arm reached the threshold)"
    return f"above {short(low)}" if low is not None else f"below {short(high or Fraction(0))}"

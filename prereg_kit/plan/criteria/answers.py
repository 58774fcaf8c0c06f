"""What a criterion may ask when it is evaluated, and the intervals that it is told."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prereg_kit.plan.criteria.clause import Evidence, Interval, Outcome, Reason
from prereg_kit.plan.criteria.compare import Bounds, End, Op, bound_reasons, short
from prereg_kit.plan.criteria.measured import Measured, Paired


class Resampled(Protocol):
    """The engine's interval, which knows its own Monte Carlo error."""

    def undecided(self, end: End, bound: Fraction) -> bool:
        """Whether a bound lies within the Monte Carlo error of an end; never for an exact engine."""


@dataclass(frozen=True)
class Ends:
    """An interval: as a verdict shows it, its exact ends, and the engine's own; None where nothing was resampled."""

    shown: Interval
    lower: Fraction
    upper: Fraction
    resampled: Resampled | None = None

    def at(self, end: End) -> Fraction:
        """One end, exact."""
        return self.lower if end == "lower" else self.upper

    def against(
        self, end: End, op: Op, bound: Fraction, name: str
    ) -> tuple[tuple[Reason, ...], tuple[Reason, ...], Fraction]:
        """One end against one bound: why it is not met, why it is undecided, and the distance to the bound.

        An end whose bound lies within the Monte Carlo error is undecided and nothing else.
        """
        bounds: Bounds = ((op, bound),)
        unmet, distance = bound_reasons(self.at(end), bounds, name)
        if self.resampled is None or not self.resampled.undecided(end, bound):
            return unmet, (), distance
        spread = self.shown.mc_sd[0 if end == "lower" else 1] if self.shown.mc_sd else 0.0
        message = (
            f"the {end} end lies {short(abs(distance))} from its bound and its Monte Carlo standard deviation is "
            f"{spread:.3g}; more resamples, or engine: exact, would decide"
        )
        return (), (Reason(code="undecided-at-this-number-of-resamples", message=message),), distance


class Answers(Protocol):
    """The evaluator as a criterion sees it: measured endpoints, intervals, and the outcomes of hypotheses."""

    def measured(self, endpoint: str) -> Measured:
        """The endpoint, measured or unknown."""

    def interval(self, contrast: Paired, level: Fraction, method: str) -> Ends | Reason:
        """The interval, or the reason why there is none."""

    def widened(self, level: Fraction) -> Fraction:
        """The level that a nominal one becomes in a multiplicity family."""

    def outcome_of(self, hypothesis: str) -> tuple[Outcome, Evidence]:
        """The outcome of another hypothesis and the evidence behind it."""

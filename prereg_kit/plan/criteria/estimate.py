"""`estimate`: an estimate lies within the bounds and, if asked, so does an end of its interval, for every unit."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple

from pydantic import model_validator

from prereg_kit.plan.criteria.answers import Answers, Ends
from prereg_kit.plan.criteria.bounded import Near
from prereg_kit.plan.criteria.clause import Clause, Outcome, Reason
from prereg_kit.plan.criteria.compare import LOW, End, EndBound, bound_reasons, number, numbers, percent
from prereg_kit.plan.criteria.criterion import Compared, OneEndpoint
from prereg_kit.plan.criteria.measured import Measured, Paired, Scalar, Steps, Units, Unknown
from prereg_kit.plan.endpoint import Kind
from prereg_kit.plan.fields import Exact, Level


class _Found(NamedTuple):
    """What a comparison gave: reasons why it is unmet, unknown or undecided, and distances to the bounds."""

    unmet: list[Reason]
    missing: list[Reason]
    undecided: list[Reason]
    distances: list[Fraction]


class Estimate(OneEndpoint, Near):
    """An estimate lies within the bounds and, if asked, so does an end of its interval, for every unit."""

    criterion: Literal["estimate"] = "estimate"
    kinds: ClassVar[tuple[Kind, ...]] = (
        "contrast", "mean", "rate", "luck_share", "series", "distinct", "gap", "ratio",
    )  # fmt: skip
    about_pairs: ClassVar[bool] = True

    lower_above: Exact | None = None
    upper_below: Exact | None = None
    level: Level = Fraction(19, 20)

    @model_validator(mode="after")
    def _has_limit(self) -> Estimate:
        if not self.limits and not self._ends():
            raise ValueError("a bound, within and of, lower_above or upper_below")
        return self

    def _ends(self) -> tuple[EndBound, ...]:
        ends = []
        if self.lower_above is not None:
            ends.append(EndBound("lower", self.level, "above", self.lower_above))
        if self.upper_below is not None:
            ends.append(EndBound("upper", self.level, "below", self.upper_below))
        return tuple(ends)

    def words(self) -> str:
        """Such as `loss < 3.3, 99 % upper bound < 3.28`."""
        parts = [self.near_words()] if self.limits else []
        for end, level, op, bound in self._ends():
            sign = ">" if op in LOW else "<"
            parts.append(f"{percent(level)} {end} bound {sign} {number(bound)}")
        return f"{self.endpoint} {', '.join(parts)}"

    def compared(self) -> Compared:
        """The estimate, and the ends of its interval."""
        return Compared(mean=self.limits, ends=self._ends())

    def marks(self) -> tuple[Fraction, ...]:
        """The bounds on the estimate."""
        return numbers(self.limits)

    def claims(self) -> tuple[Fraction, ...]:
        """The bound on the lower end."""
        return () if self.lower_above is None else (self.lower_above,)

    def simulates_intervals(self) -> bool:
        """Always, as if an end were asked for."""
        return True

    def assessed(self, measured: Measured, answers: Answers) -> Clause:
        """The estimate of every unit against each bound, and the asked ends of its interval.

        An unmet bound decides; otherwise an end that is not known makes the clause not evaluable, and one whose bound
        lies within its Monte Carlo error makes it inconclusive.
        """
        assert not isinstance(measured, Unknown | Steps)
        found = _Found([], [], [], [])
        if self.limits:
            for unit, value in _values(measured).items():
                unmet, distance = bound_reasons(value, self.limits, _named(unit))
                found.unmet.extend(unmet)
                found.distances.append(distance)
        for bound in self._ends():
            self._compare_end(bound, measured, answers, found)
        outcome: Outcome | None = None
        if not found.unmet and (found.missing or found.undecided):
            outcome = "not_evaluable" if found.missing else "inconclusive"
        per_unit: dict[str, Fraction] = {}
        if isinstance(measured, Units | Scalar):
            per_unit = measured.values if isinstance(measured, Units) else measured.per_unit
        return self.clause(
            measured, found.unmet or found.missing or found.undecided, estimate=measured.value,
            distance=min(found.distances, default=None), per_unit=per_unit, outcome=outcome,
        )  # fmt: skip

    def _compare_end(self, asked: EndBound, measured: Measured, answers: Answers, found: _Found) -> None:
        end, level, op, bound = asked
        name = f"{end} bound: "
        if isinstance(measured, Paired):
            interval = answers.interval(measured, level, "percentile")
            if isinstance(interval, Ends):
                unmet, undecided, distance = interval.against(end, op, bound, name)
                found.unmet.extend(unmet)
                found.undecided.extend(undecided)
                found.distances.append(distance)
            else:
                found.missing.append(interval)
            return
        known = _known_ends(measured, end, answers.widened(level))
        if isinstance(known, Reason):
            found.missing.append(known)
            return
        for unit, value in known.items():
            unmet, distance = bound_reasons(value, ((op, bound),), _named(unit) + name)
            found.unmet.extend(unmet)
            found.distances.append(distance)


def _values(measured: Measured) -> dict[str, Fraction]:
    assert not isinstance(measured, Unknown | Steps)
    return measured.values if isinstance(measured, Units) else {"": measured.value}


def _named(unit: str) -> str:
    return f"{unit}: " if unit else ""


def _known_ends(measured: Measured, end: End, level: Fraction) -> dict[str, Fraction] | Reason:
    """The wanted end of each unit, or of the least favourable one if only that is known."""
    if isinstance(measured, Units):
        table = measured.lower if end == "lower" else measured.upper
        if ("", level) in table:
            return {"the least favourable unit": table["", level]}
        if all((unit, level) in table for unit in measured.values):
            return {unit: table[unit, level] for unit in measured.values}
    return Reason(
        code="no-reported-figure",
        message=f"no {end} bound at level {float(level):g} is known for {measured.endpoint}",
    )

"""A clause: one criterion evaluated, with its figures and the reasons for its outcome, as a verdicts file holds it.

Six outcomes and no seventh: pass, fail, inconclusive, void, not_run, not_evaluable. A figure that was reported by
somebody and not recomputed by us says so where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from prereg_kit.errors import DecisionError

Outcome = Literal["pass", "fail", "inconclusive", "void", "not_run", "not_evaluable"]
Evidence = Literal["recomputed", "reported"]

ReasonCode = Literal[
    "bound-not-met",  # a clause was evaluated and is false
    "tie-at-strict-bound",  # the figure equals a bound that must be exceeded
    "undecided-at-this-number-of-resamples",  # the margin lies within the endpoint's Monte Carlo error
    "between-the-rules",  # neither passes_if nor fails_if holds
    "both-rules",  # passes_if and fails_if both hold: the plan overlaps
    "no-named-outcome",  # none of the named outcomes holds, or more than one
    "control-failed",  # a control named by `requires` does not hold
    "runs-not-run",  # no run that the endpoint needs was found
    "runs-missing",  # some planned runs were not found
    "runs-not-planned",  # the plan's matrix does not plan what the endpoint needs, or does not name its pairs
    "rows-missing",  # runs are there, rows that the endpoint names are not
    "no-repeated-units",  # counts without rows: no task can be resampled
    "no-reported-figure",  # a retrospective plan names a figure that the register does not report
    "seed-variance-not-identifiable",  # one seed pair
    "no-engine",  # values too fine, or too many, for exact sums
    "degenerate",  # nothing varies: the interval is a point
    "interval-reported",  # the interval was published, not recomputed
    "undefined",  # 0/0 or no variance
    "depends-on-unknown",  # a hypothesis that this one refers to has no truth value
    "censored",  # steps to threshold: a bound, not a value
]


class Record(BaseModel):
    """Base of everything in a verdicts file: immutable, and an unknown field is an error."""

    # A NaN or an infinity has no JSON form and no place in a table: refused where it would enter.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Reason(Record):
    """Why an outcome is what it is: a code of the closed list and a sentence for a person."""

    code: ReasonCode
    message: str


_SHOWN_BITS = 8192
"""A longer fraction is compared exactly and shown as a float only."""


def as_float(number: Fraction) -> float:
    """The nearest float.

    Raises:
        DecisionError: beyond what a float can hold.
    """
    try:
        return float(number)
    except OverflowError as error:
        size = number.numerator.bit_length() - number.denominator.bit_length()
        raise DecisionError(
            "a number too large to be shown", expected="at most 1.8e308", found=f"about 2**{size}"
        ) from error


class Figure(Record):
    """One number. `exact` is a fraction in lowest terms ("71/1920") where one exists."""

    value: float
    exact: str | None = None
    evidence: Evidence = "recomputed"

    @classmethod
    def of(cls, number: Fraction | float, evidence: Evidence = "recomputed") -> Figure:
        """A figure from an exact fraction, or from a float that has no exact form."""
        if isinstance(number, Fraction):
            digits = number.numerator.bit_length() + number.denominator.bit_length()
            shown = str(number) if digits <= _SHOWN_BITS else None
            return cls(value=as_float(number), exact=shown, evidence=evidence)
        return cls(value=number, evidence=evidence)


class Interval(Record):
    """A two-sided interval of level in (0, 1); ends are inverse-CDF quantiles at (1 -+ level)/2.

    `engine` is exact, monte_carlo, t (variance components, Satterthwaite) or reported.
    `mc_sd` is the Monte Carlo standard deviation of the two ends, None where nothing was drawn.
    """

    level: float
    lower: float
    upper: float
    engine: Literal["exact", "monte_carlo", "t", "reported"]
    scheme: str = "seed pairs x tasks, crossed"
    lower_exact: str | None = None
    upper_exact: str | None = None
    resamples: int | None = None
    mc_sd: tuple[float, float] | None = None
    degenerate: bool = False
    note: str | None = None


class Clause(Record):
    """One criterion, evaluated: `words` is the rule in English, `bounds` the numbers that it compares with.

    `distance` is the smallest distance to a bound over everything compared: positive inside, negative outside.
    """

    criterion: str
    words: str
    outcome: Outcome
    endpoint: str | None = None
    evidence: Evidence = "recomputed"
    estimate: Figure | None = None
    distance: Figure | None = None
    bounds: tuple[Figure, ...] = ()
    interval: Interval | None = None
    per_unit: dict[str, Figure] = Field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    clauses: tuple[Clause, ...] = ()


def worst_evidence(clauses: Iterable[Clause]) -> Evidence:
    """Reported if any of the clauses that decide rests on a reported figure."""
    return "reported" if any(clause.evidence == "reported" for clause in clauses) else "recomputed"


def merged(clauses: Iterable[Clause]) -> tuple[Reason, ...]:
    """The clauses' reasons, each once."""
    return tuple(dict.fromkeys(reason for clause in clauses for reason in clause.reasons))

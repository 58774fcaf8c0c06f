"""Verdicts as values, and `prereg.verdicts/1`, the JSON that `decide` writes and everything else reads.

Six outcomes and no seventh: pass, fail, inconclusive, void, not_run, not_evaluable. "Rule passed" (`outcome`)
and "effect established" (`interval_excludes_zero`) are different fields: a point rule can pass while its
interval includes zero. A figure that was reported by somebody and not recomputed by us says so where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from prereg_kit.errors import DecisionError, DocumentError, Where

FORMAT: Final = "prereg.verdicts/1"

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


class _Value(BaseModel):
    # A NaN or an infinity has no JSON form and no place in a table: refused where it would enter.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Reason(_Value):
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


class Figure(_Value):
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


class Interval(_Value):
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


class Clause(_Value):
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


class Stability(_Value):
    """How far the outcome is from another one.

    `leave_one_out` maps a seed to the outcome without its pair; `missing_worst` and `missing_best` are the
    outcomes when every missing planned cell is counted against, or for, the treatment.
    """

    leave_one_out: dict[str, Outcome] = Field(default_factory=dict)
    missing_worst: Outcome | None = None
    missing_best: Outcome | None = None
    note: str | None = None


class Verdict(_Value):
    """The verdict on one hypothesis, or on one reading of it."""

    outcome: Outcome
    evidence: Evidence = "recomputed"
    statement: str = ""
    rule: str = ""
    rule_from: str = "plan"
    result: str | None = None
    reasons: tuple[Reason, ...] = ()
    endpoint: str | None = None
    unit: str | None = None
    estimate: Figure | None = None
    interval: Interval | None = None
    t_interval: Interval | None = None
    interval_excludes_zero: bool | None = None
    per_seed: dict[str, Figure] = Field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()
    readings: dict[str, Verdict] = Field(default_factory=dict)
    stability: Stability | None = None


class PredictionVerdict(_Value):
    """A registered prediction scored: `parts` are its clauses by name, `brier` is (confidence - met)^2."""

    outcome: Outcome
    evidence: Evidence = "recomputed"
    statement: str = ""
    hypothesis: str | None = None
    confidence: float | None = None
    parts: dict[str, Clause] = Field(default_factory=dict)
    readings: dict[str, PredictionVerdict] = Field(default_factory=dict)
    brier: Figure | None = None
    reasons: tuple[Reason, ...] = ()


class PredictionSummary(_Value):
    """Scores over the predictions that could be scored; `met_reported` of the `met` rest on reported figures."""

    scored: int = 0
    met: int = 0
    met_reported: int = 0
    mean_brier: Figure | None = None
    not_run: int = 0


class GateVerdict(_Value):
    """A gate: `holds` is True, False or None (unknown), and then what the plan says follows."""

    condition: str
    then: str
    holds: bool | None = None
    reasons: tuple[Reason, ...] = ()


class LedgerRow(_Value):
    """One planned or found run and what became of it."""

    run_id: str
    status: Literal["included", "excluded", "missing", "extra", "repeated", "not_run"]
    planned: bool
    condition: str | None = None
    arm: str | None = None
    seed: str | None = None
    attempt: int | None = None
    reason: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    details: dict[str, str] = Field(default_factory=dict)


class AmendmentRef(_Value):
    """An amendment in force: its digest, what it changed, and what was known when it was written."""

    id: str
    digest: str
    path: str | None = None
    known: str
    reason: str
    changes: tuple[str, ...] = ()


GuardName = Literal[
    "planned-runs",  # the index names every planned run
    "planned-pairs",  # the rows hold every planned pair, and no other pair is counted
    "missing-pairs-bounded",  # the outcome with missing pairs at worst and at best
    "counted-runs",  # failed, excluded and repeated runs are known
    "rows-agree-with-index",  # the rows name the arm and the pair that the index names for their run
    "one-run-per-cell",  # no cell mixes two runs
    "unmixed",  # no average mixes rows of different conditions, splits, ...
    "distinct-rows",  # no row is counted twice
    "named-points",  # the plan names the points that a series or a curve must have
    "materials",  # the files that the plan binds are those in the repository
]


class Guard(_Value):
    """Whether a guard applied to some endpoints; `reason` says why it did not. No endpoints: to the whole decision."""

    name: GuardName
    applies: bool
    endpoints: tuple[str, ...] = ()
    reason: str | None = None


class PlanRef(_Value):
    """The plan that was decided. `digest` is the SHA-256 of the original frozen file's bytes."""

    id: str
    title: str = ""
    kind: Literal["prospective", "retrospective"] = "prospective"
    digest: str
    path: str | None = None
    frozen: bool = False
    label: str = ""
    time: str = "not stamped"
    amendments: tuple[AmendmentRef, ...] = ()
    disclosures: tuple[dict[str, str], ...] = ()
    note: str = ""


class RegisterRef(_Value):
    """A register that was read: rows used by some endpoint, and rows that none uses."""

    path: str
    sha256: str
    format: str
    rows: int
    used: int = 0
    note: str | None = None


class Verdicts(_Value):
    """Everything `decide` knows, in the order a reader wants it; `labels` are banners for every output."""

    format: Literal["prereg.verdicts/1"] = FORMAT
    evaluator: str
    plan: PlanRef
    registers: tuple[RegisterRef, ...] = ()
    labels: tuple[str, ...] = ()
    hypotheses: dict[str, Verdict] = Field(default_factory=dict)
    predictions: dict[str, PredictionVerdict] = Field(default_factory=dict)
    prediction_summary: PredictionSummary = PredictionSummary()
    gates: dict[str, GateVerdict] = Field(default_factory=dict)
    ledger: tuple[LedgerRow, ...] = ()
    guards: tuple[Guard, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The `prereg.verdicts/1` object; fields without a value are left out."""
        return self.model_dump(mode="json", exclude_none=True)


def read(value: object, source: str) -> Verdicts:
    """Verdicts from parsed JSON.

    Raises:
        DocumentError: another format or version, or a field that does not fit; the first is named.
    """
    from pydantic import ValidationError

    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, Mapping) else type(value).__name__
        raise DocumentError(
            "not a verdicts file",
            where=Where(file=source, field="format"),
            expected=repr(FORMAT),
            found=found,
            next_step="`prereg decide --out DIR` writes verdicts.json.",
        )
    try:
        return Verdicts.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise DocumentError(
            first["msg"],
            where=Where(file=source, field=".".join(str(part) for part in first["loc"])),
            found=first.get("input"),
        ) from error


Number = Annotated[Fraction | float, "an exact fraction where one exists"]

"""Verdicts as values, and `prereg.verdicts/1`, the JSON that `decide` writes and everything else reads.

"Rule passed" (`outcome`) and "effect established" (`interval_excludes_zero`) are different fields: a point rule can
pass while its interval includes zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from prereg_kit.errors import DocumentError, Where
from prereg_kit.plan.criteria.clause import (
    Clause,
    Evidence,
    Figure,
    Interval,
    Outcome,
    Reason,
    ReasonCode,
    Record,
)

__all__ = [
    "FORMAT", "AmendmentRef", "Clause", "Evidence", "Figure", "GateVerdict", "Guard", "GuardName", "Interval",
    "LedgerRow", "Outcome",
    "PlanRef", "PredictionSummary", "PredictionVerdict", "Reason", "ReasonCode", "RegisterRef", "Stability", "Verdict",
    "Verdicts", "read",
]  # fmt: skip

FORMAT: Final = "prereg.verdicts/1"
UNFROZEN: Final = "PLAN NOT FROZEN: these rules could have been written after the results"
"""The banner over every output of a plan that is not frozen."""


class Stability(Record):
    """How far the outcome is from another one.

    `leave_one_out` maps a seed to the outcome without its pair; `missing_worst` and `missing_best` are the
    outcomes when every missing planned cell is counted against, or for, the treatment.
    """

    leave_one_out: dict[str, Outcome] = Field(default_factory=dict)
    missing_worst: Outcome | None = None
    missing_best: Outcome | None = None
    note: str | None = None


class Verdict(Record):
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


class PredictionVerdict(Record):
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


class PredictionSummary(Record):
    """Scores over the predictions that could be scored; `met_reported` of the `met` rest on reported figures."""

    scored: int = 0
    met: int = 0
    met_reported: int = 0
    mean_brier: Figure | None = None
    not_run: int = 0


class GateVerdict(Record):
    """A gate: `holds` is True, False or None (unknown), and then what the plan says follows."""

    condition: str
    then: str
    holds: bool | None = None
    reasons: tuple[Reason, ...] = ()


class LedgerRow(Record):
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


class AmendmentRef(Record):
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
    "unmixed",  # no average mixes rows of different conditions, splits, ...
    "distinct-rows",  # no row is counted twice
    "named-points",  # the plan names the points that a series or a curve must have
    "materials",  # the files that the plan binds are those in the repository
    "materials",  # the files that the plan binds are those in the repository
]


class Guard(Record):
    """Whether a guard applied to some endpoints; `reason` says why it did not. No endpoints: to the whole decision."""

    name: GuardName
    applies: bool
    endpoints: tuple[str, ...] = ()
    reason: str | None = None


class PlanRef(Record):
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


class RegisterRef(Record):
    """A register that was read: rows used by some endpoint, and rows that none uses."""

    path: str
    sha256: str
    format: str
    rows: int
    used: int = 0
    note: str | None = None


class Verdicts(Record):
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

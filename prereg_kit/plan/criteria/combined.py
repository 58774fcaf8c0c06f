"""What criteria made of other criteria share: `all`, `any` and `not`, in three-valued logic. Pure."""

from __future__ import annotations

from typing import Literal

from prereg_kit.foundation.closed import table
from prereg_kit.plan.criteria.clause import Clause, Outcome, merged, worst_evidence
from prereg_kit.plan.criteria.criterion import BaseCriterion

_RANKS: dict[Outcome, int] = table(
    Outcome, {"not_evaluable": 0, "void": 1, "inconclusive": 2, "not_run": 3, "pass": 4, "fail": 4}
)
"""Of several outcomes that are neither pass nor fail, the one of the lowest rank is the combined one."""


def combined(criterion: BaseCriterion, clauses: list[Clause], decisive: Literal["pass", "fail"]) -> Clause:
    """The clause of `all` (a `fail` is decisive) or of `any` (a `pass` is).

    Only the clauses that decide lend their evidence and their reasons.
    """
    neutral: Outcome = "pass" if decisive == "fail" else "fail"
    outcomes = {clause.outcome for clause in clauses}
    outcome: Outcome
    if decisive in outcomes:
        outcome = decisive
        deciding = [clause for clause in clauses if clause.outcome == decisive]
    elif outcomes == {neutral}:
        outcome, deciding = neutral, clauses
    else:
        deciding = [clause for clause in clauses if clause.outcome != neutral]
        outcome = min((clause.outcome for clause in deciding), key=_RANKS.__getitem__)
    return Clause(
        criterion=criterion.criterion,
        words=criterion.words(),
        outcome=outcome,
        evidence=worst_evidence(deciding),
        reasons=merged(deciding),
        clauses=tuple(clauses),
    )


def swapped(criterion: BaseCriterion, inner: Clause) -> Clause:
    """The clause of `not`: pass and fail change places, anything else stays unknown."""
    other: dict[Outcome, Outcome] = {"pass": "fail", "fail": "pass"}
    return Clause(
        criterion=criterion.criterion,
        words=criterion.words(),
        outcome=other.get(inner.outcome, inner.outcome),
        evidence=inner.evidence,
        reasons=() if inner.outcome in other else inner.reasons,
        clauses=(inner,),
    )

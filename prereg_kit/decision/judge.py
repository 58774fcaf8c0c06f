"""One criterion against measured endpoints: a clause, exact and three-valued. Pure.

Comparisons are between fractions. A clause that cannot be evaluated never turns into a false one.
"""

from __future__ import annotations

from collections.abc import Iterable

from prereg_kit.decision.clauses import LEAVES, Court
from prereg_kit.decision.measured import Unknown
from prereg_kit.decision.verdict import Clause, Evidence, Outcome, Reason
from prereg_kit.plan.criterion import All, AnyOf, Criterion_, Holds, Not
from prereg_kit.plan.words import criterion_words


def judge(criterion: Criterion_, court: Court) -> Clause:
    """Evaluate a criterion.

    Raises:
        DecisionError: an interval method that the engines refuse by name.
    """
    match criterion:
        case All():
            return _combined("all", criterion, [judge(clause, court) for clause in criterion.of])
        case AnyOf():
            return _combined("any", criterion, [judge(clause, court) for clause in criterion.of])
        case Not():
            inner = judge(criterion.of, court)
            swapped: dict[Outcome, Outcome] = {"pass": "fail", "fail": "pass"}
            return Clause(
                criterion="not",
                words=criterion_words(criterion),
                outcome=swapped.get(inner.outcome, inner.outcome),
                evidence=inner.evidence,
                reasons=inner.reasons if inner.outcome not in swapped else (),
                clauses=(inner,),
            )
        case Holds():
            return _holds(criterion, court)
    endpoint: str = getattr(criterion, "endpoint")  # noqa: B009 - every remaining criterion names one
    measured = court.measured(endpoint)
    if isinstance(measured, Unknown):
        return Clause(
            criterion=criterion.criterion,  # type: ignore[attr-defined]
            words=criterion_words(criterion),
            outcome=measured.outcome,
            endpoint=endpoint,
            reasons=measured.reasons,
        )
    return LEAVES[type(criterion)](criterion, measured, court)


def _holds(criterion: Holds, court: Court) -> Clause:
    outcome, evidence = court.outcome_of(criterion.hypothesis)
    known = outcome in ("pass", "fail")
    reason = Reason(code="depends-on-unknown", message=f"{criterion.hypothesis} is {outcome}")
    return Clause(
        criterion="holds",
        words=criterion_words(criterion),
        outcome=outcome if known or outcome == "not_run" else "not_evaluable",
        evidence=evidence,
        reasons=() if known else (reason,),
    )


def _combined(name: str, criterion: Criterion_, clauses: list[Clause]) -> Clause:
    outcomes = [clause.outcome for clause in clauses]
    decisive: Outcome = "fail" if name == "all" else "pass"
    neutral: Outcome = "pass" if name == "all" else "fail"
    outcome: Outcome
    if decisive in outcomes:
        outcome = decisive
        deciding = [clause for clause in clauses if clause.outcome == decisive]
    elif all(found == neutral for found in outcomes):
        outcome, deciding = neutral, clauses
    else:
        deciding = [clause for clause in clauses if clause.outcome != neutral]
        outcome = _unknown(clause.outcome for clause in deciding)
    return Clause(
        criterion=name,
        words=criterion_words(criterion),
        outcome=outcome,
        evidence=worst_evidence(deciding),
        reasons=merged(deciding),
        clauses=tuple(clauses),
    )


def _unknown(outcomes: Iterable[Outcome]) -> Outcome:
    """Of several outcomes that are neither pass nor fail, the one that says most."""
    found = set(outcomes)
    order: tuple[Outcome, ...] = ("not_evaluable", "void", "inconclusive", "not_run")
    for outcome in order:
        if outcome in found:
            return outcome
    raise AssertionError("an unknown clause without an unknown outcome")


def worst_evidence(clauses: Iterable[Clause]) -> Evidence:
    """Reported if any of the clauses that decide rests on a reported figure."""
    return "reported" if any(clause.evidence == "reported" for clause in clauses) else "recomputed"


def merged(clauses: Iterable[Clause]) -> tuple[Reason, ...]:
    """The clauses' reasons, each once."""
    return tuple(dict.fromkeys(reason for clause in clauses for reason in clause.reasons))

"""A value against its bounds, and the clause that says how it went: what every leaf criterion is judged with. Pure.

Comparisons are between fractions; a tie at a strict bound fails and says that it is a tie.
"""

from __future__ import annotations

from fractions import Fraction

from prereg_kit.decision.verdict import Clause, Evidence, Figure, Interval, Outcome, Reason, as_float
from prereg_kit.plan.criterion import Bounded, Criterion_, Estimate, IntervalEnd, Op, RateCriterion
from prereg_kit.plan.words import criterion_words

Bounds = tuple[tuple[Op, Fraction], ...]


def meets(op: Op, value: Fraction, bound: Fraction) -> bool:
    """Whether `value` lies on the wanted side of `bound`; a tie meets at_least and at_most only."""
    if op == "above":
        return value > bound
    if op == "at_least":
        return value >= bound
    if op == "below":
        return value < bound
    return value <= bound


def bound_reasons(value: Fraction, bounds: Bounds) -> tuple[tuple[Reason, ...], Fraction]:
    """Why the bounds are not met, and the signed distance to the nearest: positive inside, negative outside."""
    reasons = []
    distances = []
    for op, bound in bounds:
        distances.append(value - bound if op in ("above", "at_least") else bound - value)
        if not meets(op, value, bound):
            tie = value == bound
            reasons.append(
                Reason(
                    code="tie-at-strict-bound" if tie else "bound-not-met",
                    message=f"{short(value)} is not {op.replace('_', ' ')} {short(bound)}"
                    + (": it equals the bound" if tie else ""),
                )
            )
    return tuple(reasons), min(distances)


def short(value: Fraction) -> str:
    """Six significant digits, for messages."""
    return f"{as_float(value):.6g}"


def _bounds(criterion: Criterion_) -> tuple[Fraction, ...]:
    """The numbers that a criterion compares with, each once, for a reader and for marks on a plot."""
    if isinstance(criterion, IntervalEnd):
        return tuple(dict.fromkeys(bound for _, _, bound in criterion.ends))
    if isinstance(criterion, RateCriterion | Estimate):
        return tuple(dict.fromkeys(bound for _, bound in criterion.limits))
    return (
        tuple(dict.fromkeys(bound for _, bound in criterion.bounds)) if isinstance(criterion, Bounded) else ()
    )


def undecided(distance: Fraction, spread: float) -> bool:
    """Whether a bound lies within the Monte Carlo standard deviation of an interval end."""
    return spread > 0 and abs(float(distance)) <= spread


def unsure_reason(end: str, distance: Fraction, spread: float) -> Reason:
    """Why an end that lies so near its bound decides nothing."""
    return Reason(
        code="undecided-at-this-number-of-resamples",
        message=f"the {end} end lies {short(abs(distance))} from its bound and its Monte Carlo standard deviation is "
        f"{spread:.3g}; more resamples, or engine: exact, would decide",
    )


def clause(
    criterion: Criterion_,
    endpoint: str,
    reasons: tuple[Reason, ...],
    *,
    evidence: Evidence,
    estimate: Fraction | None,
    distance: Fraction | None = None,
    interval: Interval | None = None,
    per_unit: dict[str, Fraction] | None = None,
    outcome: Outcome | None = None,
) -> Clause:
    """A clause about one endpoint.

    Args:
        criterion: what was asked.
        endpoint: its name.
        reasons: why it is not met; empty if it is.
        evidence: what the figures rest on.
        estimate: the value.
        distance: to the nearest bound, positive inside.
        interval: if one was used.
        per_unit: values by seed, run or point.
        outcome: instead of pass or fail, which follow from the reasons.
    """
    return Clause(
        criterion=criterion.criterion,  # type: ignore[attr-defined]
        words=criterion_words(criterion),
        outcome=outcome or ("fail" if reasons else "pass"),
        endpoint=endpoint,
        evidence=evidence,
        estimate=None if estimate is None else Figure.of(estimate, evidence),
        distance=None if distance is None else Figure.of(distance, evidence),
        bounds=tuple(map(Figure.of, _bounds(criterion))),
        interval=interval,
        per_unit={unit: Figure.of(value, evidence) for unit, value in (per_unit or {}).items()},
        reasons=reasons,
    )

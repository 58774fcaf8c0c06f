"""Criteria in English: the sentence that stands beside every verdict."""

from __future__ import annotations

from fractions import Fraction

from prereg_kit.plan.criterion import (
    All,
    AnyOf,
    AtEvery,
    AtMajority,
    Criterion_,
    Difference,
    Estimate,
    EverySeed,
    Holds,
    IntervalEnd,
    Invariant,
    Not,
    Op,
    RateCriterion,
)
from prereg_kit.plan.fields import decimal_text
from prereg_kit.plan.hypothesis import Hypothesis

_SIGNS: dict[Op, str] = {"above": ">", "at_least": "≥", "below": "<", "at_most": "≤"}
_GROUPS = {
    "one_value": "every group has one distinct value",
    "several_values": "every group has more than one distinct value",
}


def bound_words(bounds: tuple[tuple[Op, Fraction], ...]) -> str:
    """Bounds as signs: `≥ 0.03`, or `≥ 0.02 and ≤ 0.06`."""
    return " and ".join(f"{_SIGNS[op]} {number(bound)}" for op, bound in bounds)


def number(value: Fraction) -> str:
    """An exact number as people write it, with a true minus sign."""
    return decimal_text(value).replace("-", "−")


def criterion_words(criterion: Criterion_) -> str:
    """One criterion as a phrase without a final stop."""
    match criterion:
        case Difference():
            return f"mean difference of {criterion.endpoint} {bound_words(criterion.bounds)}"
        case EverySeed():
            return f"every seed's difference of {criterion.endpoint} {bound_words(criterion.bounds)}"
        case IntervalEnd():
            ends = " and ".join(
                f"{end} end {_SIGNS[op]} {number(bound)}" for end, op, bound in criterion.ends
            )
            return f"{percent(criterion.two_sided_level)} interval of {criterion.endpoint}: {ends}"
        case RateCriterion():
            return f"rate {criterion.endpoint} {_near(criterion)}"
        case Estimate():
            parts = [_near(criterion)] if criterion.limits else []
            if criterion.lower_above is not None:
                parts.append(f"{percent(criterion.level)} lower bound > {number(criterion.lower_above)}")
            if criterion.upper_below is not None:
                parts.append(f"{percent(criterion.level)} upper bound < {number(criterion.upper_below)}")
            return f"{criterion.endpoint} {', '.join(parts)}"
        case AtEvery() | AtMajority():
            where = "at every" if isinstance(criterion, AtEvery) else "at more than half of the"
            axis = criterion.over or "point"
            if criterion.points is not None:
                where = "at" if isinstance(criterion, AtEvery) else "at more than half of"
                axis = f"{axis} {', '.join(criterion.points)}"
            elif isinstance(criterion, AtMajority):
                axis += "s"
            return f"{criterion.endpoint} {bound_words(criterion.bounds)} {where} {axis}"
        case Invariant():
            return f"{criterion.endpoint}: {_GROUPS[criterion.each_group_has]}"
        case Holds():
            return f"{criterion.hypothesis} passes"
        case All():
            return " AND ".join(_inner(clause, criterion) for clause in criterion.of)
        case AnyOf():
            return " OR ".join(_inner(clause, criterion) for clause in criterion.of)
        case Not():
            return f"NOT ({criterion_words(criterion.of)})"
    raise AssertionError(f"no words for {type(criterion).__name__}")


def _inner(clause: Criterion_, outer: Criterion_) -> str:
    text = criterion_words(clause)
    compound = isinstance(clause, All | AnyOf) and type(clause) is not type(outer) and len(clause.of) > 1
    return f"({text})" if compound else text


def _near(criterion: RateCriterion | Estimate) -> str:
    parts = [bound_words(criterion.bounds)] if criterion.bounds else []
    if criterion.within is not None and criterion.of is not None:
        parts.append(f"within {number(criterion.within)} of {number(criterion.of)}")
    return " and ".join(parts)


def percent(level: Fraction) -> str:
    """A level as `95 %`."""
    return f"{decimal_text(level * 100)} %"


def rule_words(hypothesis: Hypothesis) -> str:
    """The whole rule of a hypothesis."""
    if hypothesis.outcomes is not None:
        parts = [f"{name} if {criterion_words(rule)}" for name, rule in hypothesis.outcomes.items()]
    else:
        assert hypothesis.passes_if is not None
        parts = [f"passes if {criterion_words(hypothesis.passes_if)}"]
        if hypothesis.fails_if is not None:
            parts.append(f"fails if {criterion_words(hypothesis.fails_if)}")
    parts += [f"void unless {name}: {criterion_words(rule)}" for name, rule in hypothesis.requires.items()]
    return "; ".join(parts)

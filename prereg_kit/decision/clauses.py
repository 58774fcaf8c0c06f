"""One leaf criterion against one measured endpoint: a clause with its figures, distances and reasons. Pure."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, Protocol

from prereg_kit.decision.bounds import Bounds, bound_reasons, clause, meets, short, undecided, unsure_reason
from prereg_kit.decision.measured import Groups, Measured, Paired, Scalar, Steps, Units, Unknown
from prereg_kit.decision.verdict import Clause, Evidence, Interval, Outcome, Reason
from prereg_kit.plan.criterion import (
    AtEvery,
    AtMajority,
    Criterion_,
    Difference,
    Estimate,
    EverySeed,
    IntervalEnd,
    Invariant,
    Op,
    RateCriterion,
)


class Court(Protocol):
    """What the judge may ask: measured endpoints, intervals of contrasts, and the outcomes of hypotheses."""

    def measured(self, endpoint: str) -> Measured:
        """The endpoint, measured or unknown."""

    def interval(
        self, contrast: Paired, level: Fraction, method: str
    ) -> tuple[Interval, Fraction, Fraction] | Reason:
        """The interval with its exact ends, or the reason why there is none."""

    def widened(self, level: Fraction) -> Fraction:
        """The level that a nominal one becomes in a multiplicity family."""

    def outcome_of(self, hypothesis: str) -> tuple[Outcome, Evidence]:
        """The outcome of another hypothesis and the evidence behind it."""


def _difference(criterion: Difference, measured: Measured, court: Court) -> Clause:
    assert isinstance(measured, Paired | Scalar)
    reasons, distance = bound_reasons(measured.value, criterion.bounds)
    units = measured.per_seed if isinstance(measured, Paired) else measured.per_unit
    return clause(
        criterion, measured.endpoint, reasons, evidence=measured.evidence, estimate=measured.value,
        distance=distance, per_unit=units,
    )  # fmt: skip


def _every_seed(criterion: EverySeed, measured: Measured, court: Court) -> Clause:
    if isinstance(measured, Steps):
        return _every_seed_of_steps(criterion, measured)
    assert isinstance(measured, Paired)
    return _every(criterion, criterion.bounds, measured.per_seed, measured, "seed")


def _every_seed_of_steps(criterion: EverySeed, measured: Steps) -> Clause:
    """Differences of which some are only bounds: a bound may decide, and where it does not the clause is unknown."""
    failed: list[Reason] = []
    unknown: list[Reason] = []
    known: dict[str, Fraction] = {}
    for seed in measured.treatment:
        low, high = measured.difference(seed)
        if low is not None and low == high:
            known[seed] = low
            failed += [
                Reason(code=r.code, message=f"seed {seed}: {r.message}")
                for r in bound_reasons(low, criterion.bounds)[0]
            ]
            continue
        shown = _between(low, high)
        for op, bound in criterion.bounds:
            upward = op in ("above", "at_least")
            settled = low is not None and low >= bound if upward else high is not None and high <= bound
            refuted = high is not None and high <= bound if upward else low is not None and low >= bound
            if refuted:
                message = f"seed {seed}: the difference is {shown}, not {op.replace('_', ' ')} {short(bound)}"
                failed.append(Reason(code="bound-not-met", message=message))
            elif not settled:
                message = f"seed {seed}: the difference is only known to be {shown}"
                unknown.append(Reason(code="censored", message=message))
    return clause(
        criterion, measured.endpoint, tuple(failed or unknown), evidence=measured.evidence, estimate=None,
        per_unit=known, outcome=None if failed or not unknown else "not_evaluable",
    )  # fmt: skip


def _between(low: Fraction | None, high: Fraction | None) -> str:
    if low is None and high is None:
        return "unknown (neither arm reached the threshold)"
    return f"above {short(low)}" if low is not None else f"below {short(high or Fraction(0))}"


def _every(
    criterion: Criterion_, bounds: Bounds, values: dict[str, Fraction], measured: Paired | Units, what: str
) -> Clause:
    reasons: list[Reason] = []
    distances = []
    for unit, value in values.items():
        unmet, distance = bound_reasons(value, bounds)
        distances.append(distance)
        reasons += [Reason(code=r.code, message=f"{what} {unit}: {r.message}") for r in unmet]
    return clause(
        criterion, measured.endpoint, tuple(reasons), evidence=measured.evidence, estimate=measured.value,
        distance=min(distances), per_unit=values,
    )  # fmt: skip


def _interval(criterion: IntervalEnd, measured: Measured, court: Court) -> Clause:
    assert isinstance(measured, Paired)
    found = court.interval(measured, criterion.two_sided_level, criterion.method)
    if isinstance(found, Reason):
        return clause(
            criterion, measured.endpoint, (found,), evidence=measured.evidence, estimate=measured.value,
            per_unit=measured.per_seed, outcome="not_evaluable",
        )  # fmt: skip
    interval, lower, upper = found
    evidence: Evidence = "reported" if interval.engine == "reported" else measured.evidence
    reasons: list[Reason] = []
    unsure: list[Reason] = []
    distances = []
    for end, op, bound in criterion.ends:
        value = lower if end == "lower" else upper
        unmet, distance = bound_reasons(value, ((op, bound),))
        distances.append(distance)
        spread = interval.mc_sd[0 if end == "lower" else 1] if interval.mc_sd else 0.0
        if undecided(distance, spread):
            unsure.append(unsure_reason(end, distance, spread))
        else:
            reasons += [Reason(code=r.code, message=f"{end} end: {r.message}") for r in unmet]
    return clause(
        criterion, measured.endpoint, tuple(reasons or unsure), evidence=evidence, estimate=measured.value,
        distance=min(distances), interval=interval, per_unit=measured.per_seed,
        outcome="inconclusive" if unsure and not reasons else None,
    )  # fmt: skip


def _rate(criterion: RateCriterion, measured: Measured, court: Court) -> Clause:
    assert isinstance(measured, Scalar)
    reasons, distance = bound_reasons(measured.value, criterion.limits)
    return clause(
        criterion, measured.endpoint, reasons, evidence=measured.evidence, estimate=measured.value,
        distance=distance, per_unit=measured.per_unit,
    )  # fmt: skip


def _estimate(criterion: Estimate, measured: Measured, court: Court) -> Clause:
    assert not isinstance(measured, Unknown | Steps)
    values = measured.values if isinstance(measured, Units) else {"": measured.value}
    reasons: list[Reason] = []
    distances: list[Fraction] = []
    missing: list[Reason] = []
    unsure: list[Reason] = []
    for unit, value in values.items():
        name = f"{unit}: " if unit else ""
        if criterion.limits:
            unmet, distance = bound_reasons(value, criterion.limits)
            distances.append(distance)
            reasons += [Reason(code=r.code, message=name + r.message) for r in unmet]
    ends: tuple[tuple[Literal["lower", "upper"], Op, Fraction | None], ...] = (
        ("lower", "above", criterion.lower_above), ("upper", "below", criterion.upper_below),
    )  # fmt: skip
    for end, op, bound in ends:
        if bound is None:
            continue
        known = _ends(measured, end, criterion.level, values, court)
        if isinstance(known, Reason):
            missing.append(known)
            continue
        for unit, (value, spread) in known.items():
            unmet, distance = bound_reasons(value, ((op, bound),))
            distances.append(distance)
            name = f"{unit}: " if unit else ""
            if undecided(distance, spread):
                unsure.append(unsure_reason(end, distance, spread))
            else:
                reasons += [Reason(code=r.code, message=f"{name}{end} bound: {r.message}") for r in unmet]
    outcome: Outcome | None = None
    if not reasons and (missing or unsure):
        outcome = "not_evaluable" if missing else "inconclusive"
    per_unit = measured.values if isinstance(measured, Units) else getattr(measured, "per_unit", {})
    return clause(
        criterion, measured.endpoint, tuple(reasons) or tuple(missing) or tuple(unsure), evidence=measured.evidence,
        estimate=measured.value, distance=min(distances) if distances else None, per_unit=per_unit, outcome=outcome,
    )  # fmt: skip


def _ends(
    measured: Measured,
    end: Literal["lower", "upper"],
    level: Fraction,
    values: dict[str, Fraction],
    court: Court,
) -> dict[str, tuple[Fraction, float]] | Reason:
    """The wanted end and its Monte Carlo sd, of each unit or of the least favourable one if only that is known."""
    if isinstance(measured, Paired):
        found = court.interval(measured, level, "percentile")
        if isinstance(found, Reason):
            return found
        spreads = found[0].mc_sd or (0.0, 0.0)
        return {"": (found[1], spreads[0]) if end == "lower" else (found[2], spreads[1])}
    level = court.widened(level)
    if isinstance(measured, Units):
        table = measured.lower if end == "lower" else measured.upper
        if ("", level) in table:
            return {"the least favourable unit": (table["", level], 0.0)}
        if all((unit, level) in table for unit in values):
            return {unit: (table[unit, level], 0.0) for unit in values}
    name = getattr(measured, "endpoint", "")
    return Reason(
        code="no-reported-figure", message=f"no {end} bound at level {float(level):g} is known for {name}"
    )


def _chosen(criterion: AtEvery | AtMajority, measured: Units) -> dict[str, Fraction] | Reason:
    if criterion.points is None:
        return measured.values
    absent = [point for point in criterion.points if point not in measured.values]
    if absent:
        return Reason(
            code="rows-missing",
            message=f"{measured.endpoint} has no value at {', '.join(absent)}; it has {', '.join(measured.values)}",
        )
    return {point: measured.values[point] for point in criterion.points}


def _at_every(criterion: AtEvery, measured: Measured, court: Court) -> Clause:
    assert isinstance(measured, Units)
    values = _chosen(criterion, measured)
    if isinstance(values, Reason):
        return clause(
            criterion,
            measured.endpoint,
            (values,),
            evidence=measured.evidence,
            estimate=None,
            outcome="not_evaluable",
        )
    return _every(criterion, criterion.bounds, values, measured, criterion.over or "point")


def _at_majority(criterion: AtMajority, measured: Measured, court: Court) -> Clause:
    assert isinstance(measured, Units)
    values = _chosen(criterion, measured)
    if isinstance(values, Reason):
        return clause(
            criterion,
            measured.endpoint,
            (values,),
            evidence=measured.evidence,
            estimate=None,
            outcome="not_evaluable",
        )
    held = sum(all(meets(op, value, bound) for op, bound in criterion.bounds) for value in values.values())
    reasons: tuple[Reason, ...] = ()
    if 2 * held <= len(values):
        reasons = (
            Reason(code="bound-not-met", message=f"{held} of {len(values)} points, not more than half"),
        )
    return clause(
        criterion, measured.endpoint, reasons, evidence=measured.evidence, estimate=measured.value,
        distance=Fraction(2 * held - len(values), 2), per_unit=values,
    )  # fmt: skip


def _invariant(criterion: Invariant, measured: Measured, court: Court) -> Clause:
    assert isinstance(measured, Groups)
    exceptions, example = {
        "one_value": (measured.groups - measured.with_one, measured.first_with_several),
        "several_values": (measured.with_one, measured.first_with_one),
    }[criterion.each_group_has]
    reasons: tuple[Reason, ...] = ()
    if exceptions:
        at = f", the first at {example}" if example else ""
        reasons = (
            Reason(code="bound-not-met", message=f"{exceptions} of {measured.groups} groups do not{at}"),
        )
    return clause(
        criterion, measured.endpoint, reasons, evidence=measured.evidence,
        estimate=Fraction(measured.groups - exceptions, measured.groups),
    )  # fmt: skip


LEAVES: dict[type, Callable[..., Clause]] = {
    Difference: _difference,
    EverySeed: _every_seed,
    IntervalEnd: _interval,
    RateCriterion: _rate,
    Estimate: _estimate,
    AtEvery: _at_every,
    AtMajority: _at_majority,
    Invariant: _invariant,
}

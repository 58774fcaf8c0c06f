"""Clauses to verdicts: hypotheses with readings and controls, predictions with scores, gates. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from prereg_kit.decision.clauses import Court
from prereg_kit.decision.judge import judge, merged, worst_evidence
from prereg_kit.decision.measured import Paired, Steps, Unknown
from prereg_kit.decision.verdict import (
    Clause,
    Figure,
    GateVerdict,
    Outcome,
    PredictionSummary,
    PredictionVerdict,
    Reason,
    Verdict,
)
from prereg_kit.plan.criterion import Criterion, Criterion_, IntervalEnd, endpoints_of, replaced, walk
from prereg_kit.plan.hypothesis import Gate, Hypothesis, Prediction
from prereg_kit.plan.words import criterion_words, rule_words

Bench = Callable[[Mapping[str, str]], Court]
"""A court for a reading: a mapping of endpoints to the endpoints that replace them."""


def hypothesis_verdict(
    hypothesis: Hypothesis, court: Court, bench: Bench, rule_from: str, level: Fraction
) -> Verdict:
    """Decide one hypothesis, and every reading of it.

    Args:
        hypothesis: the rule.
        court: answers about endpoints under the primary reading.
        bench: makes the court of another reading.
        rule_from: `plan` or the amendments that set the rule.
        level: the plan's interval level, used where the rule names none.
    """
    verdict = _one_reading(hypothesis, court, rule_from, level)
    readings = {
        name: _one_reading(
            _reread(hypothesis, reading.replace), bench(reading.replace), rule_from, level
        ).model_copy(update={"statement": reading.statement})
        for name, reading in hypothesis.readings.items()
    }
    return verdict.model_copy(update={"readings": readings})


def _reread(hypothesis: Hypothesis, replace: Mapping[str, str]) -> Hypothesis:
    """The hypothesis as a reading states it, so that its words name what was computed."""
    changed: dict[str, object] = {
        name: replaced(rule, replace)
        for name in ("passes_if", "fails_if")
        if (rule := getattr(hypothesis, name)) is not None
    }
    if hypothesis.outcomes is not None:
        changed["outcomes"] = {name: replaced(rule, replace) for name, rule in hypothesis.outcomes.items()}
    changed["requires"] = {name: replaced(rule, replace) for name, rule in hypothesis.requires.items()}
    return hypothesis.model_copy(update=changed)


def _one_reading(hypothesis: Hypothesis, court: Court, rule_from: str, level: Fraction) -> Verdict:
    clauses = {name: judge(rule, court) for name, rule in _rules(hypothesis).items()}
    if hypothesis.fails_if is not None:
        clauses["fails_if"] = judge(hypothesis.fails_if, court)
    controls = {name: judge(rule, court) for name, rule in hypothesis.requires.items()}
    outcome, result, reasons, deciding = _outcome(hypothesis, clauses)
    broken = {name: clause for name, clause in controls.items() if clause.outcome != "pass"}
    if broken and outcome != "not_run":
        outcome, reasons = _controlled(broken, reasons)
        deciding = [*deciding, *broken.values()]
        result = None
    first = _first_rule(hypothesis)
    shown = _shown_clauses(hypothesis, clauses) + tuple(
        clause.model_copy(update={"words": f"control {name}: {clause.words}"})
        for name, clause in controls.items()
    )
    verdict = Verdict(
        outcome=outcome,
        evidence=worst_evidence(deciding),
        statement=hypothesis.statement,
        rule=rule_words(hypothesis),
        rule_from=rule_from,
        result=result,
        reasons=reasons,
        clauses=shown,
    )
    return verdict.model_copy(update=_headline(first, court, level, shown, hypothesis))


def _outcome(
    hypothesis: Hypothesis, clauses: Mapping[str, Clause]
) -> tuple[Outcome, str | None, tuple[Reason, ...], list[Clause]]:
    if hypothesis.outcomes is not None:
        return _named(hypothesis, clauses)
    passes = clauses["passes_if"]
    if "fails_if" not in clauses:
        return passes.outcome, None, passes.reasons, [passes]
    fails = clauses["fails_if"]
    both = [passes, fails]
    if passes.outcome == fails.outcome == "pass":
        reason = Reason(code="both-rules", message="passes_if and fails_if both hold on this register")
        return "inconclusive", None, (reason,), both
    if passes.outcome == "pass":
        return "pass", None, (), [passes]
    if fails.outcome == "pass":
        return "fail", None, passes.reasons, [fails]
    if passes.outcome == fails.outcome == "fail":
        reason = Reason(code="between-the-rules", message="neither passes_if nor fails_if holds")
        return "inconclusive", None, (reason, *passes.reasons), both
    unknown = passes if passes.outcome != "fail" else fails
    return unknown.outcome, None, unknown.reasons, both


def _named(
    hypothesis: Hypothesis, clauses: Mapping[str, Clause]
) -> tuple[Outcome, str | None, tuple[Reason, ...], list[Clause]]:
    held = [name for name, clause in clauses.items() if clause.outcome == "pass"]
    unknown = [clause for clause in clauses.values() if clause.outcome not in ("pass", "fail")]
    if len(held) == 1 and not unknown:
        word: Outcome = hypothesis.counts_as.get(held[0], "inconclusive")  # type: ignore[assignment]
        return word, held[0], (), [clauses[held[0]]]
    if unknown and len(held) < 2:
        worst = unknown[0]
        return worst.outcome, None, merged(unknown), unknown
    message = f"{', '.join(held)} hold at once" if held else f"none of {', '.join(clauses)} holds"
    reason = Reason(code="no-named-outcome", message=message + "; exactly one must")
    return "inconclusive", None, (reason,), list(clauses.values())


def _controlled(
    broken: Mapping[str, Clause], reasons: tuple[Reason, ...]
) -> tuple[Outcome, tuple[Reason, ...]]:
    failed = [name for name, clause in broken.items() if clause.outcome == "fail"]
    if failed:
        named = tuple(
            Reason(code="control-failed", message=f"control {name} does not hold: {broken[name].words}")
            for name in failed
        )
        return "void", (*named, *merged(broken[name] for name in failed))
    named = tuple(
        Reason(code="depends-on-unknown", message=f"control {name} is {clause.outcome}")
        for name, clause in broken.items()
    )
    return "not_evaluable", (*named, *merged(broken.values()))


def _first_rule(hypothesis: Hypothesis) -> Criterion_:
    return next(iter(_rules(hypothesis).values()))


def _rules(hypothesis: Hypothesis) -> Mapping[str, Criterion]:
    if hypothesis.outcomes is not None:
        return hypothesis.outcomes
    assert hypothesis.passes_if is not None  # the model admits no third case
    return {"passes_if": hypothesis.passes_if}


def _shown_clauses(hypothesis: Hypothesis, clauses: Mapping[str, Clause]) -> tuple[Clause, ...]:
    """The clauses a reader goes through: an outer `all` is opened, named outcomes and fails_if keep their names."""
    if hypothesis.outcomes is None and "fails_if" not in clauses:
        only = clauses["passes_if"]
        return only.clauses if only.criterion == "all" else (only,)
    return tuple(
        clause.model_copy(update={"words": f"{name.replace('_', ' ')}: {clause.words}"})
        for name, clause in clauses.items()
    )


def _headline(
    first: Criterion_, court: Court, level: Fraction, clauses: tuple[Clause, ...], hypothesis: Hypothesis
) -> dict[str, object]:
    """Estimate, per-seed values and interval of the rule's first-named endpoint.

    A rule with an interval criterion on that endpoint reports that criterion's level.
    """
    names = endpoints_of(first)
    if not names:
        return {}
    for part in walk(first):
        if isinstance(part, IntervalEnd) and part.endpoint == names[0]:
            level = part.two_sided_level
            break
    measured = court.measured(names[0])
    shown: dict[str, object] = {"endpoint": names[0], "unit": None}
    if isinstance(measured, Unknown):
        return shown
    shown["unit"] = measured.unit
    if isinstance(measured, Steps):
        return shown  # censored steps have no mean
    shown["estimate"] = Figure.of(measured.value, measured.evidence)
    if isinstance(measured, Paired):
        shown["per_seed"] = {
            seed: Figure.of(value, measured.evidence) for seed, value in measured.per_seed.items()
        }
        found = court.interval(measured, level, "percentile")
        if isinstance(found, Reason):
            return shown
        interval, lower, upper = found
        shown["interval"] = interval
        shown["interval_excludes_zero"] = lower > 0 or upper < 0
        shown["t_interval"] = getattr(court, "t_interval", lambda *_: None)(measured, level)
    return shown


def prediction_verdict(prediction: Prediction, court: Court, bench: Bench) -> PredictionVerdict:
    """Score one prediction, part by part, and under every reading."""
    verdict = _score(prediction, court)
    readings = {
        name: _score(_repredict(prediction, reading.replace), bench(reading.replace)).model_copy(
            update={"statement": reading.statement, "brier": None}
        )
        for name, reading in prediction.readings.items()
    }
    return verdict.model_copy(update={"readings": readings})


def _repredict(prediction: Prediction, replace: Mapping[str, str]) -> Prediction:
    criteria = {name: replaced(rule, replace) for name, rule in prediction.criteria.items()}
    if prediction.parts:
        return prediction.model_copy(update={"parts": criteria})
    return prediction.model_copy(update={"expects": criteria["expects"]})


def _score(prediction: Prediction, court: Court) -> PredictionVerdict:
    parts = {name: judge(rule, court) for name, rule in prediction.criteria.items()}
    outcomes = [clause.outcome for clause in parts.values()]
    if "fail" in outcomes:
        outcome: Outcome = "fail"
        deciding = [clause for clause in parts.values() if clause.outcome == "fail"]
    elif all(found == "pass" for found in outcomes):
        outcome, deciding = "pass", list(parts.values())
    else:
        deciding = [clause for clause in parts.values() if clause.outcome not in ("pass", "fail")]
        outcome = "not_run" if all(c.outcome == "not_run" for c in deciding) else deciding[0].outcome
    brier = None
    if prediction.confidence is not None and outcome in ("pass", "fail"):
        brier = Figure.of((prediction.confidence - (outcome == "pass")) ** 2, worst_evidence(deciding))
    return PredictionVerdict(
        outcome=outcome,
        evidence=worst_evidence(deciding),
        statement=prediction.statement,
        hypothesis=prediction.hypothesis,
        confidence=None if prediction.confidence is None else float(prediction.confidence),
        parts=parts,
        brier=brier,
        reasons=merged(deciding) if outcome != "pass" else (),
    )


def summary(predictions: Mapping[str, PredictionVerdict]) -> PredictionSummary:
    """Counts and the mean Brier score of the predictions that could be scored."""
    scored = [p for p in predictions.values() if p.outcome in ("pass", "fail")]
    met = [p for p in scored if p.outcome == "pass"]
    briers = [Fraction(p.brier.exact) for p in scored if p.brier and p.brier.exact]
    return PredictionSummary(
        scored=len(scored),
        met=len(met),
        met_reported=sum(p.evidence == "reported" for p in met),
        mean_brier=Figure.of(sum(briers, Fraction(0)) / len(briers)) if briers else None,
        not_run=sum(p.outcome == "not_run" for p in predictions.values()),
    )


def gate_verdict(gate: Gate, court: Court) -> GateVerdict:
    """Whether a gate's condition holds; None where it is unknown."""
    clause = judge(gate.if_, court)
    return GateVerdict(
        holds={"pass": True, "fail": False}.get(clause.outcome),
        condition=criterion_words(gate.if_),
        then=gate.then,
        reasons=clause.reasons if clause.outcome not in ("pass", "fail") else (),
    )

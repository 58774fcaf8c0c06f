"""Predictions scored part by part, and gates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from prereg_kit.decision.hypotheses import Evaluates
from prereg_kit.decision.verdict import Figure, GateVerdict, Outcome, PredictionSummary, PredictionVerdict
from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.clause import merged, worst_evidence
from prereg_kit.plan.hypothesis import Gate, Prediction


def prediction_verdict(prediction: Prediction, evaluator: Evaluates) -> PredictionVerdict:
    """Score one prediction, part by part, and under every reading."""
    verdict = _score(prediction, evaluator)
    readings = {
        name: _score(_repredict(prediction, reading.replace), evaluator.reading(reading.replace)).model_copy(
            update={"statement": reading.statement, "brier": None}
        )
        for name, reading in prediction.readings.items()
    }
    return verdict.model_copy(update={"readings": readings})


def _repredict(prediction: Prediction, replace: Mapping[str, str]) -> Prediction:
    criteria = {name: rule.replaced(replace) for name, rule in prediction.criteria.items()}
    if prediction.parts:
        return prediction.model_copy(update={"parts": criteria})
    return prediction.model_copy(update={"expects": criteria["expects"]})


def _score(prediction: Prediction, answers: Answers) -> PredictionVerdict:
    parts = {name: rule.judged(answers) for name, rule in prediction.criteria.items()}
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


def gate_verdict(gate: Gate, answers: Answers) -> GateVerdict:
    """Whether a gate's condition holds; None where it is unknown."""
    clause = gate.if_.judged(answers)
    return GateVerdict(
        holds={"pass": True, "fail": False}.get(clause.outcome),
        condition=gate.if_.words(),
        then=gate.then,
        reasons=clause.reasons if clause.outcome not in ("pass", "fail") else (),
    )

"""Clauses to the verdict on a hypothesis: its readings, its controls, and the headline figures. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from prereg_kit.decision.verdict import Clause, Figure, Interval, Outcome, Reason, Verdict
from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.clause import merged, worst_evidence
from prereg_kit.plan.criteria.measured import Paired, Steps, Unknown
from prereg_kit.plan.criteria.rule import Criterion, about_endpoints
from prereg_kit.plan.hypothesis import Hypothesis
from prereg_kit.plan.words import rule_words


class Evaluates(Answers, Protocol):
    """The evaluator as this module sees it."""

    def t_interval(self, contrast: Paired, level: Fraction) -> Interval | None:
        """The variance-component t interval, shown beside."""

    def reading(self, exchanged: Mapping[str, str]) -> Evaluates:
        """The evaluator under a reading."""


def hypothesis_verdict(
    hypothesis: Hypothesis, evaluator: Evaluates, rule_from: str, level: Fraction
) -> Verdict:
    """Decide one hypothesis, and every reading of it.

    Args:
        hypothesis: the rule.
        evaluator: answers about endpoints under the primary reading.
        rule_from: `plan` or the amendments that set the rule.
        level: the plan's interval level, used where the rule names none.
    """
    verdict = _one_reading(hypothesis, evaluator, rule_from, level)
    readings = {
        name: _one_reading(
            _reread(hypothesis, reading.replace), evaluator.reading(reading.replace), rule_from, level
        ).model_copy(update={"statement": reading.statement})
        for name, reading in hypothesis.readings.items()
    }
    return verdict.model_copy(update={"readings": readings})


def _reread(hypothesis: Hypothesis, replace: Mapping[str, str]) -> Hypothesis:
    """The hypothesis as a reading states it, so that its words name what was computed."""
    passes, fails, named = hypothesis.passes_if, hypothesis.fails_if, hypothesis.outcomes
    return hypothesis.model_copy(
        update={
            "passes_if": None if passes is None else passes.replaced(replace),
            "fails_if": None if fails is None else fails.replaced(replace),
            "outcomes": None if named is None else _replaced(named, replace),
            "requires": _replaced(hypothesis.requires, replace),
        }
    )


def _replaced(rules: Mapping[str, Criterion], replace: Mapping[str, str]) -> dict[str, Criterion]:
    return {name: rule.replaced(replace) for name, rule in rules.items()}


def _one_reading(hypothesis: Hypothesis, evaluator: Evaluates, rule_from: str, level: Fraction) -> Verdict:
    clauses = {name: rule.judged(evaluator) for name, rule in _rules(hypothesis).items()}
    if hypothesis.fails_if is not None:
        clauses["fails_if"] = hypothesis.fails_if.judged(evaluator)
    controls = {name: rule.judged(evaluator) for name, rule in hypothesis.requires.items()}
    outcome, result, reasons, deciding = _outcome(hypothesis, clauses)
    broken = {name: clause for name, clause in controls.items() if clause.outcome != "pass"}
    if broken and outcome != "not_run":
        outcome, reasons = _controlled(broken, reasons)
        deciding = [*deciding, *broken.values()]
        result = None
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
    return verdict.model_copy(update=_headline(hypothesis, evaluator, level))


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


def _headline(hypothesis: Hypothesis, evaluator: Evaluates, level: Fraction) -> dict[str, object]:
    """Estimate, per-seed values and interval of the rule's first-named endpoint.

    A rule with an interval criterion on that endpoint reports that criterion's level.
    """
    named = about_endpoints([next(iter(_rules(hypothesis).values()))])
    if not named:
        return {}
    name = named[0].endpoint
    levels = [part.interval_level() for part in named if part.endpoint == name]
    level = next((found for found in levels if found is not None), level)
    measured = evaluator.measured(name)
    shown: dict[str, object] = {"endpoint": name, "unit": None}
    if isinstance(measured, Unknown):
        return shown
    shown["unit"] = measured.unit
    if isinstance(measured, Steps):
        return shown  # censored steps have no mean
    shown["estimate"] = Figure.of(measured.value, measured.evidence)
    if isinstance(measured, Paired):
        shown["per_seed"] = {
            seed: Figure.of(value, measured.evidence) for seed, value in measured.per_unit.items()
        }
        found = evaluator.interval(measured, level, "percentile")
        if isinstance(found, Reason):
            return shown
        shown["interval"] = found.shown
        shown["interval_excludes_zero"] = found.lower > 0 or found.upper < 0
        shown["t_interval"] = evaluator.t_interval(measured, level)
    return shown

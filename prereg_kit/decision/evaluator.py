"""The evaluator: endpoints measured once, intervals computed once for each level, hypotheses decided once.

Pure given its inputs: the registers are a `Source` that answers for rows, whoever read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from prereg_kit.decision import intervals, measure, presence, reported
from prereg_kit.decision.hypotheses import hypothesis_verdict
from prereg_kit.decision.request import AlongAxis, Request
from prereg_kit.decision.verdict import Evidence, Guard, Interval, Outcome, Reason, Verdict
from prereg_kit.plan.criteria.answers import Ends
from prereg_kit.plan.criteria.measured import Measured, Paired, Scalar, Steps, Unknown
from prereg_kit.plan.endpoint import Gap, Ratio
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.registers.cells import Source
from prereg_kit.registers.formats import RunRow


@dataclass(frozen=True)
class _View:
    """How the registers are looked at.

    Attributes:
        exchanged: endpoints of a rule and those that stand for them, under a reading.
        each: the column of `for_each` and its value, to which every selection is restricted.
        without: a seed pair that is taken as never run.
        completed: -1 or 1: missing planned seed pairs are taken as run, with this difference in every task.
        family: how many members the multiplicity family has that divides the error of an interval.
    """

    exchanged: Mapping[str, str] = field(default_factory=dict)
    each: Mapping[str, str] = field(default_factory=dict)
    without: str | None = None
    completed: int | None = None
    family: int = 1


@dataclass(frozen=True)
class _Found:
    """What was measured and computed so far, whatever the view; the keys say under which view it holds."""

    measured: dict[tuple[object, ...], Measured] = field(default_factory=dict)
    intervals: dict[tuple[object, ...], Ends | Reason] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    tables: dict[str, AlongAxis] = field(default_factory=dict)


class Evaluator:
    """Answers for one plan and its registers, under one view of them.

    Evaluators of other views share what this one has measured.

    Args:
        effective: the plan in force.
        registers: the rows.
        runs: the counted runs, or None where only rows were given.
    """

    def __init__(
        self,
        effective: EffectivePlan,
        registers: Source,
        runs: Sequence[RunRow] | None,
        *,
        view: _View = _View(),
        found: _Found | None = None,
        verdicts: dict[str, Verdict] | None = None,
    ) -> None:
        self.effective = effective
        self.plan = effective.plan
        self.registers = registers
        self.runs = None if runs is None else tuple(runs)
        self._view = view
        self._found = _Found() if found is None else found
        self._verdicts: dict[str, Verdict] = {} if verdicts is None else verdicts

    @property
    def notes(self) -> tuple[str, ...]:
        """What was passed over while measuring."""
        return tuple(self._found.notes)

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards that applied to what was measured, and those that did not."""
        return tuple(self._found.guards)

    def note_guard(self, guard: Guard) -> None:
        """Keep a guard that was found while decided verdicts were looked at."""
        if guard not in self._found.guards:
            self._found.guards.append(guard)

    @property
    def tables(self) -> Mapping[str, AlongAxis]:
        """The endpoints that run along an axis, before it is weighted away."""
        return self._found.tables

    def reading(self, exchanged: Mapping[str, str]) -> Evaluator:
        """The evaluator under a reading, in which some endpoints stand for others."""
        return self._with(replace(self._view, exchanged=exchanged))

    def without_seed(self, seed: str) -> Evaluator:
        """The evaluator as if one seed pair had never been run."""
        return self._with(replace(self._view, without=seed), verdicts={})

    def completed(self, difference: int) -> Evaluator:
        """The evaluator as if every missing planned pair had been run and differed by -1 or 1 in every task."""
        return self._with(replace(self._view, completed=difference), verdicts={})

    def _with(self, view: _View, verdicts: dict[str, Verdict] | None = None) -> Evaluator:
        return Evaluator(
            self.effective, self.registers, self.runs, view=view, found=self._found,
            verdicts=self._verdicts if verdicts is None else verdicts,
        )  # fmt: skip

    def missing_pairs(self, endpoint: str, found: Measured) -> tuple[str, ...]:
        """The planned pairs of an endpoint that are not in the register."""
        spec = self.plan.endpoints[endpoint]
        if isinstance(spec, Gap | Ratio) or spec.register_ == "reported":
            return ()
        request = Request(self.effective, self.registers, self.runs, endpoint, spec, dict(self._view.each))
        return presence.missing_pairs(request, found)

    def measured(self, endpoint: str) -> Measured:
        """The endpoint, measured once; Unknown with the reason if it cannot be.

        A reading exchanges the endpoints that a rule names where the rule is read, and those inside a gap or ratio
        here, so that each is exchanged once.
        """
        found = self._read(endpoint)
        if not isinstance(found, Paired):
            return found
        if self._view.without is not None:
            found = found.without(self._view.without)
            if not found.seeds:
                return _unknown(endpoint, Reason(code="runs-missing", message="no seed pair is left"))
        if self._view.completed is not None:
            found = _completed(found, self.missing_pairs(endpoint, found), self._view.completed)
        return found

    def _read(self, name: str) -> Measured:
        view = self._view
        key: tuple[object, ...] = (name, tuple(view.each.items()))
        if self.plan.endpoints[name].combines():
            key = (*key, tuple(view.exchanged.items()), view.without, view.completed)
        if key not in self._found.measured:
            self._found.measured[key] = self._measure(name)
        return self._found.measured[key]

    def _measure(self, name: str) -> Measured:
        endpoint = self.plan.endpoints[name]
        if isinstance(endpoint, Gap | Ratio):
            return self._combined(name, endpoint)
        request = Request(self.effective, self.registers, self.runs, name, endpoint, dict(self._view.each))
        result = measure.measure(request)
        if request.along is not None:
            self._found.tables[name] = request.along
        self._found.notes.extend(note for note in request.notes if note not in self._found.notes)
        for guard in request.guards:
            self.note_guard(guard)
        return result

    def _combined(self, name: str, endpoint: Gap | Ratio) -> Measured:
        values: list[Fraction] = []
        evidence: Evidence = "recomputed"
        first, second = endpoint.combines()
        for other in (first, second):
            part = self.measured(self._view.exchanged.get(other, other))
            if isinstance(part, Unknown):
                return Unknown(name, part.outcome, part.reasons)
            if isinstance(part, Steps):
                message = f"{part.endpoint} may be censored: it has no mean to combine"
                return _unknown(name, Reason(code="censored", message=message))
            values.append(part.value)
            evidence = "reported" if part.evidence == "reported" else evidence
        one, two = values
        if isinstance(endpoint, Ratio) and two == 0:
            return _unknown(name, Reason(code="undefined", message=f"{second} is 0, so {name} has no value"))
        value = one / two if isinstance(endpoint, Ratio) else one - two
        return Scalar(name, endpoint.unit, value, evidence, {first: one, second: two})

    def widened(self, level: Fraction) -> Fraction:
        """The level that a member of a multiplicity family must use for a nominal one (Bonferroni)."""
        return 1 - (1 - level) / self._view.family

    def interval(self, contrast: Paired, level: Fraction, method: str) -> Ends | Reason:
        """The registered interval of a contrast, recomputed; reported where a retrospective plan has no rows.

        Raises:
            DecisionError: a method that is refused by name.
        """
        level, view = self.widened(level), self._view
        key = (contrast.endpoint, contrast.seeds, tuple(view.each.items()), level, method, view.completed)
        if key not in self._found.intervals:
            self._found.intervals[key] = self._interval(contrast, level, method)
        return self._found.intervals[key]

    def _interval(self, contrast: Paired, level: Fraction, method: str) -> Ends | Reason:
        if contrast.has_tasks:
            return intervals.computed(contrast, level, method, self.plan.resampling, self.effective.digest)
        if self.plan.kind == "retrospective" and self._view.without is None:
            return reported.reported_interval(self.registers, contrast.endpoint, level, dict(self._view.each))
        return Reason(
            code="no-repeated-units",
            message=f"{contrast.endpoint} is read from counts: there are no tasks to resample",
        )

    def t_interval(self, contrast: Paired, level: Fraction) -> Interval | None:
        """The variance-component t interval, shown beside; None where it is not defined."""
        return intervals.variance_component(contrast, self.widened(level)) if contrast.has_tasks else None

    def outcome_of(self, hypothesis: str) -> tuple[Outcome, Evidence]:
        """The outcome of a hypothesis; one with `for_each` passes when all its verdicts pass."""
        found = [self.verdict(name) for name in self.names_of(hypothesis)]
        outcomes = [verdict.outcome for verdict in found]
        unmet: list[Outcome] = [outcome for outcome in outcomes if outcome != "pass"]
        outcome: Outcome = "fail" if "fail" in outcomes else unmet[0] if unmet else "pass"
        deciding = [verdict for verdict in found if verdict.outcome == outcome]
        return outcome, "reported" if any(v.evidence == "reported" for v in deciding) else "recomputed"

    def names_of(self, hypothesis: str) -> tuple[str, ...]:
        """`H1`, or `H1[A]`, `H1[B]` for a hypothesis with `for_each`."""
        each = self.plan.hypotheses[hypothesis].for_each
        return (hypothesis,) if each is None else tuple(f"{hypothesis}[{value}]" for value in each.values)

    def verdict(self, name: str) -> Verdict:
        """The verdict on `H1` or `H1[A]`, decided once."""
        if name not in self._verdicts:
            base, own = self.place(name)
            self._verdicts[name] = hypothesis_verdict(
                self.plan.hypotheses[base], own, self.effective.rule_from("hypotheses", base),
                self.plan.resampling.level,
            )  # fmt: skip
        return self._verdicts[name]

    def place(self, name: str) -> tuple[str, Evaluator]:
        """A verdict's hypothesis and the evaluator that decides it: `for_each` and family level applied."""
        base, _, value = name.removesuffix("]").partition("[")
        hypothesis = self.plan.hypotheses[base]
        each = {} if hypothesis.for_each is None else {hypothesis.for_each.column: value}
        members = 1 if hypothesis.family is None else self.plan.family_size(hypothesis.family)
        return base, self._with(replace(self._view, exchanged={}, each=each, family=members))


def _unknown(endpoint: str, reason: Reason) -> Unknown:
    return Unknown(endpoint, "not_evaluable", (reason,))


def _completed(contrast: Paired, seeds: tuple[str, ...], difference: int) -> Paired:
    """The contrast with missing seed pairs that differ by `difference` (-1 or 1) in every task."""
    rows = np.full((len(seeds), contrast.cells.shape[1]), difference * contrast.denominator, dtype=np.int64)
    return replace(contrast, seeds=(*contrast.seeds, *seeds), cells=np.concatenate([contrast.cells, rows]))

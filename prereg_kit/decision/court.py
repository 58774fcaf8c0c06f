"""The court: endpoints measured once from the registers, intervals computed once per level, hypotheses decided once.

Pure given its inputs: the registers are a `Source` that answers for rows, whoever read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from prereg_kit.decision import figures, intervals, measure, presence
from prereg_kit.decision.measured import Measured, Paired, Scalar, Steps, Unknown
from prereg_kit.decision.request import AlongAxis, Request
from prereg_kit.decision.verdict import Evidence, Guard, Interval, Outcome, Reason, Verdict
from prereg_kit.decision.verdicts import hypothesis_verdict
from prereg_kit.errors import DecisionError
from prereg_kit.plan.criterion import hypotheses_of
from prereg_kit.plan.endpoint import Gap, Ratio, Selection
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.hypothesis import Hypothesis
from prereg_kit.registers.cells import Source
from prereg_kit.registers.formats import RunRow


class Court:
    """Answers the judge's questions under one reading and one value of `for_each`.

    Courts of other readings share this one's tables, intervals and verdicts.
    """

    def __init__(
        self,
        effective: EffectivePlan,
        registers: Source,
        runs: Sequence[RunRow] | None,
    ) -> None:
        self.effective = effective
        self.plan = effective.plan
        self.registers = registers
        self.runs = None if runs is None else tuple(runs)
        self._replace: Mapping[str, str] = {}
        self._each: Mapping[str, str] = {}
        self._without: str | None = None
        self._completed: int | None = None
        self._level_divisor = 1
        self._measured: dict[tuple[object, ...], Measured] = {}
        self._intervals: dict[tuple[object, ...], tuple[Interval, Fraction, Fraction] | Reason] = {}
        self._verdicts: dict[str, Verdict] = {}
        self.notes: list[str] = []
        self.guards: list[Guard] = []
        self.tables: dict[str, AlongAxis] = {}

    def reading(self, replace: Mapping[str, str]) -> Court:
        """The court in which some endpoints stand for others."""
        return self._derived(_replace=replace)

    def each(self, column: str, value: str) -> Court:
        """The court in which every selection is also restricted to one value of a column."""
        return self._derived(_each={column: value})

    def without_seed(self, seed: str) -> Court:
        """The court in which one seed pair was never run."""
        return self._derived(_without=seed, _verdicts={})

    def completed(self, difference: int) -> Court:
        """The court in which every missing planned seed pair was run and differs by -1 or 1 in every task."""
        return self._derived(_completed=difference, _verdicts={})

    def missing_pairs(self, endpoint: str, found: Measured) -> tuple[str, ...]:
        """The planned pairs of an endpoint that are not in the register."""
        spec = self.plan.endpoints[endpoint]
        if not isinstance(spec, Selection) or spec.register_ == "reported":
            return ()
        request = Request(self.effective, self.registers, self.runs, endpoint, spec, dict(self._each))
        return presence.missing_pairs(request, found)

    def at_family_level(self, members: int) -> Court:
        """The court of a member of a Bonferroni family: each interval's error is divided by the number of members."""
        return self._derived(_level_divisor=members)

    def _derived(self, **changes: object) -> Court:
        other = object.__new__(Court)
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    def measured(self, endpoint: str) -> Measured:
        """The endpoint, measured once; Unknown with the reason if it cannot be.

        A reading exchanges the endpoints that a rule names where the rule is read, and those inside a gap or ratio
        here, so that each is exchanged once.
        """
        name = endpoint
        each = tuple(self._each.items())
        key: tuple[object, ...] = (name, each)
        if isinstance(self.plan.endpoints[name], Gap | Ratio):
            key = (name, each, tuple(self._replace.items()), self._without, self._completed)
        if key not in self._measured:
            self._measured[key] = self._measure(name)
        found = self._measured[key]
        if self._without is not None and isinstance(found, Paired):
            found = found.without(self._without)
            if not found.seeds:
                return Unknown(
                    name, "not_evaluable", (Reason(code="runs-missing", message="no seed pair is left"),)
                )
        if self._completed is not None and isinstance(found, Paired):
            found = found.completed(self.missing_pairs(name, found), self._completed)
        return found

    def _measure(self, name: str) -> Measured:
        endpoint = self.plan.endpoints[name]
        if isinstance(endpoint, Gap):
            return self._combined(name, endpoint.of, endpoint.minus, endpoint.unit, divide=False)
        if isinstance(endpoint, Ratio):
            return self._combined(name, endpoint.of, endpoint.over, endpoint.unit, divide=True)
        assert isinstance(endpoint, Selection)
        request = Request(self.effective, self.registers, self.runs, name, endpoint, dict(self._each))
        result = measure.measure(request)
        if request.along is not None:
            self.tables[name] = request.along
        self.notes += [note for note in request.notes if note not in self.notes]
        self.guards += [guard for guard in request.guards if guard not in self.guards]
        return result

    def _combined(self, name: str, first: str, second: str, unit: str, *, divide: bool) -> Measured:
        parts = [self.measured(self._replace.get(name, name)) for name in (first, second)]
        for part in parts:
            if isinstance(part, Unknown):
                return Unknown(name, part.outcome, part.reasons)
            if isinstance(part, Steps):
                reason = Reason(
                    code="censored", message=f"{part.endpoint} may be censored: it has no mean to combine"
                )
                return Unknown(name, "not_evaluable", (reason,))
        one, other = (part.value for part in parts)  # type: ignore[union-attr]
        if divide and other == 0:
            message = f"{second} is 0, so {name} has no value"
            return Unknown(name, "not_evaluable", (Reason(code="undefined", message=message),))
        reported = any(part.evidence == "reported" for part in parts)  # type: ignore[union-attr]
        return Scalar(
            name, unit, one / other if divide else one - other, "reported" if reported else "recomputed",
            {first: one, second: other},
        )  # fmt: skip

    def widened(self, level: Fraction) -> Fraction:
        """The level that a member of a multiplicity family must use for a nominal one (Bonferroni)."""
        return 1 - (1 - level) / self._level_divisor

    def interval(
        self, contrast: Paired, level: Fraction, method: str
    ) -> tuple[Interval, Fraction, Fraction] | Reason:
        """The registered interval of a contrast, recomputed; reported where a retrospective plan has no rows.

        Raises:
            DecisionError: a method that is refused by name.
        """
        level = self.widened(level)
        key = (contrast.endpoint, contrast.seeds, tuple(self._each.items()), level, method, self._completed)
        if key not in self._intervals:
            found: tuple[Interval, Fraction, Fraction] | Reason
            if contrast.has_tasks:
                found = intervals.computed(
                    contrast, level, method, self.plan.resampling, self.effective.digest
                )
            elif self.plan.kind == "retrospective" and self._without is None:
                found = figures.reported_interval(self.registers, contrast.endpoint, level, dict(self._each))
            else:
                found = Reason(
                    code="no-repeated-units",
                    message=f"{contrast.endpoint} is read from counts: there are no tasks to resample",
                )
            self._intervals[key] = found
        return self._intervals[key]

    def t_interval(self, contrast: Paired, level: Fraction) -> Interval | None:
        """The variance-component t interval, shown beside; None where it is not defined."""
        level = self.widened(level)
        return intervals.variance_component(contrast, level) if contrast.has_tasks else None

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
        """The verdict on `H1` or `H1[A]`, decided once per court family."""
        if name not in self._verdicts:
            self._verdicts[name] = self._decide(name)
        return self._verdicts[name]

    def _decide(self, name: str) -> Verdict:
        base, court = self.place(name)
        return hypothesis_verdict(
            self.plan.hypotheses[base], court, court.reading, self.effective.rule_from("hypotheses", base),
            self.plan.resampling.level,
        )  # fmt: skip

    def place(self, name: str) -> tuple[str, Court]:
        """A verdict's hypothesis and the court that decides it: `for_each` and family level applied."""
        base, _, value = name.removesuffix("]").partition("[")
        hypothesis: Hypothesis = self.plan.hypotheses[base]
        court = self._derived(_replace={}, _each={}, _level_divisor=1)
        if hypothesis.for_each is not None:
            court = court.each(hypothesis.for_each.column, value)
        if hypothesis.family is not None:
            court = court.at_family_level(self.plan.family_size(hypothesis.family))
        return base, court

    def refers(self, name: str) -> tuple[str, ...]:
        """The hypotheses that a verdict depends on."""
        base = name.partition("[")[0]
        return tuple(other for rule in self.plan.rules_of(base) for other in hypotheses_of(rule))


__all__ = ["Court", "DecisionError"]

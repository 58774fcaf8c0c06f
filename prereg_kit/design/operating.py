"""What each hypothesis of a plan is worth: its rule's operating characteristics, as tables and as sentences. Pure.

The grid follows the rule: its unit is the largest bound on a mean (0.03 where a rule has none), effects are multiples
of it and so are the between-seed deviations. The endpoints of one rule are taken to move together, and tasks to add
nothing: a rule is shown at its best.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prereg_kit.design import characteristics, rule_arrays
from prereg_kit.design.characteristics import Cell, Clause, Rule, Setting
from prereg_kit.design.rule_arrays import SimulatedStudies
from prereg_kit.design.simulation import Known
from prereg_kit.plan.criteria.criterion import BaseCriterion, OneEndpoint
from prereg_kit.plan.criteria.rule import about_endpoints, endpoints_of
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.hypothesis import Hypothesis
from prereg_kit.plan.plan import Plan
from prereg_kit.statistics.random_stream import StreamKey

STUDIES = 50_000
STUDIES_WITH_INTERVALS = 5_000  # each study then needs all multisets of its seed pairs
EFFECTS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
DEVIATIONS = (Fraction(2, 3), Fraction(1), Fraction(4, 3), Fraction(5, 3))
SEEDS = (2, 3, 4, 5, 6, 8, 10, 12)
DEFAULT_UNIT = Fraction(3, 100)


@dataclass(frozen=True)
class Worth:
    """One hypothesis's characteristics.

    Attributes:
        null: the effect at which a pass is false: 0, or minus the margin of a non-inferiority rule.
        counted: whether any result of the rule counts as a pass.
        cells: effect x between-seed sd at the planned number of seed pairs.
        curve: number of seed pairs x effect, at the middle sd.
        effect_80: the effect that passes in 80 % of studies at that sd, None if none does.
        binding: the clause that most often fails alone at a true effect of one unit.
        actual_level: (nominal, actual) level of its interval if nothing but seeds varies; None without an interval.
        conditional: the same cells given what was disclosed, empty if no number was.
        sentence: what a person should take away.
    """

    hypothesis: str
    unit: float
    null: float
    counted: bool
    cells: tuple[Cell, ...]
    curve: tuple[Cell, ...]
    effect_80: float | None
    binding: str | None
    actual_level: tuple[float, float] | None
    conditional: tuple[Cell, ...]
    sentence: str

    def rows(self) -> list[dict[str, Any]]:
        """The cells as `prereg.check/1` carries them."""
        return [_row(cell) for cell in (*self.cells, *self.curve)] + [
            {**_row(cell), "given_disclosures": True} for cell in self.conditional
        ]


def _row(cell: Cell) -> dict[str, Any]:
    row: dict[str, Any] = {
        "effect": cell.effect, "seed_sd": cell.seed_sd, "seeds": cell.seeds,
        **{name: cell.shares[name] for name in ("pass", "fail", "inconclusive")}, "error": cell.error,
    }  # fmt: skip
    return row | ({} if cell.exaggeration is None else {"exaggeration": cell.exaggeration})


def unit_of(hypothesis: Hypothesis) -> Fraction:
    """The largest absolute bound on a mean or an interval end of the rule; 0.03 where all are zero."""
    marks = [abs(mark) for part in _parts(hypothesis) for mark in part.marks()]
    return max(marks, default=Fraction(0)) or DEFAULT_UNIT


def _parts(hypothesis: Hypothesis) -> tuple[OneEndpoint, ...]:
    return about_endpoints(hypothesis.rules().values())


def claims_an_effect(hypothesis: Hypothesis) -> bool:
    """Whether a pass says that there is an effect, and not only that there is no large one (non-inferiority)."""
    rules = [rule for name, rule in hypothesis.rules().items() if name != "fail"]
    return all(bound >= 0 for part in about_endpoints(rules) for bound in part.claims())


def rule_of(hypothesis: Hypothesis) -> Rule:
    """The whole rule as a function of simulated differences; every endpoint sees the same ones."""

    def rule(differences: NDArray[np.float64]) -> NDArray[np.integer[Any]]:
        return rule_arrays.outcomes(hypothesis, differences)

    return rule


def clauses_of(hypothesis: Hypothesis) -> dict[str, Clause]:
    """The clauses of `passes_if` by their words, as functions of simulated differences."""

    def clause(part: BaseCriterion) -> Clause:
        return lambda differences: part.holds_in(SimulatedStudies(differences))

    return {part.words(): clause(part) for part in rule_arrays.clauses_of(hypothesis)}


def known_runs(plan: Plan, hypothesis: Hypothesis) -> tuple[Known, ...]:
    """What was disclosed, in numbers, about endpoints that the rule names."""
    names = endpoints_of(*hypothesis.rules().values())
    known = []
    for item in plan.disclosures:
        if item.endpoint not in names or (item.difference is None and item.value is None):
            continue
        if item.difference is not None:
            known.append(Known(difference=float(item.difference)))
        else:
            assert item.value is not None
            known.append(
                Known(
                    value=float(item.value),
                    arm="treatment" if item.arm == plan.arms.treatment else "reference",
                    baseline=None if item.baseline is None else float(item.baseline),
                )
            )
    return tuple(known)


def worth(effective: EffectivePlan, name: str, seeds: int, studies: int | None = None) -> Worth | str:
    """The characteristics of one hypothesis, or the reason why its rule cannot be simulated.

    Args:
        effective: the plan.
        name: the hypothesis.
        seeds: planned number of seed pairs.
        studies: simulated studies per cell, by default 50,000, or 5,000 for a rule with intervals; a share p is
            known to sqrt(p (1 - p) / studies).
    """
    plan = effective.plan
    hypothesis = plan.hypotheses[name]
    obstacle = rule_arrays.obstacle(hypothesis, plan.endpoints)
    if obstacle is not None:
        return f"{name} cannot be simulated: {obstacle}"
    if studies is None:
        studies = STUDIES_WITH_INTERVALS if _has_interval(hypothesis) else STUDIES
    unit = unit_of(hypothesis)
    rule, clauses = rule_of(hypothesis), clauses_of(hypothesis)
    setting = Setting(StreamKey(plan.resampling.seed, effective.digest), studies)
    effects = [float(Fraction(multiple) * unit) for multiple in EFFECTS]
    deviations = [float(multiple * unit) for multiple in DEVIATIONS]
    cells = characteristics.grid(
        rule, setting, effects=effects, seed_sds=deviations, seeds=(seeds,), clauses=clauses
    )
    middle = float(unit)
    curve = characteristics.grid(
        rule, setting, effects=[0.0, middle, 2 * middle], seed_sds=[middle],
        seeds=sorted(set(SEEDS) - {seeds}),
    )  # fmt: skip
    known = known_runs(plan, hypothesis)[:seeds]
    conditional: list[Cell] = []
    if known:
        given = Setting(setting.key, studies, known=known)
        conditional = characteristics.grid(rule, given, effects=effects, seed_sds=deviations, seeds=(seeds,))
    needed = characteristics.effect_of_power(
        rule, setting, seed_sd=middle, seeds=seeds, tolerance=middle / 100
    )
    at_unit = _cell(cells, middle, middle)
    null = 0.0 if claims_an_effect(hypothesis) else -middle
    level = _actual_level(hypothesis, setting, seeds)
    counted = hypothesis.outcomes is None or "pass" in hypothesis.counts_as.values()
    sentence = f"No result of {name} counts as a pass."
    if counted:
        sentence = _sentence(name, cells, conditional, (null, middle), needed, seeds)
    return Worth(
        name, middle, null, counted, tuple(cells), tuple(curve), needed, at_unit.binding, level, tuple(conditional),
        sentence,
    )  # fmt: skip


def _cell(cells: list[Cell], effect: float, seed_sd: float) -> Cell:
    return min(cells, key=lambda cell: abs(cell.effect - effect) + abs(cell.seed_sd - seed_sd))


def _has_interval(hypothesis: Hypothesis) -> bool:
    return any(part.simulates_intervals() for part in _parts(hypothesis))


def _actual_level(hypothesis: Hypothesis, setting: Setting, seeds: int) -> tuple[float, float] | None:
    levels = [level for part in _parts(hypothesis) if (level := part.interval_level()) is not None]
    if not levels or seeds < 2:
        return None
    actual, _ = characteristics.interval_level(setting, levels[0], seeds=seeds)
    return float(levels[0]), actual


def _sentence(
    name: str,
    cells: list[Cell],
    conditional: list[Cell],
    places: tuple[float, float],
    needed: float | None,
    seeds: int,
) -> str:
    null, unit = places
    false, none, true = (_cell(cells, effect, unit) for effect in (null, 0.0, unit))
    pairs = "one seed pair" if seeds == 1 else f"{seeds} seed pairs"
    text = f"With {pairs} and a standard deviation of {unit:g} between pairs, {name} passes in "
    if null:
        text += f"{_percent(false.passing)} of studies where the treatment is worse by {-null:g}, in "
        text += f"{_percent(none.passing)} without a difference and in {_percent(true.passing)} at a true {unit:+g}."
    else:
        text += f"{_percent(none.passing)} of studies without an effect and in {_percent(true.passing)} at a true "
        text += f"effect of {unit:g}; "
        text += f"{needed:.3g} is needed for 80 %." if needed is not None else "no effect reaches 80 %."
    if conditional:
        share = _percent(_cell(conditional, null, unit).passing)
        text += f" Given what was disclosed, {share} {'at that margin' if null else 'without an effect'}."
    if not null and true.exaggeration is not None and true.exaggeration > 1.1:
        text += f" A pass at {unit:g} overstates the effect {true.exaggeration:.2f} times on average."
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

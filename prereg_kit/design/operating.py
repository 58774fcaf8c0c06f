"""The operating characteristics of each hypothesis of a plan, as tables and as sentences. Pure.

The grid follows the rule: its unit is the largest bound on a mean, effects are multiples of it, and they point to the
side on which the rule passes. The standard deviation between pairs comes from whoever knows it (`spread`); where
nobody does, the figures are drawn over multiples of the unit and say so, and a rule without any bound but zero is
drawn in units of that unknown deviation. The endpoints of one rule are taken to move together, and tasks to add
nothing: a rule is shown at its best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prereg_kit.design import characteristics, rule_arrays
from prereg_kit.design.characteristics import Cell, Rule, Setting
from prereg_kit.design.rule_arrays import SimulatedStudies
from prereg_kit.design.simulation import Known, deviates, simulate_differences, standard_ends
from prereg_kit.design.spread import Spread
from prereg_kit.plan.criteria.compare import LOW
from prereg_kit.plan.criteria.criterion import OneEndpoint
from prereg_kit.plan.criteria.rule import about_endpoints, endpoints_of
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.hypothesis import Hypothesis
from prereg_kit.plan.plan import Plan
from prereg_kit.statistics.random_stream import StreamKey

STUDIES = 50_000
STUDIES_WITH_INTERVALS = 5_000  # each study then needs all multisets of its seed pairs
STUDIES_FOR_PAIRS = 5_000  # as many as for intervals, whose ends are then shared
EFFECTS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
SOLVED = (1.0, 1.5, 2.0, 3.0)
DEVIATIONS = (2 / 3, 1.0, 4 / 3, 5 / 3)
SEEDS = (2, 3, 4, 5, 6, 8, 10, 12)
MORE_SEEDS = (16, 24, 32, 48, 64)
POWER = 0.8
UNKNOWN = "nobody has said how much pairs vary: an illustration, see --sd, --pilot and `variance`"

Direction = Literal[1, -1]


@dataclass(frozen=True)
class OperatingCharacteristics:
    """How often one hypothesis's rule passes.

    Attributes:
        unit: effects are multiples of it: the rule's largest bound, else the sd.
        sd: the middle sd of the tables, and `sd_source` where it comes from; None if nobody knows one.
        direction: 1 where the rule passes at large differences, -1 where it passes at small ones.
        null: the effect at which a pass is false: 0, or the margin of a non-inferiority rule.
        counted: whether any result of the rule counts as a pass.
        cells: effect x between-seed sd at the planned number of seed pairs.
        curve: number of seed pairs x effect, at the middle sd.
        effect_80: the effect that passes in 80 % of studies at that sd, None if none does.
        pairs_80: effect -> the fewest seed pairs, up to 64, that pass in 80 % of studies; None where none does.
        binding: the clause that most often fails alone at a true effect of one unit.
        actual_level: (nominal, actual) level of its interval if nothing but seeds varies; None without an interval.
        conditional: the same cells given what was disclosed, empty if no number was.
        sentence: what a person should take away.
    """

    hypothesis: str
    unit: float
    sd: float
    sd_source: str | None
    direction: Direction
    null: float
    counted: bool
    cells: tuple[Cell, ...]
    curve: tuple[Cell, ...]
    effect_80: float | None
    pairs_80: dict[float, int | None]
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


def largest_bound(hypothesis: Hypothesis) -> Fraction:
    """The largest absolute bound on a mean or an interval end of the rule; 0 where every bound is zero."""
    marks = [abs(mark) for part in _parts(hypothesis) for mark in part.marks()]
    return max(marks, default=Fraction(0))


def _parts(hypothesis: Hypothesis) -> tuple[OneEndpoint, ...]:
    return about_endpoints(hypothesis.rules().values())


def claims_an_effect(hypothesis: Hypothesis, direction: Direction = 1) -> bool:
    """Whether a pass says that there is an effect, and not only that there is no large one (non-inferiority)."""
    rules = [rule for name, rule in hypothesis.rules().items() if name != "fail"]
    parts = about_endpoints(rules)
    if direction == 1:
        return all(bound >= 0 for part in parts for bound in part.claims())
    return all(bound <= 0 for part in parts for bound in _upper_claims(part))


def _upper_claims(part: OneEndpoint) -> tuple[Fraction, ...]:
    """Bounds from above on what a pass says of the treatment: the mirror of `claims`."""
    compared = part.compared()
    ends = [bound.bound for bound in compared.ends if bound.end == "upper" and bound.op not in LOW]
    if ends:
        return tuple(ends)
    return tuple(bound for op, bound in (*compared.mean, *compared.each) if op not in LOW)


def rule_of(hypothesis: Hypothesis) -> Rule:
    """The whole rule as a function of simulated differences; every endpoint sees the same ones."""

    def rule(differences: NDArray[np.float64]) -> NDArray[np.integer[Any]]:
        return rule_arrays.outcomes(hypothesis, SimulatedStudies(differences))

    return rule


@dataclass(frozen=True)
class Simulation:
    """One rule on simulated studies; every cell of every table sees the same draws."""

    hypothesis: Hypothesis
    setting: Setting

    def cell(self, effect: float, sd: float, seeds: int, *, clauses: bool = False) -> Cell:
        """The rule at one effect, one sd and one number of pairs; `clauses` judges each clause of it as well."""
        studies = self._studies(effect, sd, seeds)
        parts = rule_arrays.clauses_of(self.hypothesis) if clauses else ()
        held = {part.words(): part.holds_in(studies) for part in parts}
        codes = rule_arrays.outcomes(self.hypothesis, studies)
        given = {name: (lambda _, flags=flags: flags) for name, flags in held.items()}
        return characteristics.judge(lambda _: codes, studies.drawn, effect, sd, given)

    def _studies(self, effect: float, sd: float, seeds: int) -> SimulatedStudies:
        key, count, known = self.setting.key, self.setting.studies, self.setting.known
        drawn = deviates(key, count, max(seeds, SEEDS[-1]))[:, :seeds]
        differences = simulate_differences(key, count, seeds, effect, sd, known=known, drawn=drawn)
        if known:  # a known pair is not moved with the effect: its intervals are sorted out anew
            return SimulatedStudies(differences)

        def ends(level: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            lower, upper = standard_ends(key, count, seeds, level)
            return effect + sd * lower, effect + sd * upper

        return SimulatedStudies(differences, ends)

    def direction(self, size: float, sd: float, seeds: int) -> Direction:
        """On which side of zero the rule passes more often."""
        return -1 if self.cell(-size, sd, seeds).passing > self.cell(size, sd, seeds).passing else 1

    def effect_of_power(self, sign: Direction, sd: float, seeds: int, tolerance: float) -> float | None:
        """The smallest effect that passes in 80 % of studies; None if none does."""
        return characteristics.smallest_effect(
            lambda size: self.cell(sign * size, sd, seeds).passing,
            start=sd, power=POWER, sign=sign, tolerance=tolerance,
        )  # fmt: skip

    def pairs_of_power(self, effect: float, sd: float) -> int | None:
        """The fewest pairs, up to 64, that pass in 80 % of studies; None if none does.

        The share is taken to rise between two neighbours of the counts that are tried.
        """
        before = 1
        for count in (*SEEDS, *MORE_SEEDS):
            if self.cell(effect, sd, count).passing >= POWER:
                while count - before > 1:
                    middle = (before + count) // 2
                    if self.cell(effect, sd, middle).passing >= POWER:
                        count = middle  # noqa: PLW2901 - the search narrows
                    else:
                        before = middle
                return count
            before = count
        return None


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


def operating_characteristics(
    effective: EffectivePlan, name: str, seeds: int, spread: Spread | None = None, studies: int | None = None
) -> OperatingCharacteristics | str:
    """The characteristics of one hypothesis, or the reason why its rule cannot be simulated.

    Args:
        effective: the plan.
        name: the hypothesis.
        seeds: planned number of seed pairs.
        spread: the sd between pairs and its source; None if nobody knows it.
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
    key = StreamKey(plan.resampling.seed, effective.digest)
    simulation = Simulation(hypothesis, Setting(key, studies))
    bound = float(largest_bound(hypothesis))
    sd = spread.sd if spread is not None else bound or 1.0
    unit = bound or sd
    sign = simulation.direction(3 * unit, sd, seeds)
    effects = [sign * multiple * unit for multiple in EFFECTS]
    deviations = [multiple * sd for multiple in DEVIATIONS]
    known = known_runs(plan, hypothesis)[:seeds]
    given = Simulation(hypothesis, Setting(key, studies, known=known))
    smaller = Simulation(hypothesis, Setting(key, min(studies, STUDIES_FOR_PAIRS)))
    found = OperatingCharacteristics(
        hypothesis=name,
        unit=unit,
        sd=sd,
        sd_source=None if spread is None else spread.source,
        direction=sign,
        null=0.0 if claims_an_effect(hypothesis, sign) else -sign * unit,
        counted=hypothesis.outcomes is None or "pass" in hypothesis.counts_as.values(),
        cells=tuple(
            simulation.cell(effect, wide, seeds, clauses=True) for effect in effects for wide in deviations
        ),
        curve=tuple(
            simulation.cell(sign * multiple * unit, sd, count)
            for multiple in (0.0, 1.0, 2.0)
            for count in SEEDS
            if count != seeds
        ),
        effect_80=simulation.effect_of_power(sign, sd, seeds, unit / 100),
        pairs_80={sign * m * unit: smaller.pairs_of_power(sign * m * unit, sd) for m in SOLVED},
        binding=None,
        actual_level=_actual_level(hypothesis, simulation.setting, seeds),
        conditional=tuple(given.cell(effect, wide, seeds) for effect in effects for wide in deviations)
        if known
        else (),
        sentence="",
    )
    binding = _cell(found.cells, sign * unit, sd).binding
    return replace(found, binding=binding, sentence=_sentence(found, seeds))


def _cell(cells: Sequence[Cell], effect: float, seed_sd: float) -> Cell:
    return min(cells, key=lambda cell: abs(cell.effect - effect) + abs(cell.seed_sd - seed_sd))


def _has_interval(hypothesis: Hypothesis) -> bool:
    return any(part.simulates_intervals() for part in _parts(hypothesis))


def _actual_level(hypothesis: Hypothesis, setting: Setting, seeds: int) -> tuple[float, float] | None:
    levels = [level for part in _parts(hypothesis) if (level := part.interval_level()) is not None]
    if not levels or seeds < 2:
        return None
    actual, _ = characteristics.interval_level(setting, levels[0], seeds=seeds)
    return float(levels[0]), actual


def in_units(found: OperatingCharacteristics, number: float) -> str:
    """An effect or sd as the tables print it: a number, or a multiple of the sd where there is no scale."""
    return f"{number:.3g}" + (" sd" if scale_free(found) else "")


def scale_free(found: OperatingCharacteristics) -> bool:
    """Whether nobody knows an sd and no bound of the rule gives a scale: effects are then multiples of the sd."""
    return found.sd_source is None and found.unit == found.sd == 1.0


def _sentence(found: OperatingCharacteristics, seeds: int) -> str:
    if not found.counted:
        return f"No result of {found.hypothesis} counts as a pass."
    size = found.direction * found.unit
    false, none, true = (_cell(found.cells, effect, found.sd) for effect in (found.null, 0.0, size))
    pairs = "one seed pair" if seeds == 1 else f"{seeds} seed pairs"
    spread = f"a standard deviation of {found.sd:.3g} between pairs"
    if scale_free(found):
        spread = "effects counted in standard deviations between pairs"
    text = f"With {pairs} and {spread} ({found.sd_source or UNKNOWN}), {found.hypothesis} passes in "
    if found.null:
        text += f"{_percent(false.passing)} of studies where the treatment is worse by "
        text += (
            f"{in_units(found, abs(found.null))}, in {_percent(none.passing)} without a difference and in "
        )
        text += f"{_percent(true.passing)} at a true {in_units(found, size)}."
    else:
        text += f"{_percent(none.passing)} of studies without an effect and in {_percent(true.passing)} at a true "
        text += f"effect of {in_units(found, size)}; "
        needed = found.effect_80
        text += (
            "80 % is out of reach." if needed is None else f"{in_units(found, needed)} is needed for 80 %."
        )
    if found.conditional:
        share = _percent(_cell(found.conditional, found.null, found.sd).passing)
        text += (
            f" Given what was disclosed, {share} {'at that margin' if found.null else 'without an effect'}."
        )
    if not found.null and true.exaggeration is not None and true.exaggeration > 1.1:
        text += f" A pass at {in_units(found, size)} overstates the effect {true.exaggeration:.2f} times on average."
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

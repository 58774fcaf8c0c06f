"""The operating characteristics of a rule: how often it passes, before there are data.

Pure. A rule is any function of simulated differences, float64 [n, S], to outcome codes, int [n]: `PASS`, `FAIL`,
`INCONCLUSIVE` or `VOID`. Nothing here knows a plan: the caller turns criteria into that function, and clauses,
where it has them, into functions to booleans. Every share comes with its sampling error sqrt(p (1 - p) / n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prereg_kit.design.simulation import Known, deviates, simulate_differences, standard_ends
from prereg_kit.errors import DecisionError
from prereg_kit.statistics.mixture import Floats
from prereg_kit.statistics.random_stream import StreamKey

FAIL, PASS, INCONCLUSIVE, VOID = 0, 1, 2, 3
NAMES = {FAIL: "fail", PASS: "pass", INCONCLUSIVE: "inconclusive", VOID: "void"}
DEFAULT_STUDIES = 100_000

Rule = Callable[[Floats], NDArray[np.integer]]
Clause = Callable[[Floats], NDArray[np.bool_]]


@dataclass(frozen=True)
class Cell:
    """A rule at one effect, one between-seed sd and one number of seed pairs.

    Attributes:
        effect: true mean difference.
        seed_sd: between-seed sd of a difference.
        seeds: number of seed pairs.
        shares: probability of each outcome by name; the four add to 1.
        error: sampling error of the probability of a pass.
        exaggeration: mean estimate among passes over the true effect; None at effect 0 or without a pass.
        estimate_if_pass: mean estimate among passes; None without a pass.
        clauses: per clause (probability that it fails, probability that it alone fails).
    """

    effect: float
    seed_sd: float
    seeds: int
    shares: dict[str, float]
    error: float
    exaggeration: float | None = None
    estimate_if_pass: float | None = None
    clauses: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def passing(self) -> float:
        """Probability of a pass."""
        return self.shares["pass"]

    @property
    def binding(self) -> str | None:
        """The clause that most often fails alone, or most often fails if none ever does; None without one."""
        if not self.clauses or not any(fails for fails, _ in self.clauses.values()):
            return None
        return max(self.clauses, key=lambda name: (self.clauses[name][1], self.clauses[name][0]))


@dataclass(frozen=True)
class Setting:
    """How studies are simulated: stream key, number of studies, task noise, what is known already."""

    key: StreamKey
    studies: int = DEFAULT_STUDIES
    noise_sd: float = 0.0
    known: tuple[Known, ...] = ()

    def differences(self, seeds: int, effect: float, seed_sd: float, drawn: Floats | None = None) -> Floats:
        """Simulated differences [studies, seeds]."""
        return simulate_differences(
            self.key, self.studies, seeds, effect, seed_sd,
            noise_sd=self.noise_sd, known=self.known, drawn=drawn,
        )  # fmt: skip


def grid(
    rule: Rule,
    setting: Setting,
    *,
    effects: Sequence[float],
    seed_sds: Sequence[float],
    seeds: Sequence[int] = (3,),
    clauses: Mapping[str, Clause] | None = None,
) -> list[Cell]:
    """The rule over effect x between-seed sd x number of seed pairs, in that nesting from the outside in.

    Raises:
        DecisionError: a code that is not an outcome, or an empty axis.
    """
    if not (effects and seed_sds and seeds):
        raise DecisionError("an axis of the grid is empty", found=(len(effects), len(seed_sds), len(seeds)))
    drawn = deviates(setting.key, setting.studies, max(seeds))
    return [
        judge(rule, setting.differences(count, effect, sd, drawn), effect, sd, clauses)
        for effect in effects
        for sd in seed_sds
        for count in seeds
    ]


def judge(
    rule: Rule,
    differences: Floats,
    effect: float,
    seed_sd: float,
    clauses: Mapping[str, Clause] | None = None,
) -> Cell:
    """One cell from given differences [n, S].

    Raises:
        DecisionError: a code that is not an outcome.
    """
    codes = np.asarray(rule(differences))
    counts = np.bincount(codes, minlength=len(NAMES)) if codes.min() >= 0 else np.zeros(0, dtype=np.int64)
    if len(counts) != len(NAMES) or len(codes) != len(differences):
        raise DecisionError(
            "a rule returned a code that is no outcome", expected="0 .. 3", found=int(codes.max())
        )
    total = len(codes)
    passes = codes == PASS
    share = float(counts[PASS]) / total
    estimate = float(differences.mean(axis=1)[passes].mean()) if passes.any() else None
    held = {name: np.asarray(clause(differences)) for name, clause in (clauses or {}).items()}
    failed = sum((~holds).astype(np.int64) for holds in held.values())
    return Cell(
        effect=effect,
        seed_sd=seed_sd,
        seeds=differences.shape[1],
        shares={name: float(counts[code]) / total for code, name in NAMES.items()},
        error=math.sqrt(share * (1 - share) / total),
        exaggeration=None if estimate is None or effect == 0 else estimate / effect,
        estimate_if_pass=estimate,
        clauses={
            name: (float((~holds).mean()), float((~holds & (failed == 1)).mean()))
            for name, holds in held.items()
        },
    )


def effect_of_power(
    rule: Rule,
    setting: Setting,
    *,
    seed_sd: float,
    seeds: int = 3,
    power: float = 0.8,
    sign: int = 1,
    tolerance: float = 1e-4,
) -> float | None:
    """Smallest effect (in the direction of `sign`) that passes with probability `power`; None if none does.

    Doubles from `seed_sd` until the rule passes often enough, then bisects; the pass probability is taken to
    rise with the effect up to there. 16 doublings without reaching `power` give None.

    Raises:
        DecisionError: a power outside (0, 1).
    """
    drawn = deviates(setting.key, setting.studies, seeds)

    def passing(size: float) -> float:
        return judge(
            rule, setting.differences(seeds, sign * size, seed_sd, drawn), sign * size, seed_sd
        ).passing

    return smallest_effect(passing, start=seed_sd, power=power, sign=sign, tolerance=tolerance)


def smallest_effect(
    passing: Callable[[float], float], *, start: float, power: float, sign: int, tolerance: float
) -> float | None:
    """`effect_of_power` for any pass probability as a function of the size of the effect.

    Raises:
        DecisionError: a power outside (0, 1).
    """
    if not 0 < power < 1:
        raise DecisionError("power must lie in (0, 1)", found=power)
    low, high = 0.0, max(start, tolerance)
    if passing(0.0) >= power:
        return 0.0
    for _ in range(16):
        if passing(high) >= power:
            break
        low, high = high, 2 * high
    else:
        return None
    while high - low > tolerance:
        middle = (low + high) / 2
        low, high = (low, middle) if passing(middle) >= power else (middle, high)
    return sign * high


@dataclass(frozen=True)
class Family:
    """Several rules at once, at one effect and one between-seed sd.

    Attributes:
        correlation: between the seed differences of any two hypotheses' endpoints, in [0, 1].
        any_pass: probability that at least one rule passes.
        expected: expected number of rules that pass.
        each: probability of a pass by name.
        error: sampling error of `any_pass`.
    """

    correlation: float
    any_pass: float
    expected: float
    each: dict[str, float]
    error: float


def family(
    rules: Mapping[str, Rule],
    setting: Setting,
    *,
    seed_sd: float,
    effect: float = 0.0,
    seeds: int = 3,
    correlation: float = 0.0,
) -> Family:
    """Pass probability of a family of rules, each on an endpoint of its own.

    Args:
        rules: by hypothesis name; a name's draws depend on the name alone, so a family can grow.
        setting: how studies are simulated; what is known applies to every rule.
        seed_sd: between-seed sd of every endpoint.
        effect: true effect on every endpoint, 0 for the family-wise false-pass probability.
        seeds: number of seed pairs.
        correlation: between endpoints, in [0, 1]: 0 separate experiments, 1 one endpoint judged many times.

    Raises:
        DecisionError: no rule, or a correlation outside [0, 1].
    """
    if not rules or not 0 <= correlation <= 1:
        raise DecisionError(
            "a family needs a rule and a correlation in [0, 1]", found=(len(rules), correlation)
        )
    common = deviates(setting.key, setting.studies, seeds)
    passed = []
    for name, rule in rules.items():
        own = deviates(setting.key, setting.studies, seeds, name)
        drawn = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
        passed.append(np.asarray(rule(setting.differences(seeds, effect, seed_sd, drawn))) == PASS)
    table = np.array(passed)
    share = float(table.any(axis=0).mean())
    return Family(
        correlation=correlation,
        any_pass=share,
        expected=float(table.sum(axis=0).mean()),
        each=dict(zip(rules, table.mean(axis=1).tolist(), strict=True)),
        error=math.sqrt(share * (1 - share) / setting.studies),
    )


def interval_level(setting: Setting, level: Fraction, *, seeds: int = 3) -> tuple[float, float]:
    """Actual coverage of the two-sided percentile interval over resampled seed pairs, and its sampling error.

    Nothing but seeds varies: the worst case for the percentile interval. It does not depend on the sd.

    Raises:
        DecisionError: a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise DecisionError("an interval's level must lie in (0, 1)", found=str(level))
    lower, upper = standard_ends(setting.key, setting.studies, seeds, level)
    share = float(((lower <= 0) & (upper >= 0)).mean())
    return share, math.sqrt(share * (1 - share) / setting.studies)

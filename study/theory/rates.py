"""Spurious contrasts and lost ones: when flips make or unmake a group's variance (Section 4.4).

Every rollout of an all-correct group has the same true reward; if some but not all are flipped the group
still shows variance, a contrast between equals. Its mean gradient is 0, but after standardisation sum A^2
is about G - 1 whatever was flipped, as much as a real contrast carries. A mixed group that keeps none of
its k successes loses its contrast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.advantages import Rule, Standardised
from study.theory.designs import Design, binomial


def spurious(size: int, flip_rate: float, design: Design) -> float:
    """P(an all-correct group shows variance): 1 - (1-q)^G - q^G independent, 0 paired.

    Args:
        size: G >= 2.
        flip_rate: q in [0, 1].
        design: how the flips are coupled.
    """
    law = design.kept(conditions.group_size(size), size, conditions.probability(flip_rate, "flip rate"))
    return float(law[1:-1].sum())


def lost_contrast(successes: int, size: int, flip_rate: float, design: Design) -> float:
    """P(a mixed group shows no variance): q^k independent, q paired.

    Args:
        successes: k, strictly between 0 and G.
        size: G >= 2.
        flip_rate: q in [0, 1].
        design: how the flips are coupled.

    Raises:
        TheoryError: a group that has no contrast to lose.
    """
    group = conditions.group_size(size)
    k = conditions.whole(successes, "successes", 1, group - 1)
    return float(design.kept(k, group, conditions.probability(flip_rate, "flip rate"))[0])


def advantage_mass(kept: int, size: int, rule: Rule | None = None) -> float:
    """Sum of squared advantages when m of G rewards are 1: m(G-m)/G centred, about G - 1 standardised.

    Args:
        kept: m in [0, G].
        size: G >= 2.
        rule: the advantage rule; standardised unless given.
    """
    group = conditions.group_size(size)
    m = conditions.whole(kept, "kept", 0, group)
    chosen = rule if rule is not None else Standardised()
    return float(chosen.contrast(group)[m] ** 2) * m * (group - m) / group


@dataclass(frozen=True)
class Budget:
    """Where the groups of one task go: probabilities that sum to one, and where the squared advantages go.

    Attributes:
        real: mixed groups that show variance.
        lost: mixed groups that show none.
        spurious: all-correct groups that show variance.
        silent: groups without a contrast, shown or true.
        spurious_mass: the share of E sum A^2 that spurious groups carry; None where nobody carries any.
    """

    real: float
    lost: float
    spurious: float
    silent: float
    spurious_mass: float | None


def budget(
    success_rate: float, size: int, flip_rate: float, design: Design, rule: Rule | None = None
) -> Budget:
    """Classify the groups of a task of true success p, policy samples independent given the clean world.

    Args:
        success_rate: p in [0, 1].
        size: G >= 2.
        flip_rate: q in [0, 1].
        design: how the flips are coupled.
        rule: the advantage rule behind `spurious_mass`; standardised unless given.
    """
    group = conditions.group_size(size)
    rate = conditions.probability(flip_rate, "flip rate")
    law = binomial(group, conditions.probability(success_rate, "success rate"))
    mass = np.array([advantage_mass(m, group, rule) for m in range(group + 1)])
    lost = real = 0.0
    real_mass = 0.0
    for k in range(1, group):
        gone = lost_contrast(k, group, rate, design)
        lost += law[k] * gone
        real += law[k] * (1.0 - gone)
        real_mass += law[k] * float(design.kept(k, group, rate) @ mass[: k + 1])
    false = law[group] * spurious(group, rate, design)
    false_mass = law[group] * float(design.kept(group, group, rate) @ mass)
    total = real_mass + false_mass
    silent = law[0] + law[group] - false
    return Budget(
        float(real),
        float(lost),
        float(false),
        float(silent),
        float(false_mass / total) if total > 0 else None,
    )


def standard_score(count: int, groups: int, size: int, flip_rate: float, design: Design) -> float | None:
    """Standard deviations between an observed number of spurious groups and the exact rate.

    Args:
        count: all-correct groups that showed variance.
        groups: all-correct groups, at least 1.
        size: G >= 2.
        flip_rate: q in [0, 1].
        design: how the flips are coupled.

    Returns:
        (count - n p) / sqrt(n p (1-p)), or None where the rate is 0 or 1 and the count agrees.

    Raises:
        TheoryError: the rate is 0 or 1 and the count contradicts it.
    """
    total = conditions.whole(groups, "groups", 1)
    seen = conditions.whole(count, "count", 0, total)
    chance = spurious(size, flip_rate, design)
    if chance in (0.0, 1.0):
        if seen != total * chance:
            raise TheoryError(
                "an impossible count",
                where=Where(field="count"),
                expected=f"{total * chance:.0f}",
                found=seen,
            )
        return None
    return float((seen - total * chance) / np.sqrt(total * chance * (1.0 - chance)))

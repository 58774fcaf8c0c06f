"""What pairing costs in diversity: a batch of B groups sees B schedules instead of B G (Section 4.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions


@dataclass(frozen=True)
class Diversity:
    """The schedules of one batch.

    Attributes:
        rollouts: B G.
        schedules: B G/c, with blocks of c rollouts on one schedule.
    """

    rollouts: int
    schedules: int

    @property
    def per_rollout(self) -> float:
        """Schedules per rollout: 1 independent, 1/G paired."""
        return self.schedules / self.rollouts

    def chance_seen(self, rate: float) -> float:
        """P(some schedule of the batch holds an event that a schedule holds with this probability)."""
        chance = conditions.probability(rate, "rate")
        return 1.0 if chance == 1.0 else -math.expm1(self.schedules * math.log1p(-chance))

    def batches_to_see(self, rate: float) -> float:
        """Expected number of batches until such an event is seen; inf for an event that never happens."""
        seen = self.chance_seen(rate)
        return 1.0 / seen if seen > 0 else math.inf

    def expected_distinct(self, kinds: int) -> float:
        """Expected number of distinct schedules when each is one of N equally likely kinds."""
        count = conditions.whole(kinds, "kinds", 1)
        return float(count) * self.chance_seen(1.0 / count)

    def design_effect(self, share: float) -> float:
        """Var of the batch's mean reward over that of independent rollouts: 1 + (c-1) lambda."""
        block = self.rollouts // self.schedules
        return 1.0 + (block - 1.0) * conditions.probability(share, "luck share")


def of_batch(groups: int, size: int, block: int | None = None) -> Diversity:
    """Schedules of a batch.

    Args:
        groups: B >= 1 prompts.
        size: G >= 2 rollouts of each.
        block: c, rollouts that share a schedule: G (paired) unless given; 1 is independent.

    Raises:
        TheoryError: c does not divide G.
    """
    count = conditions.whole(groups, "groups", 1)
    group = conditions.group_size(size)
    shared = group if block is None else conditions.whole(block, "block", 1, group)
    if group % shared:
        raise TheoryError(
            "blocks of unequal size",
            where=Where(field="block"),
            expected=f"a divisor of {group}",
            found=shared,
        )
    return Diversity(count * group, count * (group // shared))

"""Which rollouts share a schedule: the one switch between the arms. Pure.

Row r of a step is one group of G rollouts of one task. The paired arm gives the whole group the row's schedule
seed; the independent arm derives one per slot from it; blocks of c share one per block, which is a dose between
the two. The blocking arms play each task in two neighbouring rows, the even one without noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from study.backoffice.schedule import schedule_seed, slot_seed, train_seed
from study.config.names import Arm
from study.config.run_config import RunConfig
from study.errors import StudyError
from study.training import seeds


@dataclass(frozen=True)
class Seat:
    """One rollout's place and chance.

    Attributes:
        row: step x prompts + position, counted over the whole run.
        slot: 0 to G-1 inside the group.
        schedule_seed: 32 hex digits; everything the environment draws follows from it.
        noisy: whether the condition's noise applies (false in the clean half of blocking).
    """

    row: int
    slot: int
    schedule_seed: str
    noisy: bool


def seat(arm: Arm, run_seed: int, row: int, slot: int, block_size: int | None = None) -> Seat:
    """The seat of one rollout.

    Raises:
        StudyError: the arm blocks without a block size.
    """
    shared = train_seed(run_seed, row)
    if arm in ("paired", "clean"):
        return Seat(row, slot, shared, arm == "paired")
    if arm == "independent":
        return Seat(row, slot, slot_seed(shared, slot), True)
    if arm == "blocks":
        if block_size is None:
            raise StudyError("the arm blocks needs a block size")
        return Seat(row, slot, schedule_seed("train-block", shared, slot // block_size), True)
    noisy = row % 2 == 1
    alone = noisy and arm == "blocking"
    return Seat(row, slot, slot_seed(shared, slot) if alone else shared, noisy)


def task_order(config: RunConfig, pool: tuple[str, ...]) -> list[str]:
    """The task of every row of a run, equal for all arms of a seed.

    Tasks come in permutations of the whole pool, one after another, each keyed by (seed, pass), so that a
    resumed run needs no generator state and no task is met a third time before every one was met twice. The
    blocking arms need half as many tasks and give each to two neighbouring rows.
    """
    rows = config.tier.optimisation.steps * config.tier.rollouts.prompts
    twice = 2 if config.arm.startswith("blocking") else 1
    order: list[str] = []
    turn = 0
    while len(order) < rows:
        for index in seeds.permutation(len(pool), "order", config.seed, turn):
            order += [pool[index]] * twice
        turn += 1
    return order[:rows]


def proven(
    arm: Arm, schedule_seeds: list[list[str]], block_size: int | None = None, noisy: list[bool] | None = None
) -> None:
    """Check the invariant that a register must show, over the groups of a batch.

    Args:
        arm: the arm that the groups claim to belong to.
        schedule_seeds: G seeds of each group.
        block_size: of the arm blocks.
        noisy: per group, only for the blocking arms.

    Raises:
        StudyError: a paired group with two seeds, an independent one with a repeated seed, or two groups that
            share one.
    """
    seen: set[str] = set()
    for index, group in enumerate(schedule_seeds):
        kinds = len(set(group))
        alone = arm == "independent" or (arm == "blocking" and noisy is not None and noisy[index])
        expected = len(group) if alone else len(group) // block_size if arm == "blocks" and block_size else 1
        if kinds != expected:
            raise StudyError(
                f"a group of the {arm} arm does not have its number of schedules",
                expected=str(expected),
                found=kinds,
            )
        if seen & set(group):
            raise StudyError("two groups share a schedule seed", found=sorted(seen & set(group))[0])
        seen |= set(group)

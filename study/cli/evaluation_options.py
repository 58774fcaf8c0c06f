"""What `study evaluate` is asked to play, from its options, as a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from study.evaluation.spec import EvaluationSpec
    from study.policies.trained import Trained


class Wanted(TypedDict):
    """The options that say what to play."""

    regimes: tuple[str, ...]
    pool: str
    tasks: int | None
    schedules: int | None
    seed: int | None
    arm: str | None
    condition: str | None
    profile: str | None
    group_size: int


def spec_of(policy: str, found: Trained | None, wanted: Wanted) -> EvaluationSpec:
    """The spec; a trained run brings its own condition, arm, seed and world.

    Raises:
        UsageError: an option that says otherwise.
        ConfigError: a name that does not exist, or a number out of range.
    """
    from prereg_kit.errors import UsageError
    from study.backoffice.pools import POOL_SIZES
    from study.evaluation.spec import EvaluationSpec

    profile, seed = wanted["profile"] or "natural", wanted["seed"] or 0
    arm, condition = wanted["arm"] or policy, wanted["condition"] or "scripted"
    checkpoints: tuple[tuple[int, str], ...] = ()
    if found is not None:
        own = {name: wanted[name] for name in ("profile", "seed", "arm", "condition")}
        given = [name for name, value in own.items() if value is not None]
        if given:
            raise UsageError(
                f"a trained run has its own {given[0]}", expected=f"no --{given[0]}", found=own[given[0]]
            )
        run, checkpoints, policy = found.run, found.checkpoints, f"{found.run.tier.name}-policy"
        profile, seed, arm, condition = run.tier.world.profile, run.seed, run.arm, run.condition
    pool, regimes = wanted["pool"], wanted["regimes"]
    return EvaluationSpec(
        policy,
        profile,
        pool,
        regimes,
        wanted["tasks"] or POOL_SIZES.get(pool, 0),
        wanted["schedules"] or (1 if regimes == ("challenge",) else 4),
        seed,
        arm,
        condition,
        wanted["group_size"],
        checkpoints,
    )

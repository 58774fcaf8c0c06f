"""What the options of `study evaluate` ask for: what to play, and which plan the rows count for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from study.evaluation.spec import EvaluationSpec
    from study.trained.checkpoint_policy import Trained


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
    config = ""
    if found is not None:
        own = {name: wanted[name] for name in ("profile", "seed", "arm", "condition")}
        given = [name for name, value in own.items() if value is not None]
        if given:
            raise UsageError(
                f"a trained run has its own {given[0]}", expected=f"no --{given[0]}", found=own[given[0]]
            )
        run, policy, config = found.run, f"{found.run.tier.name}-policy", found.run.digest
        checkpoints = tuple((one.step, one.digest) for one in found.checkpoints)
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
        config,
    )


def plan_of(found: Trained, digest: str) -> str:
    """The plan digest of a trained run's rows: of the plan that bound its training, which no option can change.

    Args:
        found: the run.
        digest: what the options say, or `NO_PLAN`.

    Raises:
        UsageError: a plan that did not bind the training; its rows would pass for runs of that plan.
    """
    from prereg_kit.errors import UsageError
    from study.evaluation.written import NO_PLAN

    bound = found.plan_sha256 or NO_PLAN
    if digest not in (NO_PLAN, bound):
        raise UsageError(
            "this plan did not bind the training of this run",
            expected="no --plan" if bound == NO_PLAN else f"the plan {bound}, or no --plan",
            found=digest,
            next_step="`prereg decide` counts a run for the plan that bound its config before it was trained.",
        )
    return bound

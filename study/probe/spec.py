"""What one probe consists of, as a value: its digest names the work on disk and stands in the evidence."""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from prereg_kit.errors import Where
from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.pools import POOL_SIZES, recorded_digest
from study.backoffice.profiles import profile_named
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import LAW
from study.errors import ConfigError
from study.theory.transition import MOST_SCHEDULES
from study.trained.checkpoint_policy import Checkpoint, Trained

Kind = Literal["outcome", "transition"]
Coordinates = Literal["trained", "every"]
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=1, le=1 << 16)]
Text = Annotated[str, Field(max_length=200)]

POOL: dict[Kind, str] = {"outcome": "validation", "transition": "diagnostic"}
REGIME: dict[Kind, str] = {"outcome": "clean", "transition": "faults_p25"}
TASKS: dict[Kind, int] = {"outcome": 64, "transition": 16}
SCHEDULES: dict[Kind, int] = {"outcome": 1, "transition": 8}
SAMPLES = 8
FLIP_RATE = 0.1
COMPARATORS = 64
MOST_SAMPLES = 64


class Record(BaseModel):
    """A part of a record: nothing unknown in it, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Spec(Record):
    """One probe of one checkpoint.

    Attributes:
        kind: `outcome` (grader flips on clean groups) or `transition` (tool faults).
        run_id, study, plan_sha256, config_digest, condition, arm, seed, tier: of the run that was trained.
        checkpoint: optimiser steps; 0 is the base.
        base_sha256, adapter_sha256: of the weights.
        pool, pool_sha256, profile: the tasks.
        regime, law, noise: the noise that the rollouts met, by name, law version and (p, q, digest of weights).
        tasks: from the pool's start.
        schedules: per task, from seed x schedules on; 1 where there is nothing to schedule.
        samples: rollouts of the policy under each schedule: G.
        flip_rate: q of the registered figures; others follow from the evidence.
        comparators: groups of each comparator that are fixed in the evidence (transition).
        temperature: of the sampled distribution.
        importance, cap: how sequence weights are made from log-ratios (the SW estimator).
        coordinates: `trained` or `every`.
    """

    kind: Kind
    run_id: Text
    study: Text
    plan_sha256: Sha | None
    config_digest: Sha
    condition: Text
    arm: Text
    seed: Annotated[int, Field(ge=0, lt=1 << 31)]
    tier: Text
    checkpoint: Annotated[int, Field(ge=0, lt=1 << 31)]
    base_sha256: Sha
    adapter_sha256: Sha
    pool: Text
    pool_sha256: Sha
    profile: Text
    regime: Text
    law: Text
    noise: tuple[Text, Text, Sha]
    tasks: Count
    schedules: Count
    samples: Annotated[int, Field(ge=2, le=MOST_SAMPLES)]
    flip_rate: Annotated[float, Field(gt=0.0, lt=1.0)]
    comparators: Annotated[int, Field(ge=2, le=4096)]
    temperature: Annotated[float, Field(gt=0.0)]
    importance: Literal["off", "sequence_mask", "sequence_truncate", "geometric_mask"]
    cap: Annotated[float, Field(gt=0.0)]
    coordinates: Coordinates

    @property
    def rows(self) -> int:
        """Rollouts of one unit: G of a group, schedules x samples of a task."""
        return self.schedules * self.samples

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of all fields."""
        return sha256_bytes(canonical_json(self.model_dump(mode="json")))

    @property
    def name(self) -> str:
        """The evidence's file name without its suffix: kind, checkpoint, and the digest's first twelve digits."""
        return f"{self.kind}-{self.checkpoint:06d}-{self.digest[:12]}"


def spec_of(
    found: Trained,
    checkpoint: Checkpoint,
    kind: Kind,
    *,
    tasks: int | None = None,
    schedules: int | None = None,
    samples: int = SAMPLES,
    flip_rate: float = FLIP_RATE,
    coordinates: Coordinates = "trained",
) -> Spec:
    """The probe of a checkpoint; the registered sizes unless given (64 x 8, and 16 x 8 x 8).

    Raises:
        ConfigError: a number out of range, several schedules where there is no fault, or importance weights that are
            not one number a sequence.
    """
    run, pool, regime = found.run, POOL[kind], regime_named(REGIME[kind])
    wanted = SCHEDULES[kind] if schedules is None else schedules
    if kind == "outcome" and wanted != 1:
        raise ConfigError(
            "the outcome probe plays clean groups, which no schedule tells apart",
            where=Where(field="schedules"),
            expected="1",
            found=wanted,
        )
    if kind == "transition" and not max(4, samples) <= wanted <= MOST_SCHEDULES:
        raise ConfigError(
            "the comparators of a transition probe need four schedules, and one for each rollout of a group",
            where=Where(field="schedules"),
            expected=f"{max(4, samples)} to {MOST_SCHEDULES}",
            found=wanted,
        )
    size = POOL_SIZES[pool]
    number = TASKS[kind] if tasks is None else tasks
    for what, good, expected, value in (
        ("number of tasks", 1 <= number <= size, f"1 to {size}, the tasks of the pool {pool}", number),
        ("group size", 2 <= samples <= MOST_SAMPLES, f"2 to {MOST_SAMPLES}", samples),
        ("flip rate", 0.0 < flip_rate < 1.0, "strictly between 0 and 1", flip_rate),
    ):
        if not good:
            raise ConfigError(f"the {what} of a probe", expected=expected, found=value)
    profile = profile_named(run.tier.world.profile)
    return Spec(
        kind=kind,
        run_id=run.run_id,
        study=found.study,
        plan_sha256=found.plan_sha256,
        config_digest=run.digest,
        condition=run.condition,
        arm=run.arm,
        seed=run.seed,
        tier=run.tier.name,
        checkpoint=checkpoint.step,
        base_sha256=checkpoint.base_sha256,
        adapter_sha256=checkpoint.adapter_sha256,
        pool=pool,
        pool_sha256=recorded_digest(profile, pool),
        profile=f"{profile.name} {profile.digest()}",
        regime=regime.name,
        law=LAW,
        noise=(str(regime.rate), str(regime.flip_rate), regime.weights_digest()),
        tasks=number,
        schedules=wanted,
        samples=samples,
        flip_rate=flip_rate,
        comparators=COMPARATORS,
        temperature=run.tier.rollouts.temperature,
        importance=_sequence_mode(found),
        cap=run.tier.importance.cap,
        coordinates=coordinates,
    )


def _sequence_mode(found: Trained) -> Literal["off", "sequence_mask", "sequence_truncate", "geometric_mask"]:
    mode = found.run.tier.importance.mode
    match mode:
        case "off" | "sequence_mask" | "sequence_truncate" | "geometric_mask":
            return mode
        case "token_mask" | "token_truncate":
            raise ConfigError(
                "the probe weighs whole sequences, this run weighs tokens",
                where=Where(file=str(found.folder / "run.json"), field="config.tier.importance.mode"),
                expected="off, sequence_mask, sequence_truncate or geometric_mask",
                found=mode,
            )
        case _:
            assert_never(mode)

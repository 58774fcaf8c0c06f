"""A training run as data: tier, condition, arm, seed. Pure; `study.config.file` reads the files.

A tier is everything that the paper's matrix holds fixed (world, policy, optimiser, evaluation); a run adds one
condition, one arm and one seed. The digest of a resolved run is the SHA-256 of its canonical JSON, so the file
that `study train --write-config` writes has that digest as its own `sha256sum`, and a frozen plan binds a run
by listing that file among its materials. Where to stop (`--steps`) is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.closed_sets import complete
from study.config.names import CONDITION_NAMES, Arm, ConditionName

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Choice = Literal["paper", "clean"]
Scaling = Literal["group", "none"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Condition(_Strict):
    """Which noise a run trains under (paper, section 5.3): p per eligible call, or q per correct end state.

    `regime` names the regime of the simulator whose law the noisy episodes follow; training holds it to p and q.
    """

    regime: str
    fault_rate: Share = 0.0
    mixture: Literal["default", "no_outage"] = "default"
    flip_rate: Share = 0.0


CONDITIONS: Mapping[ConditionName, Condition] = complete(
    "the table of conditions",
    CONDITION_NAMES,
    {
        "C0": Condition(regime="clean"),
        "C1": Condition(regime="faults_p10", fault_rate=0.10),
        "C2": Condition(regime="faults_p25", fault_rate=0.25),
        "C2r": Condition(regime="no_outage_p25", fault_rate=0.25, mixture="no_outage"),
        "C3": Condition(regime="grader_flips_q05", flip_rate=0.05),
        "C4": Condition(regime="grader_flips", flip_rate=0.10),
    },
)


class World(_Strict):
    """Which tasks and which wording: `compact` is the small tier's, `natural` the paper's, `drill` the tests'."""

    profile: Literal["compact", "natural", "drill"]
    train_tasks: Count
    validation_tasks: Count
    test_tasks: Count


class SmallPolicy(_Strict):
    """A randomly initialised Qwen3.5-architecture model with its own tokenizer, float32."""

    kind: Literal["small"]
    hidden: Count
    layers: Count
    full_attention_interval: Count
    heads: Count
    head_dim: Count
    rotary_share: Annotated[float, Field(gt=0.0, le=1.0)]
    mlp: Count
    initializer_range: Positive
    delta_rule: Literal["solve", "stock"]


class PretrainedPolicy(_Strict):
    """A published model, by name and dtype; its weights are never part of the repository."""

    kind: Literal["pretrained"]
    name: str
    dtype: Literal["bfloat16", "float32"]
    thinking: bool
    adapter_modules: Count
    adapter_coordinates: Annotated[int, Field(ge=1)]


class WarmStart(_Strict):
    """Supervised learning on a noisy scripted expert, to partial competence, before any reinforcement.

    `seed` fixes the base that all seeds of a tier start from, as all of the paper's seeds start from one published
    model; what a run's seed decides is its adapters, tasks, schedules and sampling. In the last `late_steps` the
    expert reacts to faults with probability `late_reaction`: words and tasks are learned from a careful expert, and
    what to do about faults is left to reinforcement.
    """

    seed: Annotated[int, Field(ge=0, lt=1 << 31)]
    steps: Count
    batch: Count
    refund_steps: Annotated[int, Field(ge=0)]
    short_steps: Annotated[int, Field(ge=0)]
    short_batch: Count
    learning_rate: Positive
    beta2: Annotated[float, Field(gt=0.0, lt=1.0)]
    final_fraction: Share
    fault_rate: Share
    reaction: Share
    late_steps: Annotated[int, Field(ge=0)]
    late_reaction: Share
    branch: Share


class Lora(_Strict):
    """Low-rank adapters on every linear layer of the language model."""

    rank: Count
    alpha: Count
    dropout: Share


class Rollouts(_Strict):
    """How a step's episodes are sampled."""

    sampler: Literal["lockstep", "vllm"]
    prompts: Count
    group_size: Annotated[int, Field(ge=2, le=256)]
    temperature: Positive
    top_p: Share
    top_k: Annotated[int, Field(ge=0)]
    max_completion: Count
    max_turn_tokens: Count
    max_turns: Count
    context: Count
    gpu_memory_share: Share


class Optimisation(_Strict):
    """One optimiser step per generation batch; `micro_batch` rows a backward pass, as TRL counts them."""

    steps: Count
    micro_batch: Count
    learning_rate: Positive
    schedule: Literal["constant", "linear"]
    loss: Literal["dapo"]
    kl: Annotated[float, Field(ge=0.0, le=0.0)]
    max_grad_norm: Positive


class Importance(_Strict):
    """Correction for the gap between sampling and training probabilities (TRL's default: sequence_mask, 3)."""

    mode: Literal[
        "off", "token_mask", "token_truncate", "sequence_mask", "sequence_truncate", "geometric_mask"
    ]
    cap: Positive


class Evaluation(_Strict):
    """Periodic sets on validation tasks, final sets on test tasks; schedules per task, challenge once each."""

    every: Count
    validation_tasks: Count
    validation_schedules: Count
    challenge_tasks: Count
    test_tasks: Count
    test_schedules: Count
    batch: Count


class Traps(_Strict):
    """Upstream behaviour that distorts a comparison: `paper` keeps it, `clean` mends it (docs/training.md)."""

    sampler_seed: Choice = "clean"
    adapter_seed: Choice = "clean"
    weight_sync: Choice = "clean"
    finish_turn: Choice = "clean"
    overlong_result: Choice = "clean"
    argument_coercion: Choice = "clean"
    missing_kernel: Choice = "clean"


class Tier(_Strict):
    """Everything the run matrix holds fixed."""

    format: Literal["study.tier/1"]
    name: Name
    world: World
    policy: Annotated[SmallPolicy | PretrainedPolicy, Field(discriminator="kind")]
    warm_start: WarmStart | None = None
    lora: Lora
    rollouts: Rollouts
    optimisation: Optimisation
    importance: Importance
    evaluation: Evaluation
    checkpoint_every: Count
    traps: Traps = Traps()

    @model_validator(mode="after")
    def _consistent(self) -> Tier:
        rows = self.rollouts.prompts * self.rollouts.group_size
        if rows % self.optimisation.micro_batch:
            raise ValueError(
                f"micro_batch {self.optimisation.micro_batch} must divide the {rows} rollouts of a step"
            )
        if (self.policy.kind == "small") != (self.rollouts.sampler == "lockstep"):
            raise ValueError("a small policy samples in lockstep, a pretrained one through vllm")
        warm = self.warm_start
        if warm is not None and warm.refund_steps + warm.short_steps > warm.steps:
            raise ValueError("the first stages of the warm start are longer than the whole")
        if warm is not None and warm.late_steps > warm.steps:
            raise ValueError("the last steps of the warm start are more than all")
        if self.policy.kind == "small" and self.warm_start is None:
            raise ValueError("a randomly initialised policy needs a warm_start")
        return self


class RunConfig(_Strict):
    """One cell of the run matrix, resolved."""

    format: Literal["study.run/1"] = "study.run/1"
    tier: Tier
    condition: ConditionName
    arm: Arm
    block_size: Annotated[int, Field(ge=1)] | None = None
    scale_rewards: Scaling = "group"
    seed: Annotated[int, Field(ge=0, lt=1 << 31)]

    @model_validator(mode="after")
    def _consistent(self) -> RunConfig:
        size = self.tier.rollouts.group_size
        if (self.arm == "blocks") != (self.block_size is not None):
            raise ValueError("the arm blocks, and no other, takes a block size")
        if self.block_size is not None and size % self.block_size:
            raise ValueError(f"block size {self.block_size} must divide the group size {size}")
        if (self.arm == "clean") != (self.condition == "C0"):
            raise ValueError("the clean arm belongs to C0 and C0 has no other arm")
        if self.arm.startswith("blocking") and self.tier.rollouts.prompts % 2:
            raise ValueError("blocking plays each task twice a step, so the prompts must be even")
        return self

    @property
    def noise(self) -> Condition:
        """The condition's noise."""
        return CONDITIONS[self.condition]

    @property
    def canonical(self) -> bytes:
        """The bytes whose SHA-256 is the digest."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, 64 hex digits."""
        return sha256_bytes(self.canonical)

    @property
    def run_id(self) -> str:
        """A name that depends on the config alone, so that two runs of one config write equal registers."""
        arm = self.arm if self.block_size is None else f"{self.arm}{self.block_size}"
        scale = "" if self.scale_rewards == "group" else "-unscaled"
        return f"{self.condition.lower()}-{arm}{scale}-s{self.seed}-{self.digest[:8]}"


def base_digest(config: RunConfig) -> str:
    """Digest of what determines the warm-started base: shared by every seed, condition and arm of a tier."""
    tier = config.tier
    parts: dict[str, Any] = {
        "format": "study.base/1",
        "profile": tier.world.profile,
        "context": tier.rollouts.context,
        "policy": tier.policy.model_dump(mode="json"),
        "warm_start": None if tier.warm_start is None else tier.warm_start.model_dump(mode="json"),
    }
    return sha256_bytes(canonical_json(parts))


def step_zero_digest(config: RunConfig) -> str:
    """Digest of what determines the step-0 checkpoint: shared by every condition and arm of a seed."""
    tier = config.tier
    parts: dict[str, Any] = {
        "format": "study.step0/1",
        "seed": config.seed,
        "base": base_digest(config),
        "lora": tier.lora.model_dump(mode="json"),
        "adapter_seed": tier.traps.adapter_seed,
    }
    return sha256_bytes(canonical_json(parts))

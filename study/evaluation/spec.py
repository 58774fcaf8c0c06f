"""What an evaluation of a policy consists of, as a value whose digest names the run."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.pools import POOL_SIZES, recorded_digest
from study.backoffice.profiles import profile_named
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import LAW
from study.errors import ConfigError
from study.evaluation.rows import RunLabel
from study.policies.scripted import scripted_policy

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
MAX_SEED = 1 << 31
MAX_COUNT = 1 << 20


@dataclass(frozen=True, slots=True)
class EvaluationSpec:
    """One run of `study evaluate`.

    Attributes:
        policy: a scripted policy, or the register value of a trained one.
        profile: a built-in profile.
        pool: a pool with a recorded digest.
        regimes: regimes to play, each once.
        tasks: how many tasks from the pool's start, 1 to its size.
        schedules: K, schedules per task; seed s plays s*K .. s*K+K-1. The challenge set draws nothing, so it plays
            one whatever K is (`schedules_of`). With groups: groups per task.
        seed: the run's seed.
        arm: register value; with groups `paired` or `independent`.
        condition: register value.
        group_size: G, or 0 for an evaluation without groups.
        checkpoints: of a trained policy, (optimiser steps, digest of the weights), ascending; each plays every
            episode. Empty for a scripted one. Weights are named by digest, never by place.
        config_digest: of the run that trained it, which fixes how it samples and when a rollout stops; else "".
    """

    policy: str
    profile: str
    pool: str
    regimes: tuple[str, ...]
    tasks: int
    schedules: int
    seed: int
    arm: str
    condition: str
    group_size: int = 0
    checkpoints: tuple[tuple[int, str], ...] = ()
    config_digest: str = ""

    def __post_init__(self) -> None:
        if not self.checkpoints:
            scripted_policy(self.policy)
        profile_named(self.profile)
        for regime in self.regimes:
            regime_named(regime)
        size = POOL_SIZES.get(self.pool, 0)
        grouped = self.group_size > 0
        checks: tuple[tuple[str, bool, str, object], ...] = (
            ("pool", size > 0, ", ".join(POOL_SIZES), self.pool),
            (
                "regime",
                len(set(self.regimes)) == len(self.regimes) > 0,
                "each once, at least one",
                self.regimes,
            ),
            ("tasks", 1 <= self.tasks <= size, f"1 to {size}", self.tasks),
            ("schedules", 1 <= self.schedules <= MAX_COUNT, f"1 to {MAX_COUNT}", self.schedules),
            (
                "schedules",
                grouped
                or self.schedules == 1
                or any(not regime_named(name).challenge for name in self.regimes),
                "1: the challenge set has no chance that a further schedule could change",
                self.schedules,
            ),
            ("seed", 0 <= self.seed < MAX_SEED, f"0 to {MAX_SEED - 1}", self.seed),
            ("arm", _LABEL.fullmatch(self.arm) is not None, "letters, digits, _ . -", self.arm),
            (
                "condition",
                _LABEL.fullmatch(self.condition) is not None,
                "letters, digits, _ . -",
                self.condition,
            ),
            (
                "group size",
                self.group_size == 0 or 2 <= self.group_size <= 1024,
                "2 to 1024",
                self.group_size,
            ),
            (
                "policy",
                not grouped or not self.checkpoints,
                "a scripted one, when groups are played",
                self.policy,
            ),
            ("regime", not grouped or len(self.regimes) == 1, "one, when groups are played", self.regimes),
            ("arm", not grouped or self.arm in ("paired", "independent"), "paired or independent", self.arm),
        )
        for what, good, expected, found in checks:
            if not good:
                raise ConfigError(f"the {what} of an evaluation", expected=expected, found=found)

    def digest(self) -> str:
        """SHA-256 over the spec, the law's version, the pool's digest and the regimes' noise laws."""
        laws = [regime_named(name) for name in self.regimes]
        value = asdict(self)
        if not self.checkpoints:  # digests from before trained policies stay what they were
            del value["checkpoints"], value["config_digest"]
        value |= {
            "law": LAW,
            "pool_sha256": recorded_digest(profile_named(self.profile), self.pool),
            "noise": [[str(law.rate), str(law.flip_rate), law.weights_digest()] for law in laws],
        }
        if not self.group_size and self.schedules > 1 and any(law.challenge for law in laws):
            value["challenge_schedules"] = (
                1  # runs from before this rule played K equal ones under another digest
            )
        return sha256_bytes(canonical_json(value))

    @property
    def episodes(self) -> int:
        """How many episodes are played."""
        each = sum(self.schedules_of(regime) for regime in self.regimes)
        return self.tasks * each * max(len(self.checkpoints), 1)

    def schedules_of(self, regime: str) -> int:
        """Schedules per task in one regime: K, or one in the challenge set, outside groups."""
        return 1 if regime_named(regime).challenge and not self.group_size else self.schedules

    def label(self) -> RunLabel:
        """The labels of this run's rows; the run id ends in the spec's digest, so equal ids mean equal specs."""
        run_id = f"{self.condition}-{self.arm}-s{self.seed}-{self.digest()[:12]}"
        return RunLabel(run_id, self.condition, self.arm, self.seed, self.policy)

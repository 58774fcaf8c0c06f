"""The task pools: generated from fixed coordinates, never stored, and held to the digests in `pools.json`.

A pool's digest is the SHA-256 of the lines `<task id> <SHA-256 of the task>`; a task's is over the canonical JSON
of everything that it consists of. A pool that does not come out as recorded is refused, so a change of the
generator cannot pass unnoticed. `reserve` belongs to no protocol: it confirms what was tuned while looking at
another pool. `warmup` has no size and no digest: it supplies as many demonstrations as wanted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from prereg_kit.errors import Where
from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.generate import generate
from study.backoffice.profile import RESERVE, Profile
from study.backoffice.profiles import PROFILES
from study.backoffice.tasks import Task
from study.errors import ConfigError

FORMAT = "study.pools/1"
POOL_SIZES: Mapping[str, int] = MappingProxyType(
    {"train": 2000, "validation": 300, "test": 300, "diagnostic": 16, RESERVE: 300}
)
WARMUP = "warmup"


@dataclass(frozen=True, slots=True)
class Pool:
    """A verified pool.

    Attributes:
        name: one of `POOL_SIZES`; the registers' `split`.
        profile: the knobs.
        tasks: in order.
        sha256: the pool's digest.
    """

    name: str
    profile: Profile
    tasks: tuple[Task, ...]
    sha256: str


def task_value(task: Task) -> dict[str, Any]:
    """A task as plain values: all that it consists of but the profile, whose digest stands for it."""
    world = task.world
    return {
        "task_id": task.task_id,
        "world_seed": task.world_seed,
        "profile": task.profile.digest(),
        "request": task.request,
        "parts": [[part.template, part.form, part.order_id, part.customer_id] for part in task.parts],
        "plan": [[call.name, dict(call.arguments), call.needs, call.seeks] for call in task.plan],
        "customers": list(world.customers.values()),
        "products": list(world.products.values()),
        "orders": list(world.orders.values()),
        "expected": [[*key, value] for key, value in sorted(task.expected.changes.items())],
        "added": list(task.expected.added),
        "budget": task.budget,
    }


def task_digest(task: Task) -> str:
    """SHA-256 of a task's canonical JSON."""
    return sha256_bytes(canonical_json(task_value(task)))


def pool_digest(tasks: tuple[Task, ...]) -> str:
    """SHA-256 over the lines `<task id> <digest>`."""
    return sha256_bytes("".join(f"{task.task_id} {task_digest(task)}\n" for task in tasks).encode())


def draw_pool(profile: Profile, name: str) -> Pool:
    """Generate a pool without holding it to the manifest.

    Raises:
        ConfigError: no pool of that name, or one without a size.
    """
    if name not in POOL_SIZES:
        raise ConfigError("no such pool", expected=", ".join(POOL_SIZES), found=name)
    tasks = tuple(generate(profile, name, index) for index in range(POOL_SIZES[name]))
    return Pool(name, profile, tasks, pool_digest(tasks))


def manifest() -> dict[str, Any]:
    """The value that `pools.json` must hold, computed from the generator."""
    pools = {
        name: {
            "profile": profile.digest(),
            "pools": {
                pool: {"tasks": size, "sha256": draw_pool(profile, pool).sha256}
                for pool, size in POOL_SIZES.items()
            },
        }
        for name, profile in PROFILES.items()
    }
    return {"format": FORMAT, "profiles": pools}


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    """The manifest that lies beside the code.

    Raises:
        ConfigError: it has another format.
    """
    value: dict[str, Any] = json.loads(files("study.backoffice").joinpath("pools.json").read_text("utf-8"))
    if value.get("format") != FORMAT:
        raise ConfigError(
            "the pools' manifest", where=Where(file="pools.json"), expected=FORMAT, found=value.get("format")
        )
    return value


@lru_cache(maxsize=8)
def load_pool(profile: Profile, name: str) -> Pool:
    """Generate a pool and hold it to the recorded digest.

    Raises:
        ConfigError: no such pool, no record for the profile, or a digest that differs from the record.
    """
    pool = draw_pool(profile, name)
    expected = recorded_digest(profile, name)
    if pool.sha256 != expected:
        raise ConfigError(
            f"pool {profile.name}/{name} does not come out as recorded",
            where=Where(file="pools.json", field=f"{profile.name}.{name}"),
            expected=expected,
            found=pool.sha256,
            next_step="The generator or the profile changed; give the changed profile another name.",
        )
    return pool


def recorded_digest(profile: Profile, name: str) -> str:
    """The recorded digest of a pool.

    Raises:
        ConfigError: there is none for this profile with these knobs.
    """
    entry = recorded()["profiles"].get(profile.name)
    if entry is None or entry["profile"] != profile.digest() or name not in entry["pools"]:
        raise ConfigError(
            "no recorded pool for this profile",
            where=Where(file="pools.json"),
            expected="a built-in profile with its knobs unchanged",
            found=f"{profile.name}/{name}",
        )
    digest: str = entry["pools"][name]["sha256"]
    return digest


def warmup_task(profile: Profile, index: int) -> Task:
    """A task for demonstrations, from coordinates that no pool shares."""
    return generate(profile, WARMUP, index)

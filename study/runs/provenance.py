"""Where a run comes from: code, packages, device, and the frozen plan that binds its config."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prereg_kit.errors import PreregError
from prereg_kit.evidence.archive import find_frozen, load_frozen
from prereg_kit.plan.file import declared_format, read_plan
from study.errors import ConfigError

PACKAGES = (
    "prereg-kit",
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "tokenizers",
    "numpy",
    "vllm",
    "flash-linear-attention",
    "triton",
)


@dataclass(frozen=True)
class Binding:
    """A frozen plan that lists the config among its materials.

    Attributes:
        plan: the plan's id.
        plan_digest: SHA-256 of the plan's bytes.
        material: the path that the plan gives the config.
    """

    plan: str
    plan_digest: str
    material: str


def now() -> str:
    """The present moment, RFC 3339, UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def versions() -> dict[str, str | None]:
    """Version of each package that can change a number, None where it is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def code(folder: Path | None = None) -> dict[str, Any]:
    """Commit of the running code and whether its tree differs; None where it is not under git."""
    root = folder or Path(__file__).resolve().parents[2]

    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    commit = ask("rev-parse", "HEAD")
    dirt = ask("status", "--porcelain", "--", "study", "prereg_kit") if commit else None
    return {"commit": commit, "dirty": bool(dirt) if dirt is not None else None}


def processor() -> str:
    """The processor's name, as far as the platform tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def find_binding(config_digest: str, root: Path) -> Binding | None:
    """The first frozen plan under `root` whose materials hold the config's digest.

    A folder that cannot be read as a frozen plan binds nothing and is passed over.
    """
    if not root.is_dir():
        return None
    for folder in find_frozen(root):
        try:
            document = load_frozen(folder)
            if declared_format(document.data) != "prereg.plan/1":
                continue
            plan = read_plan(document.data, str(folder))
        except PreregError:
            continue
        for material in plan.materials:
            if material.sha256 == config_digest:
                return Binding(plan.id, document.digest, material.path)
    return None


def bound_or_exploratory(config_digest: str, root: Path, *, exploratory: bool) -> Binding | None:
    """The binding of a run, or None for one that was declared exploratory.

    Raises:
        ConfigError: neither.
    """
    binding = find_binding(config_digest, root)
    if binding is None and not exploratory:
        raise ConfigError(
            "no frozen plan binds this config",
            expected=f"a frozen plan with a material of SHA-256 {config_digest}",
            next_step="Freeze a plan that lists it (--write-config writes the file), or pass --exploratory.",
            code="unbound",
        )
    return binding

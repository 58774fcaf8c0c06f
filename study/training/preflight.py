"""What a start needs, looked at before anything is loaded: said at once, with what to install."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from study.config.run_config import PretrainedPolicy, RunConfig
from study.errors import CannotStartError

REQUIRED = {"torch": "2.13.0", "transformers": "5.16.1", "trl": "1.12.0", "peft": "0.20.0"}
REQUIRED_GPU = {"vllm": "0.27.1", "flash-linear-attention": "0.5.2"}
INSTALL = "pip install 'prereg-kit[study]'"
INSTALL_GPU = "pip install 'prereg-kit[study,gpu]'"
SMALL_MEMORY = 3 << 30
"""Bytes that a run of the cpu tier needs at its peak, with room to spare (measured: see docs/training.md)."""


@dataclass(frozen=True)
class Problem:
    """Something that keeps a run from starting: what, and what to do."""

    what: str
    remedy: str


def installed(name: str) -> str | None:
    """A distribution's version without its local part, None if it is not installed."""
    try:
        return importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def version_problems(needed: dict[str, str], remedy: str) -> list[Problem]:
    """Packages that are missing or of another version than the one the code was read against."""
    problems = []
    for name, version in needed.items():
        found = installed(name)
        if found is None:
            problems.append(Problem(f"{name} is not installed (version {version} is needed)", remedy))
        elif found != version:
            problems.append(Problem(f"{name} is {found}, version {version} is needed", remedy))
    return problems


def free_memory() -> int | None:
    """Bytes of main memory that a new process can have, None where the platform does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None
    return None


def accelerator_memory() -> int | None:
    """Bytes of the first accelerator, None without one."""
    import torch

    if not torch.cuda.is_available():
        return None
    return int(torch.cuda.get_device_properties(0).total_memory)


def problems(run: RunConfig) -> list[Problem]:
    """Everything that keeps this run from starting here, most basic first."""
    found = version_problems(REQUIRED, INSTALL)
    policy = run.tier.policy
    if not isinstance(policy, PretrainedPolicy):
        free = free_memory()
        if free is not None and free < SMALL_MEMORY:
            found.append(
                Problem(
                    f"{free / 2**30:.1f} GiB of memory are free, {SMALL_MEMORY / 2**30:.0f} are needed",
                    "Free some memory, or run one process at a time.",
                )
            )
        return found
    found += version_problems(REQUIRED_GPU, INSTALL_GPU)
    if installed("torch") is not None:
        have = accelerator_memory()
        if have is None:
            found.append(
                Problem("no GPU is visible to torch", "Run on a machine with one accelerator and its driver.")
            )
        else:
            from study.training.memory import plan

            need = plan(run).total
            if have < need:
                found.append(
                    Problem(
                        f"the GPU has {have / 2**30:.0f} GiB, the plan needs {need / 2**30:.0f}",
                        "Use a larger accelerator, or lower rollouts.gpu_memory_share or rollouts.max_completion.",
                    )
                )
    return found


def require(run: RunConfig) -> None:
    """Refuse to start a run that cannot work.

    Raises:
        CannotStartError: listing everything that is missing.
    """
    found = problems(run)
    if found:
        raise CannotStartError(
            f"tier {run.tier.name} cannot start here: " + "; ".join(one.what for one in found),
            next_step=" ".join(dict.fromkeys(one.remedy for one in found)),
        )

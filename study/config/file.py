"""Tier files (TOML) to typed tiers, strictly: unknown keys, wrong types and other formats are refused."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from prereg_kit.errors import Where
from study.config.run_config import RunConfig, Tier
from study.errors import ConfigError

TIERS = ("smoke", "cpu", "full")
_Model = TypeVar("_Model", Tier, RunConfig)


def read_tier(name: str) -> Tier:
    """The tier shipped as `study/tiers/NAME.toml`, or a tier file given by its path.

    Raises:
        ConfigError: no such tier, or a file that does not say what a tier must say.
    """
    if name in TIERS:
        path = f"study/tiers/{name}.toml"
        data = resources.files("study.config").joinpath("tiers", f"{name}.toml").read_bytes()
    elif name.endswith(".toml"):
        path = name
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            raise ConfigError(
                "the tier file cannot be read", where=Where(file=name), found=str(error.strerror)
            ) from error
    else:
        raise ConfigError(
            "there is no such tier", expected=f"one of {', '.join(TIERS)}, or a .toml file", found=name
        )
    return parse_tier(data, path)


def parse_tier(data: bytes, path: str) -> Tier:
    """A tier from the bytes of a TOML file.

    Raises:
        ConfigError: not UTF-8, not TOML, or a key or value that does not belong; the field is named.
    """
    try:
        table: dict[str, Any] = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError("the tier file is not TOML", where=Where(file=path), found=str(error)) from error
    return _checked(Tier, table, path)


def resolve(
    tier: Tier,
    *,
    condition: str,
    arm: str,
    seed: int,
    block_size: int | None = None,
    scale_rewards: str = "group",
) -> RunConfig:
    """One run of a tier.

    Raises:
        ConfigError: a combination that does not exist, such as C0 with a noisy arm.
    """
    table = {
        "tier": tier,
        "condition": condition,
        "arm": arm,
        "block_size": block_size,
        "scale_rewards": scale_rewards,
        "seed": seed,
    }
    return _checked(RunConfig, table, "the command line")


def parse_run(data: bytes, path: str) -> RunConfig:
    """A resolved run from its canonical JSON, as `run.json` and frozen materials carry it.

    Raises:
        ConfigError: not such a document.
    """
    try:
        return RunConfig.model_validate_json(data)
    except ValidationError as error:
        raise translated(error, path) from error


def _checked(kind: type[_Model], table: dict[str, Any], path: str) -> _Model:
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise translated(error, path) from error


def translated(error: ValidationError, path: str) -> ConfigError:
    """The first defect that pydantic found, as an error that names file and field."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"]) or None
    more = error.error_count() - 1
    text = first["msg"].removeprefix("Value error, ")
    problem = text[:1].lower() + text[1:]
    where = Where(file=path, field=field)
    follow = f"{more} more problem(s) follow." if more else None
    if isinstance(first["input"], dict | Tier | RunConfig):
        return ConfigError(problem, where=where, next_step=follow)
    return ConfigError(problem, where=where, found=first["input"], next_step=follow)

"""Shared pieces: small configs and a start that costs a second, so that no test needs a trained policy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
pytest.importorskip("torch", reason="needs the study extra")
pytest.importorskip("trl", reason="needs the study extra")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def small_run():
    """Make a run like those of the smoke tier, on the compact world: section__field=value replaces a part."""
    from study.config.file import read_tier, resolve
    from study.config.run_config import Tier

    def make(condition="C2", arm="paired", seed=0, block_size=None, scale_rewards="group", **changes):
        table = read_tier("smoke").model_dump()
        for name, value in {
            "world__profile": "compact",
            "warm_start__steps": 4,
            "warm_start__refund_steps": 1,
            "warm_start__short_steps": 1,
            **changes,
        }.items():
            section, _, field = name.partition("__")
            if field:
                table[section][field] = value
            else:
                table[section] = value
        return resolve(
            Tier.model_validate(table),
            condition=condition,
            arm=arm,
            seed=seed,
            block_size=block_size,
            scale_rewards=scale_rewards,
        )

    return make


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory):
    """The step-0 checkpoint of a run, built once per digest."""
    from study.training import step_zero

    store = tmp_path_factory.mktemp("step0")

    def make(run) -> Path:
        return step_zero.build(run, store)

    return make

"""A run of the smoke tier, trained for two steps, shared by the tests that need a model."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory):
    """The folder of a completed run with checkpoints 1 and 2."""
    pytest.importorskip("torch", reason="needs the study extra")
    pytest.importorskip("trl", reason="needs the study extra")
    import torch

    from study.config.file import read_tier, resolve
    from study.training.run import Request, execute

    torch.set_num_threads(1)
    table = read_tier("smoke").model_dump()
    table["warm_start"] |= {"steps": 4, "refund_steps": 1, "short_steps": 1}
    table["optimisation"]["steps"] = 2
    table["checkpoint_every"] = 1
    table["evaluation"] |= {
        "every": 2,
        "test_tasks": 2,
        "test_schedules": 1,
        "validation_tasks": 2,
        "batch": 16,
    }
    tier = type(read_tier("smoke")).model_validate(table)
    root = tmp_path_factory.mktemp("probed")
    run = resolve(tier, condition="C4", arm="paired", seed=3)
    execute(Request(run, root / "run", root / "step0", None, "tests", 2, False), lambda _: None)
    return root / "run"

"""The smallest tier that ships walks the whole path: some groups have a contrast, and the weights move."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from study.config.file import read_tier, resolve
from study.runs.log import merged
from study.training import checkpoints, step_zero
from study.training.run import Request, execute

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("step0")


@pytest.mark.parametrize("arm", ["paired", "independent"])
def test_the_smoke_tier_learns_from_groups_with_a_contrast(arm, store, tmp_path):
    run = resolve(read_tier("smoke"), condition="C2", arm=arm, seed=0)
    out = tmp_path / "run"
    assert execute(Request(run, out, store, None, "tests", 4, False), lambda _: None).status == "completed"
    rows = merged(out, "groups")
    assert len(rows) == 16
    contrasted = [row for row in rows if not row["zero_variance"]]
    assert contrasted
    assert sum(sum(row["malformed"]) for row in rows) < 32  # of 64 rollouts
    for row in contrasted:
        assert any(row["advantages"])
        assert row["importance_weights"] == pytest.approx([1.0] * 4, abs=1e-3)  # on policy, in float32

    begun = step_zero.adapter_state(step_zero.load(run, step_zero.build(run, store)).model)
    before, after = (
        load_file(out / "checkpoints" / checkpoints.name_of(step) / checkpoints.WEIGHTS) for step in (2, 4)
    )
    ups = [name for name in after if "lora_B" in name]
    assert all(not tensor.any() for name, tensor in begun.items() if "lora_B" in name)  # they start at zero
    assert ups and any(after[name].any() for name in ups)
    assert any(not torch.equal(before[name], after[name]) for name in after)

"""The memory plan of the full tier, against sums by hand and against what a pass really keeps."""

from __future__ import annotations

import pytest
import torch

from study.config.file import read_tier, resolve
from study.config.run_config import Tier
from study.errors import ConfigError
from study.training import memory
from study.training.passes import CHUNK_TOKENS, cuts
from study.training.train import train
from tests.study.training.test_trainer import assembled, half

pytestmark = pytest.mark.torch


def full(**traps):
    table = read_tier("full").model_dump()
    table["traps"] |= traps
    return resolve(Tier.model_validate(table), condition="C2", arm="paired", seed=0)


def test_the_merged_copy_of_a_clean_sync_is_counted():
    """Weights of the 186 adapted layers in bf16, added up by hand from the shapes: 2.56 GiB."""
    mlp = 3 * 2048 * 6144
    linear = 2048 * (6144 + 2048 + 16 + 16) + 2048 * 2048 + mlp  # qkv, z, b, a; out
    attention = 2048 * (2 * 8 * 256 + 2 * 2 * 256) + 8 * 256 * 2048 + mlp  # q with its gate, k, v; out
    wanted = 2 * (18 * linear + 6 * attention)
    plan = memory.plan(full())
    assert plan.merged_copy == wanted and round(wanted / 2**30, 2) == 2.56
    in_place = memory.plan(full(weight_sync="paper"))
    assert in_place.merged_copy == 0
    assert plan.training - in_place.training == pytest.approx(1.1 * wanted, abs=2)
    assert dict(plan.lines())["merged copy of a weight sync"] == pytest.approx(2.56, abs=0.005)


def test_logits_are_those_that_passes_keep_and_one_passes_gradients():
    """Two rows of 6,144 tokens: float32 logits of both, and gradients (float32 and bf16) of one at a time."""
    plan = memory.plan(full())
    assert plan.logits == 248_320 * (2 * 6144 * 4 + 6144 * 6)
    assert plan.logits < 248_320 * 2 * 6144 * 10  # as if both rows were in one pass


def test_a_pass_is_one_long_row_or_several_short_ones():
    assert cuts([]) == []
    assert cuts([6000, 6144]) == [(0, 1), (1, 2)]
    assert cuts([1000, 1024, 1024, 1024]) == [(0, 4)]  # 4 x 1024 = CHUNK_TOKENS
    assert cuts([1000, 1024, 1024, 1025]) == [(0, 3), (3, 4)]
    assert CHUNK_TOKENS == 4096


def test_what_a_loss_keeps_of_its_logits_until_the_backward_pass(small_run, start, tmp_path):
    """The tensors that autograd saves, counted: float32 logits of every kept row, once, and no more."""
    run = small_run("C0", "clean", importance__mode="off")
    assembly, _ = assembled(run, start, tmp_path, half)
    trainer = assembly.trainer
    vocabulary, kept, tokens = assembly.wire.size, {}, []
    weights = {p.untyped_storage().data_ptr() for p in assembly.model.parameters()}

    def save(tensor):
        storage = tensor.untyped_storage()
        if tensor.shape[-1:] == (vocabulary,) and storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    compute, scores = trainer._compute_loss, trainer._get_per_token_logps_and_entropies

    def counted(model, ids, mask, to_keep, *rest, **options):
        tokens.append(ids.shape[0] * to_keep)
        return scores(model, ids, mask, to_keep, *rest, **options)

    def watched(model, inputs):
        with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
            return compute(model, inputs)

    trainer._compute_loss, trainer._get_per_token_logps_and_entropies = watched, counted
    train(assembly, None)
    assert tokens and sum(kept.values()) == 4 * vocabulary * sum(tokens)


def test_a_small_policy_has_no_plan(small_run):
    with pytest.raises(ConfigError):
        memory.plan(small_run())

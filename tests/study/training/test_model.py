import pytest
import torch

from study.config.run_config import Lora
from study.errors import StudyError
from study.training import model as models
from study.training.weight_sync import WeightSync, base_tensors, checksum

pytestmark = pytest.mark.torch
LORA = Lora(rank=4, alpha=8, dropout=0.0)


def tiny(dtype=torch.float32, seed=0):
    config = models.TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        full_attention_interval=2,
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    return models.adapt(models.CausalLM(config).to(dtype), LORA, seed)


def move(model, seed=0, size=1e-3):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(
                    (size * torch.randn(parameter.shape, generator=generator)).to(parameter.dtype)
                )


def test_the_published_shape_has_186_adapted_modules_and_33638400_coordinates():
    with torch.device("meta"):
        model = models.adapt(
            models.CausalLM(models.published_shape()), Lora(rank=32, alpha=64, dropout=0.0), 0
        )
    assert models.adapter_size(model) == (186, 33_638_400)
    models.check_adapter(model, 186, 33_638_400)
    assert 6 * 491_520 + 18 * 656_384 + 24 * 786_432 == 33_638_400
    with pytest.raises(StudyError, match="nothing else"):
        models.check_adapter(model, 187, 33_638_400)


def test_an_adapter_on_a_vision_tower_is_refused():
    model = torch.nn.Module()
    model.visual = torch.nn.Linear(4, 4)
    with pytest.raises(StudyError, match="vision"):
        models.check_adapter(model, 0, 20)


def test_merging_out_of_place_is_the_adapted_model_and_leaves_it_alone():
    model = tiny()
    move(model, size=0.05)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights = models.merged(model)
    plain = models.CausalLM(model.get_base_model().config)
    plain.load_state_dict(weights)
    tokens = torch.arange(20).view(1, -1)
    with torch.no_grad():
        assert torch.allclose(plain(tokens).logits, model(tokens).logits, atol=1e-5)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_the_trap_adapters_drawn_before_the_seed_differ_between_arms():
    base = models.CausalLM(tiny().get_base_model().config)

    def drawn(mode, noise):
        torch.manual_seed(noise)  # what else happened in the process
        import copy

        model = models.adapt(copy.deepcopy(base), LORA, 0, adapter_seed=mode)
        return {name: p.clone() for name, p in model.named_parameters() if "lora_A" in name}

    paired, independent = drawn("paper", 1), drawn("paper", 2)
    assert any(not torch.equal(paired[name], independent[name]) for name in paired)
    paired, independent = drawn("clean", 1), drawn("clean", 2)
    assert all(torch.equal(paired[name], independent[name]) for name in paired)


@pytest.mark.parametrize("mode", ["paper", "clean"])
def test_the_trap_merging_in_place_lets_a_bf16_base_drift(mode):
    model = tiny(torch.bfloat16)
    origin = {name: tensor.clone() for name, tensor in base_tensors(model)}
    pushed = []
    sync = WeightSync(model, lambda pairs: pushed.append(len(pairs)), "model.", mode)
    for step in range(20):
        move(model, seed=step, size=2e-3)
        assert sync.push(step)
        assert not sync.push(step)  # once a step
    drift = max(
        float((origin[name].float() - tensor.float()).abs().max()) for name, tensor in base_tensors(model)
    )
    assert (drift > 1e-4) if mode == "paper" else (drift == 0.0)
    assert len(pushed) == 20


def test_a_changed_base_is_noticed():
    model = tiny(torch.bfloat16)
    sync = WeightSync(model, lambda pairs: None, "model.", "clean")
    with torch.no_grad():
        next(p for n, p in model.named_parameters() if "gate_proj.base_layer" in n)[0, 0] += 1
    with pytest.raises(StudyError, match="base changed"):
        sync.push(0)


def test_the_checksum_sees_one_bit_and_the_place_of_a_tensor():
    one = [("a", torch.zeros(100)), ("b", torch.ones(3, dtype=torch.bfloat16))]
    other = [("a", torch.zeros(100)), ("b", torch.ones(3, dtype=torch.bfloat16))]
    assert checksum(one) == checksum(other)
    other[0][1][57] = -0.0  # equal as a number, another bit
    assert checksum(one) != checksum(other)
    assert checksum(one) != checksum(one[::-1])


def test_fp32_sync_of_the_paper_side_does_not_drift_visibly():
    model = tiny()
    origin = {name: tensor.clone() for name, tensor in base_tensors(model)}
    sync = WeightSync(model, lambda pairs: None, "model.", "paper")
    for step in range(20):
        move(model, seed=step, size=2e-3)
        sync.push(step)
    drift = max(float((origin[name] - tensor).abs().max()) for name, tensor in base_tensors(model))
    assert drift < 1e-6


def test_the_same_seed_gives_the_same_small_policy():
    from study.config.file import read_tier

    policy = read_tier("smoke").policy
    config = models.small_config(policy, 433, 384, 4, 0)
    one, other, third = (models.small_model(policy, config, seed) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert any(not torch.equal(a, b) for a, b in zip(one.parameters(), third.parameters(), strict=True))
    assert config.layer_types == ["linear_attention", "full_attention"] * 2

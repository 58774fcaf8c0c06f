"""The sampler against the model that trains: same probabilities, no dependence on neighbours."""

import pytest
import torch

from study.backoffice.episode import Episode
from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT
from study.training import lockstep, seeds, step_zero
from study.training.decode import Decoder
from study.training.environment import LiveEpisode, law_of
from study.training.model import merged
from study.training.rollout import Limits, Rollout

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def policy(small_run, start):
    run = small_run()
    loaded = step_zero.load(run, start(run))
    with torch.no_grad():
        for name, parameter in loaded.model.named_parameters():
            if "lora_B" in name:  # adapters that do something
                parameter.copy_(
                    0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
                )
    return run, loaded.model, step_zero.small_wire(run)


def fresh(wire, index, limits=None, slot=0):
    limits = limits or Limits(60, 12, 22)
    task = generate(COMPACT, "train", index)
    live = LiveEpisode(Episode(task, law_of("C2"), f"{index:032x}"))
    return Rollout(live, wire, task.request, limits, lambda turn: seeds.key("test", index, slot, turn))


def test_every_step_of_the_decoder_is_the_models_own_forward(policy):
    _, model, _ = policy
    weights, config = merged(model), model.get_base_model().config
    tokens = torch.randint(5, 400, (6, 50), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        want = model(tokens).logits.log_softmax(-1)
    decoder = Decoder(weights, config, 6, 50)
    got = torch.stack([decoder.step(tokens[:, t]) for t in range(50)], 1).log_softmax(-1)
    assert (want - got).abs().max() < 1e-5


def test_dropping_rows_leaves_the_others_alone(policy):
    _, model, _ = policy
    weights, config = merged(model), model.get_base_model().config
    tokens = torch.randint(5, 400, (5, 20), generator=torch.Generator().manual_seed(0))
    whole, part = Decoder(weights, config, 5, 20), Decoder(weights, config, 5, 20)
    for t in range(10):
        whole.step(tokens[:, t])
        part.step(tokens[:, t])
    kept = torch.tensor([1, 4])
    part.keep(kept)
    for t in range(10, 20):
        want, got = whole.step(tokens[:, t])[kept], part.step(tokens[kept, t])
        assert (want - got).abs().max() < 1e-5


def test_sampling_and_training_probabilities_agree(policy):
    _, model, wire = policy
    rollouts = [fresh(wire, index) for index in range(12)]
    lockstep.play(rollouts, merged(model), model.get_base_model().config, positions=100)
    assert all(rollout.done for rollout in rollouts)
    for rollout in rollouts:
        tokens = torch.tensor([rollout.tokens])
        with torch.no_grad():
            logp = model(tokens).logits.log_softmax(-1)[0]
        first = len(rollout.prompt)
        for place, (token, mask, value) in enumerate(
            zip(rollout.ids, rollout.mask, rollout.logps, strict=True)
        ):
            if mask:
                assert abs(float(logp[first + place - 1, token]) - value) < 1e-5


def test_a_rollout_does_not_depend_on_its_neighbours(policy):
    _, model, wire = policy
    weights, config = merged(model), model.get_base_model().config
    together = [fresh(wire, index) for index in range(8)]
    lockstep.play(together, weights, config, positions=100)
    for index in (5, 0, 7):
        alone = fresh(wire, index)
        lockstep.play([alone], weights, config, positions=100)
        assert alone.ids == together[index].ids
        assert alone.environment.outcome() == together[index].environment.outcome()


def test_siblings_differ_and_one_seed_for_all_would_make_them_equal(policy):
    _, model, wire = policy
    weights, config = merged(model), model.get_base_model().config
    clean = [fresh(wire, 3, slot=slot) for slot in range(6)]
    lockstep.play(clean, weights, config, positions=100)
    assert len({tuple(one.ids) for one in clean}) > 1
    trap = [fresh(wire, 3, slot=0) for _ in range(6)]
    lockstep.play(trap, weights, config, positions=100)
    assert len({tuple(one.ids) for one in trap}) == 1


def test_the_samples_follow_the_policys_distribution(policy):
    """First tokens of 3,000 rollouts of one prompt against the exact probabilities (G-test, fixed seed)."""
    _, model, wire = policy
    weights, config = merged(model), model.get_base_model().config
    rollouts = [fresh(wire, 3, Limits(1, 12, 1), slot) for slot in range(3000)]
    lockstep.play(rollouts, weights, config, positions=40, temperature=0.5)
    with torch.no_grad():
        exact = (model(torch.tensor([rollouts[0].prompt])).logits[0, -1] / 0.5).softmax(-1)
    counts = torch.bincount(torch.tensor([one.ids[0] for one in rollouts]), minlength=len(exact)).double()
    common = exact > 0.004
    cells = torch.cat([counts[common], counts[~common].sum().view(1)])
    expected = torch.cat([exact[common].double(), exact[~common].double().sum().view(1)]) * 3000
    statistic = float(2 * (cells * (cells.clamp(min=1e-9) / expected).log()).sum())
    freedom = len(cells) - 1
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5


def test_too_few_positions_are_refused(policy):
    _, model, wire = policy
    with pytest.raises(ValueError, match="positions"):
        lockstep.play([fresh(wire, 0)], merged(model), model.get_base_model().config, positions=8)

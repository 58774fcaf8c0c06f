"""Scores of a real, small model: against finite differences and other roads, and with their guards."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the study extra")
pytest.importorskip("trl", reason="needs the study extra")

from dataclasses import replace  # noqa: E402

from study.config.run_config import Lora  # noqa: E402
from study.errors import StudyError  # noqa: E402
from study.probe import checks, scores  # noqa: E402
from study.probe.double import DoublePrecision  # noqa: E402
from study.probe.estimators import sequence_weights  # noqa: E402
from study.probe.measure import ModelSource  # noqa: E402
from study.probe.spec import spec_of  # noqa: E402
from study.trained.checkpoint_policy import trained  # noqa: E402
from study.trained.language_model import policy_model  # noqa: E402
from study.trained.samples import Sampler, slots  # noqa: E402
from study.training import importance  # noqa: E402
from study.training import model as models  # noqa: E402
from study.training.train import quiet_process  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def played(trained_run):
    found = trained(f"{trained_run}@2")
    quiet_process(found.run)
    sampler = Sampler(found.run, policy_model(found, found.checkpoints[0]), 2, "validation", "faults_p25")
    samples = sampler.play(slots(4, 1, 4, found.run.seed))
    texts = [scores.Text(one.prompt, one.ids, one.mask, one.logps) for one in samples]
    return found, [max(texts, key=lambda text: len(text.ids)), *texts]


@pytest.fixture
def model(played):
    found = played[0]
    return policy_model(found, found.checkpoints[0])


def value(model, text, temperature=1.0):
    with torch.no_grad():
        logps = scores.token_logps(model, torch.tensor([[*text.prompt, *text.ids]]), temperature)[0]
    return float((logps[len(text.prompt) - 1 :] * torch.tensor(text.mask, dtype=logps.dtype)).sum())


def difference(model, chosen, text, direction, width):
    """Two central differences, extrapolated: independent of `checks`."""

    def at(step):
        with torch.no_grad():
            place = 0
            for p in chosen:
                p.add_(torch.from_numpy(direction[place : place + p.numel()] * step).view_as(p))
                place += p.numel()
        found = value(model, text)
        with torch.no_grad():
            place = 0
            for p in chosen:
                p.sub_(torch.from_numpy(direction[place : place + p.numel()] * step).view_as(p))
                place += p.numel()
        return found

    narrow, wide = ((at(h) - at(-h)) / (2 * h) for h in (width, 2 * width))
    return (4 * narrow - wide) / 3


@pytest.mark.parametrize("coordinates", ["trained", "every"])
def test_finite_differences_agree_for_every_kind_of_tensor(played, model, coordinates):
    text = min(played[1], key=lambda text: abs(len(text.ids) - 8))
    made = scores.Scores(model, 1.0, coordinates)
    row = np.zeros(made.settle(text))
    made.write(text, row)
    rng, at, kinds = np.random.default_rng(0), 0, {}
    for name, parameter in made.chosen:  # one direction for each kind of tensor, over all layers
        words = name.split(".")
        kind = next(
            (word for word in words if word in ("lora_A", "lora_B", "base_layer")), ".".join(words[-2:])
        )
        kinds.setdefault(kind, np.zeros(len(row), dtype=bool))[at : at + parameter.numel()] = True
        at += parameter.numel()
    for name, part in kinds.items():
        own = row[part]
        direction = np.zeros_like(row)
        length = np.linalg.norm(own)
        noise = rng.normal(size=own.size)
        direction[part] = (own / length if length else 0) + noise / np.linalg.norm(noise)
        wanted = row @ direction
        found = difference(made.model, [p for _, p in made.chosen], text, direction, 1e-4)
        assert found == pytest.approx(wanted, rel=2e-8, abs=1e-8), name


def test_without_the_casts_met_a_double_model_carries_float32_errors(played, model, monkeypatch):
    """What `DoublePrecision` is for: the same model in float64 alone is off by more than a thousand times."""
    text = played[1][0]
    made = scores.Scores(model, 1.0)
    row = np.zeros(made.settle(text))
    made.write(text, row)
    direction = row / np.linalg.norm(row)

    def error():
        found = difference(made.model, [p for _, p in made.chosen], text, direction, 1e-4)
        return abs(found / (row @ direction) - 1)

    met = error()

    class Nothing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(scores, "DoublePrecision", Nothing)
    assert met < 1e-7
    assert error() > 1000 * met


def test_no_float32_number_appears_in_the_forward_pass(played, model):
    seen = set()

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            for one in result if isinstance(result, tuple | list) else (result,):
                if isinstance(one, torch.Tensor) and one.dtype == torch.float32:
                    seen.add(getattr(func, "__name__", str(func)))
            return result

    made = scores.Scores(model, 1.0)
    text = played[1][0]
    tokens = torch.tensor([[*text.prompt, *text.ids]])
    with Watch(), DoublePrecision():
        made.model(input_ids=tokens, use_cache=False)
    assert seen == set()


def test_other_roads_lead_to_the_same_scores(played, model):
    texts = played[1][:5]
    made = scores.Scores(model, 1.0)
    rows = np.zeros((5, made.settle(texts[0])))
    for text, row in zip(texts, rows, strict=True):
        made.write(text, row)
    assert np.allclose(checks.hooked(made, texts), rows, rtol=1e-10, atol=1e-11)
    assert np.allclose(checks.looped(made, texts[0]), rows[0], rtol=1e-10, atol=1e-11)


def test_a_score_is_that_of_the_own_tokens_alone(played, model):
    """A tool result's tokens enter as context and never as what is differentiated."""
    whole = played[1][0]
    mask = [int(place % 3 != 1) for place in range(len(whole.ids))]
    text = replace(whole, mask=mask, logps=[lp * mine for lp, mine in zip(whole.logps, mask, strict=True)])
    assert 0 < sum(mask) < len(mask)
    made = scores.Scores(model, 1.0)
    row = np.zeros(made.settle(text))
    made.write(text, row)
    parameters = [p for _, p in made.chosen]
    logps = scores.token_logps(made.model, torch.tensor([[*text.prompt, *text.ids]]), 1.0)[
        0, len(text.prompt) - 1 :
    ]
    own = [i for i, mine in enumerate(text.mask) if mine]
    wanted = torch.cat([g.reshape(-1) for g in torch.autograd.grad(logps[own].sum(), parameters)])
    assert np.allclose(row, wanted.numpy(), rtol=1e-12, atol=1e-12)
    everything = scores.Text(text.prompt, text.ids, [1] * len(text.ids), text.logps)
    with pytest.raises(StudyError, match="sampled from another policy, or the mask"):
        made.write(everything, row)


def test_the_trainers_own_loss_gradient_is_the_weighted_sum_of_scores(played, model):
    found, texts = played[0], played[1][:4]
    advantages = np.array([0.9, -1.1, 0.0, 0.2])
    made = scores.Scores(model, 1.0)
    rows = np.zeros((4, made.settle(texts[0])))
    ratios = [made.write(text, row).log_ratio for text, row in zip(texts, rows, strict=True)]
    tokens = np.array([sum(text.mask) for text in texts])
    weights = sequence_weights(ratios, tokens, "sequence_mask", 3.0)
    ours = advantages * weights / tokens.sum() @ rows
    sharp = checks._trainer_gradient(found, made.model, texts, advantages, torch.float64)
    assert np.linalg.norm(sharp - ours) < 1e-10 * np.linalg.norm(ours)
    own = checks._trainer_gradient(
        found, policy_model(found, found.checkpoints[0]), texts, advantages, torch.float32
    )
    assert np.linalg.norm(own - ours) < 1e-3 * np.linalg.norm(ours)
    assert own @ ours > 0.999999 * np.linalg.norm(own) * np.linalg.norm(ours)


def test_a_parameter_that_changes_is_noticed(played, model):
    made = scores.Scores(model, 1.0)
    made.settle(played[1][0])
    made.unchanged()
    with torch.no_grad():
        made.chosen[0][1].view(-1)[0] += 1e-12
    with pytest.raises(StudyError, match="a parameter changed"):
        made.unchanged()


def test_another_pattern_of_gradients_is_noticed(played, model):
    made = scores.Scores(model, 1.0)
    row = np.zeros(made.settle(played[1][0]))
    name, parameter = made.chosen[3]
    parameter.requires_grad_(False)
    with pytest.raises(StudyError, match="another set of tensors") as caught:
        made.write(played[1][1], row)
    assert name in str(caught.value.found)


def test_tokens_of_another_policy_are_noticed(played, model):
    text = played[1][0]
    made = scores.Scores(model, 1.0)
    row = np.zeros(made.settle(text))
    with pytest.raises(StudyError, match="sampled from another policy"):
        made.write(
            replace(text, logps=[lp - 0.05 * mine for lp, mine in zip(text.logps, text.mask, strict=True)]),
            row,
        )
    with pytest.raises(StudyError, match="not a rollout"):
        made.write(replace(text, mask=text.mask[1:]), row)
    with pytest.raises(StudyError, match="not a rollout"):
        made.write(replace(text, mask=[0] * len(text.ids)), row)


@pytest.mark.parametrize("mode", ["off", "sequence_mask", "sequence_truncate", "geometric_mask"])
def test_sequence_weights_are_the_trainers(mode):
    rng = np.random.default_rng(0)
    gap = torch.tensor(rng.normal(size=(6, 9)) * 0.5)
    mask = torch.tensor(rng.integers(0, 2, size=(6, 9)))
    mask[:, 0] = 1
    theirs = importance.weigh(gap, torch.zeros_like(gap), mask, mode, 1.5)
    ours = sequence_weights((gap * mask).sum(1).numpy(), mask.sum(1).numpy(), mode, 1.5)
    assert np.allclose(ours, theirs.row.numpy(), rtol=1e-12)
    assert mode == "off" or len(set(ours)) > 2


def test_the_published_model_has_the_papers_coordinates():
    with torch.device("meta"):
        base = models.CausalLM(models.published_shape())
        adapted = models.adapt(base, Lora(rank=32, alpha=64, dropout=0.0), seed=0)
    chosen = [p for p in adapted.parameters() if p.requires_grad]
    assert sum(p.numel() for p in chosen) == 33_638_400
    assert len(chosen) == 372
    assert models.adapter_size(adapted) == (186, 33_638_400)


def test_the_pass_asks_a_model_for_its_rollouts_in_order(played, model):
    found, texts = played
    made = scores.Scores(model, 1.0)
    source = ModelSource(made, texts)
    one, two = np.zeros(source.width), np.zeros(source.width)
    source.write(2, one)
    made.write(texts[2], two)
    assert (one == two).all()
    assert spec_of(found, found.checkpoints[0], "outcome").rows == 8

import pytest
import torch

from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT
from study.errors import ConfigError
from study.evaluation.rollout import play
from study.policies import language_model
from study.policies.language_model import LanguageModelPolicy
from study.training import step_zero
from study.training.environment import law_of
from study.training.model import merged
from study.training.run import Request, execute

pytestmark = pytest.mark.torch


def test_a_policy_plays_by_its_key_alone(small_run, start, monkeypatch):
    run = small_run()
    loaded = step_zero.load(run, start(run))
    policy = LanguageModelPolicy(
        "p",
        step_zero.small_wire(run),
        merged(loaded.model),
        loaded.model.get_base_model().config,
        (60, 12, 22),
        1.0,
    )
    task = generate(COMPACT, "train", 0)
    said = {}
    choose = LanguageModelPolicy._choose

    def listening(self, logits, draws):
        said[key].append(choose(self, logits, draws))
        return said[key][-1]

    monkeypatch.setattr(LanguageModelPolicy, "_choose", listening)
    for key, schedule in (("a", "0"), ("a2", "1"), ("b", "0")):
        said[key] = []
        episode = play(policy, task, law_of("C2"), schedule * 32, key[0])
        assert episode.ended_by
    assert said["a"][:5] == said["a2"][:5] != said["b"][:5]  # sampling knows the key, never the schedule


def test_the_oracle_spoken_in_tokens_is_played_to_success(small_run, start, monkeypatch):
    run = small_run()
    loaded = step_zero.load(run, start(run))
    wire = step_zero.small_wire(run)
    policy = LanguageModelPolicy(
        "p", wire, merged(loaded.model), loaded.model.get_base_model().config, (320, 12, 22), 1.0
    )
    task = generate(COMPACT, "train", 1)
    calls = [(call.name, dict(call.arguments)) for call in task.plan] + [("finish", {})]
    script = iter([token for name, arguments in calls for token in wire.written(name, arguments)])
    monkeypatch.setattr(LanguageModelPolicy, "_choose", lambda self, logits, draws: next(script))
    episode = play(policy, task, law_of("C0"), "0" * 32, "k")
    assert episode.ended_by == "finish" and episode.grade().true_success


def test_a_checkpoint_is_loaded_as_it_was_saved(small_run, start, tmp_path):
    run = small_run("C0", "clean")
    store = start(run).parent
    execute(Request(run, tmp_path / "run", store, None, "tests", 2, False), lambda _: None)
    zero = language_model.load(tmp_path / "run", 0, store)
    two = language_model.load(tmp_path / "run", 2, store)
    assert (zero.name, two.name) == (f"{run.run_id}@0", f"{run.run_id}@2")
    model = language_model.policy_model(run, tmp_path / "run", 2, store)
    from safetensors.torch import load_file

    saved = load_file(tmp_path / "run" / "checkpoints" / "checkpoint-2" / "adapter_model.safetensors")
    own = {n.replace(".default", ""): p for n, p in model.named_parameters() if p.requires_grad}
    assert own.keys() == saved.keys()
    assert all(torch.equal(own[name], tensor) for name, tensor in saved.items())
    with pytest.raises(ConfigError, match="no complete checkpoint"):
        language_model.load(tmp_path / "run", 3, store)

import pytest
import torch
from safetensors.torch import load_file

from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import evaluation_seed
from study.evaluation.rollout import play
from study.evaluation.transcript import transcribe
from study.runs import log as registers
from study.trained.checkpoint_policy import trained
from study.trained.language_model import LanguageModelPolicy, load, policy_model
from study.training import seeds, step_zero
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
        by_key,
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
        "p", wire, merged(loaded.model), loaded.model.get_base_model().config, (320, 12, 22), 1.0, by_key
    )
    task = generate(COMPACT, "train", 1)
    calls = [(call.name, dict(call.arguments)) for call in task.plan] + [("finish", {})]
    script = iter([token for name, arguments in calls for token in wire.written(name, arguments)])
    monkeypatch.setattr(LanguageModelPolicy, "_choose", lambda self, logits, draws: next(script))
    episode = play(policy, task, law_of("C0"), "0" * 32, "k")
    assert episode.ended_by == "finish" and episode.grade().true_success


def by_key(task, key, turn):
    return seeds.key("test", key, turn)


@pytest.fixture(scope="module")
def two_steps(small_run, start, tmp_path_factory):
    """A run that was stopped after two of its four steps, and its store."""
    folder = tmp_path_factory.mktemp("registers") / "run"
    run = small_run("C2", "paired", checkpoint_every=1, evaluation__every=2)
    store = start(run).parent
    execute(Request(run, folder, store, None, "tests", 2, False), lambda _: None)
    return folder, store


def test_a_checkpoint_is_loaded_as_it_was_saved(two_steps):
    folder, store = two_steps
    found = trained(f"{folder}@0,2", store)
    assert [one.step for one in found.checkpoints] == [0, 2]
    two = found.checkpoints[1]
    assert load(found, two, "clean").name == f"{found.run.run_id}@2"
    saved = load_file(folder / "checkpoints" / "checkpoint-2" / "adapter_model.safetensors")
    own = {
        name.replace(".default", ""): tensor
        for name, tensor in policy_model(found, two).named_parameters()
        if tensor.requires_grad
    }
    assert own.keys() == saved.keys()
    assert all(torch.equal(own[name], tensor) for name, tensor in saved.items())


def test_an_episode_played_alone_is_the_one_that_the_run_recorded(two_steps):
    folder, store = two_steps
    recorded = [
        row
        for row in registers.merged(folder, "episodes")
        if (row["step"], row["split"], row["regime"]) == (2, "validation", "faults_p25")
    ]
    assert len(recorded) >= 4
    found = trained(f"{folder}@last", store)
    policy = load(found, found.checkpoints[0], "faults_p25")
    law = regime_named("faults_p25")
    for row in recorded:
        task = generate(COMPACT, "validation", int(row["task"].rpartition("-")[2]))
        assert task.task_id == row["task"]
        seed = evaluation_seed("validation", row["task"], row["schedule"])
        seen = transcribe(policy, task, law, row["schedule"], seed)
        assert (seen.episode.calls, seen.episode.ended_by) == (row["calls"], row["ended_by"])
        assert seen.outcome.true_success == row["true_success"]
        assert seen.counts.drawn == row["faults_drawn"]

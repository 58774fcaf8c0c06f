"""Every trap is a named switch, documented and shown; here those that need the whole trainer."""

from pathlib import Path

import pytest

from study.config.file import read_tier, resolve
from study.config.run_config import Traps
from study.errors import CannotStartError
from study.runs.log import Log, merged
from study.training import train as joint
from study.training.progress import Progress

pytestmark = pytest.mark.torch
DOCS = Path(__file__).resolve().parents[3] / "docs" / "training.md"
TESTS = Path(__file__).parent


def test_every_switch_is_clean_by_default_documented_and_named_in_a_test():
    assert set(Traps().model_dump().values()) == {"clean"}
    page = DOCS.read_text()
    tests = "".join(path.read_text() for path in TESTS.glob("test_*.py"))
    words = {"overlong_result": "overlong=", "weight_sync": "WeightSync", "argument_coercion": '"paper")'}
    for name in Traps.model_fields:
        assert f"| `{name}` |" in page
        assert words.get(name, name) in tests


def played(run, start, folder):
    folder.mkdir()
    parts = joint.small_parts(run, start(run))
    assembly = joint.assemble(run, parts, folder, Log.begin(folder, None), Progress(0, 1), lambda _: None)
    steps = []
    recorded = assembly.trainer._finished
    assembly.trainer._finished = lambda step: (steps.append(step), recorded(step))
    for callback in list(assembly.trainer.callback_handler.callbacks):
        if type(callback).__name__ == "Evaluations":
            assembly.trainer.remove_callback(callback)
    joint.train(assembly, None)
    size = run.tier.rollouts.group_size
    rollouts = steps[0].rollouts
    return [
        len({tuple(one.ids) for one in rollouts[first : first + size]})
        for first in range(0, len(rollouts), size)
    ]


def test_sampler_seed_in_the_real_trainer(small_run, start, tmp_path):
    """One stream for a batch makes the siblings of a paired group the same episode, so no group has a contrast."""
    trap = small_run("C2", "paired", traps__sampler_seed="paper")
    assert played(trap, start, tmp_path / "paper") == [1] * 4
    assert all(row["zero_variance"] for row in merged(tmp_path / "paper", "groups"))
    assert min(played(small_run("C2", "paired"), start, tmp_path / "clean")) > 1


def test_missing_kernel_is_refused_before_anything_is_loaded(monkeypatch):
    run = resolve(read_tier("full"), condition="C2", arm="paired", seed=0)
    if joint.delta_rule.bound()["chunk_gated_delta_rule"].startswith("fla."):
        pytest.skip("the kernels are installed here")
    with pytest.raises(CannotStartError, match="kernels are not bound"):
        joint.pretrained_parts(run)

    class Loaded(Exception):
        pass

    def loading(*_, **__):
        raise Loaded

    tier = run.tier.model_copy(
        update={"traps": run.tier.traps.model_copy(update={"missing_kernel": "paper"})}
    )
    monkeypatch.setattr(joint.transformers.AutoTokenizer, "from_pretrained", loading)
    with pytest.raises(Loaded):  # the trap: it goes on, on whatever transformers fell back to
        joint.pretrained_parts(run.model_copy(update={"tier": tier}))


def test_finish_turn_and_late_tokens_in_a_register(small_run, start, tmp_path):
    """Under `paper` the turn after finish is sampled, trained on and counted."""
    from study.training.rollout import Rollout

    late = {}
    for choice in ("paper", "clean"):
        run = small_run("C0", "clean", traps__finish_turn=choice)
        folder = tmp_path / choice
        folder.mkdir()
        parts = joint.small_parts(run, start(run))
        assembly = joint.assemble(run, parts, folder, Log.begin(folder, None), Progress(0, 1), lambda _: None)
        wire = assembly.wire

        def play(rollouts: list[Rollout], _model: object, wire=wire) -> None:
            for rollout in rollouts:
                while not rollout.done:
                    for token in wire.written("finish", {}):
                        rollout.own(token, -0.1)

        assembly.trainer._play = play
        assembly.trainer.callback_handler.callbacks = [
            one for one in assembly.trainer.callback_handler.callbacks if type(one).__name__ != "Evaluations"
        ]
        joint.train(assembly, None)
        late[choice] = {count for row in merged(folder, "groups") for count in row["late_tokens"]}
    assert late == {"paper": {2}, "clean": {0}}

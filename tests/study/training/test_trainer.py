"""The real trainer around scripted players: what reaches TRL, what TRL does with it, what goes on record."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from study.errors import StudyError
from study.runs.log import Log, merged
from study.training import step_zero
from study.training.progress import Progress
from study.training.rollout import Rollout
from study.training.rows import group_rows, spurious_predicted
from study.training.train import assemble, small_parts, train

pytestmark = pytest.mark.torch


def plan_player(wire, knows=lambda rollout: True):
    """Plays the plan where `knows` says so, and finishes at once elsewhere; log-probabilities are a constant."""

    def play(rollouts, _model):
        for rollout in rollouts:
            task = rollout.environment.episode.task
            calls = [(c.name, dict(c.arguments)) for c in task.plan] if knows(rollout) else []
            for name, arguments in [*calls, ("finish", {})]:
                for token in wire.written(name, arguments):
                    if not rollout.done:
                        rollout.own(token, -0.25)
            assert rollout.done

    return play


def assembled(run, start, tmp_path, player=None, stop=1):
    progress = Progress(0, stop)
    parts = small_parts(run, start(run))
    assembly = assemble(run, parts, tmp_path, Log.begin(tmp_path, None), progress, lambda _: None)
    if player is not None:
        assembly.trainer._play = player(assembly.wire)  # instead of the policy's own player
    steps = []
    recorded = assembly.trainer._finished
    assembly.trainer._finished = lambda step: (steps.append(step), recorded(step))
    for callback in list(assembly.trainer.callback_handler.callbacks):
        if type(callback).__name__ == "Evaluations":
            assembly.trainer.remove_callback(callback)
    return assembly, steps


def test_the_scripted_oracle_through_the_real_trainer_scores_one(small_run, start, tmp_path):
    run = small_run("C0", "clean")
    assembly, _steps = assembled(run, start, tmp_path, plan_player, stop=2)
    train(assembly, None)
    rows = merged(tmp_path, "groups")
    assert len(rows) == 2 * run.tier.rollouts.prompts
    for row in rows:
        assert row["observed_rewards"] == [1.0] * 4
        assert row["all_correct"] and row["zero_variance"] and not row["spurious"]
        assert row["advantages"] == [0.0] * 4
        assert row["malformed"] == [0] * 4
    assert [row["row"] for row in rows] == list(range(8))


def half(wire):
    """Even slots know the plan, odd ones do not: every group has a contrast."""
    seen = {}

    def knows(rollout):
        slot = seen.setdefault(id(rollout.environment.episode.task), [0])
        slot[0] += 1
        return slot[0] % 2 == 1

    return plan_player(wire, knows)


@pytest.mark.parametrize("arm", ["paired", "independent", "blocks", "blocking", "blocking_paired"])
def test_groups_share_schedules_as_the_arm_says(small_run, start, tmp_path, arm):
    run = small_run("C2", arm, block_size=2 if arm == "blocks" else None)
    assembly, _ = assembled(run, start, tmp_path, half)
    train(assembly, None)
    kinds = [len(set(row["schedule_seeds"])) for row in merged(tmp_path, "groups")]
    expected = {"paired": [1] * 4, "independent": [4] * 4, "blocks": [2] * 4, "blocking": [1, 4, 1, 4]}
    assert kinds == expected.get(arm, [1] * 4)
    for row in merged(tmp_path, "groups"):
        assert row["slots"] == [0, 1, 2, 3]
        assert len(row["schedule_seeds"]) == 4  # also when equal


def test_advantages_and_registers_are_the_formulas(small_run, start, tmp_path):
    run = small_run("C0", "clean")
    assembly, _ = assembled(run, start, tmp_path, half)
    train(assembly, None)
    for row in merged(tmp_path, "groups"):
        rewards = np.array(row["observed_rewards"])
        assert rewards.tolist() == [1.0, 0.0, 1.0, 0.0]
        want = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
        assert row["advantages"] == pytest.approx(want.tolist(), abs=1e-6)
        assert not row["zero_variance"] and not row["all_correct"]
        assert len(row["importance_weights"]) == 4


def test_unscaled_rewards_are_only_centred(small_run, start, tmp_path):
    run = small_run("C0", "clean", scale_rewards="none")
    assembly, _ = assembled(run, start, tmp_path, half)
    train(assembly, None)
    assert merged(tmp_path, "groups")[0]["advantages"] == [0.5, -0.5, 0.5, -0.5]


def gradients(assembly):
    model = assembly.model
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad and p.grad is not None}


def catch(assembly, found):
    trainer = assembly.trainer
    clip = trainer._clip_grad_norm

    def catching(model):
        found.update(gradients(assembly))
        return clip(model)

    trainer._clip_grad_norm = catching


def test_leaving_out_rows_without_advantage_keeps_trls_gradient(small_run, start, tmp_path, monkeypatch):
    """Ours (rows left out, sorted, cut into parts) against TRL's own `_compute_loss` on the whole batch."""
    import study.training.trainer as module
    from study.training import passes

    run = small_run("C0", "clean", importance__mode="off")
    found = []
    for own in (True, False):
        folder = tmp_path / str(own)
        folder.mkdir()
        assembly, _ = assembled(run, start, folder, quarter)
        if not own:
            stock = super(module.PairedTrainer, assembly.trainer)._compute_loss
            assembly.trainer._compute_loss = stock
        else:
            monkeypatch.setattr(passes, "CHUNK_TOKENS", 300)
        caught = {}
        catch(assembly, caught)
        train(assembly, None)
        found.append(caught)
        if own:
            rows = merged(folder, "groups")
            assert {row["zero_variance"] for row in rows} == {True, False}
    ours, stock = found
    assert ours.keys() == stock.keys() and len(ours) > 20
    for name, gradient in stock.items():
        scale = float(gradient.abs().max())
        assert torch.allclose(ours[name], gradient, atol=1e-4 * max(scale, 1e-3), rtol=1e-4), name


def quarter(wire):
    """Only the first group of a batch has a contrast."""
    count = [0]

    def knows(rollout):
        count[0] += 1
        return (count[0] - 1) % 16 in (0, 2)

    return plan_player(wire, knows)


def test_importance_weights_scale_the_loss_and_are_recorded(small_run, start, tmp_path):
    run = small_run("C0", "clean", importance__mode="sequence_truncate", importance__cap=0.5)
    assembly, _ = assembled(run, start, tmp_path, half)
    train(assembly, None)
    for row in merged(tmp_path, "groups"):
        # the players claim -0.25 a token; the untrained policy finds their text far less likely
        assert all(ratio < -1 for ratio in row["log_ratios"])
        assert row["importance_weights"] == pytest.approx(
            [min(0.5, float(np.exp(ratio))) for ratio in row["log_ratios"]], rel=1e-5
        )


def test_a_batch_without_any_contrast_still_steps_the_optimiser(small_run, start, tmp_path):
    run = small_run("C0", "clean")
    assembly, _ = assembled(run, start, tmp_path, plan_player)
    caught = {}
    catch(assembly, caught)
    train(assembly, None)
    assert caught and all(not bool(gradient.any()) for gradient in caught.values())
    assert assembly.trainer.state.global_step == 1


def test_only_own_tokens_are_trained_on(small_run, start, tmp_path):
    run = small_run("C0", "clean")
    assembly, steps = assembled(run, start, tmp_path, half)
    caught = []
    compute = assembly.trainer._compute_loss
    assembly.trainer._compute_loss = lambda model, inputs: (caught.append(inputs), compute(model, inputs))[1]
    train(assembly, None)
    (inputs,) = caught
    rollouts: list[Rollout] = steps[0].rollouts
    mask = (inputs["tool_mask"] * inputs["completion_mask"]).sum(1)
    for place, row in enumerate(inputs["row_index"].tolist()):
        assert int(mask[place]) == sum(rollouts[row].mask)
        assert inputs["advantages"][place] == pytest.approx(steps[0].advantages[row], abs=1e-6)
        length = len(rollouts[row].ids)
        assert inputs["completion_ids"][place, :length].tolist() == rollouts[row].ids


def test_a_missing_reward_is_raised_and_not_dropped(small_run, start, tmp_path):
    run = small_run("C0", "clean")
    assembly, _ = assembled(run, start, tmp_path, plan_player)
    assembly.trainer.reward_funcs = [lambda environments, **_: [None] + [1.0] * (len(environments) - 1)]
    with pytest.raises(StudyError, match="no reward"):
        train(assembly, None)


def test_a_reward_that_its_grade_lane_does_not_explain_is_raised(small_run, start, tmp_path):
    run = small_run("C4", "paired")
    assembly, steps = assembled(run, start, tmp_path, plan_player)
    train(assembly, None)
    (step,) = steps
    step.rewards[0] = 1.0 - step.rewards[0]
    with pytest.raises(StudyError, match="grade lane"):
        group_rows(run, step)


def test_grade_lanes_predict_every_spurious_group(small_run, start, tmp_path):
    """All-correct groups under flips: spurious exactly where the recorded lanes say, never when paired."""
    found = {}
    for arm in ("independent", "paired"):
        folder = tmp_path / arm
        folder.mkdir()
        assembly, _ = assembled(small_run("C4", arm), start, folder, plan_player, stop=4)
        train(assembly, None)
        rows = merged(folder, "groups")
        assert all(row["all_correct"] for row in rows)
        assert [row["spurious"] for row in rows] == [spurious_predicted(row) for row in rows]
        found[arm] = sum(row["spurious"] for row in rows)
    assert found["paired"] == 0 < found["independent"] < 16  # 1 - .9^4 - .1^4 = .34 of 16


def test_rows_out_of_place_are_refused(small_run, start, tmp_path):
    assembly, _ = assembled(small_run("C0", "clean"), start, tmp_path, plan_player)
    trainer = assembly.trainer
    inputs = [trainer.train_dataset[0]] * 4 + [trainer.train_dataset[2]] * 12
    with pytest.raises(StudyError, match="rows of this step"):
        trainer._generate_and_score_completions(inputs)


def test_trls_own_loop_plays_the_same_environment(small_run, start, tmp_path):
    """Upstream's tool loop on our environment and template: the tools that TRL finds are the thirteen."""
    from study.backoffice.tools import TOOL_NAMES

    assembly, _ = assembled(small_run("C0", "clean"), start, tmp_path)
    trainer = assembly.trainer
    assert sorted(tool.__name__ for tool in trainer.tools) == sorted(TOOL_NAMES)
    environment = trainer._environment_pool[None][0]
    task = assembly.tasks.at("train", 0)
    environment.reset(task=task.task_id, schedule_seed="0" * 32, noisy=True, rollout_slot=0)
    for call in task.plan:
        getattr(environment, call.name)(**dict(call.arguments))
    environment.finish()
    assert environment._live.outcome().true_success
    with pytest.raises(StudyError, match="seat"):
        environment.reset(task=task.task_id, schedule_seed="0" * 32)


def test_the_prompt_of_trl_is_ours(small_run, start, tmp_path):
    assembly, _ = assembled(small_run("C0", "clean"), start, tmp_path)
    trainer = assembly.trainer
    prompt = trainer.train_dataset[0]["prompt"]
    trainer._batch_environments = [None]
    ids, _, _ = trainer._tokenize_prompts([prompt])
    assert list(ids[0]) == assembly.wire.prompt(prompt[0]["content"])


def test_dropout_free_model_is_float32_and_only_adapters_train(small_run, start):
    run = small_run()
    loaded = step_zero.load(run, start(run))
    trainable = [n for n, p in loaded.model.named_parameters() if p.requires_grad]
    assert trainable and all("lora_" in name for name in trainable)
    assert all(p.dtype == torch.float32 for p in loaded.model.parameters())
    assert not any(isinstance(m, nn.Dropout) and m.p > 0 for m in loaded.model.modules())

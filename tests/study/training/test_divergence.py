"""A run whose numbers leave every sensible range ends as diverged, and nothing counts it as complete."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner

from prereg_kit.registers.file import read_runs
from study.cli.status import command as status
from study.errors import DivergedError
from study.runs import record as run_record
from study.training import divergence, warm_start
from study.training.decode import chosen
from study.training.importance import weigh
from study.training.lockstep_player import LockstepPlayer
from study.training.model import small_config, small_model
from study.training.run import Request, execute
from study.training.step_zero import small_wire
from study.training.trainer import PairedTrainer

pytestmark = pytest.mark.torch


@pytest.fixture
def contrast(monkeypatch, small_run):
    """Every other rollout plays the plan and the rest finish, so that every step has a gradient."""
    wire = small_wire(small_run())

    def play(self, rollouts, step):
        for place, rollout in enumerate(rollouts):
            calls = [(call.name, dict(call.arguments)) for call in rollout.environment.episode.task.plan]
            for name, arguments in [*(calls if place % 2 else []), ("finish", {})]:
                for token in wire.written(name, arguments):
                    if not rollout.done:
                        rollout.own(token, -0.5)

    monkeypatch.setattr(LockstepPlayer, "play", play)


def diverges(run, start, out):
    """Train; the record of the attempt that had to end as diverged."""
    with pytest.raises(DivergedError) as caught:
        execute(Request(run, out, start(run).parent, None, "tests", 4, False), lambda _: None)
    assert caught.value.exit_code == 1
    record = run_record.read(out)
    (attempt,) = record["attempts"]
    assert attempt["status"] == "diverged" and attempt["finished_at"] is not None
    return record, attempt["divergence"]


def test_a_rate_that_blows_the_weights_up_ends_the_run(small_run, start, tmp_path, contrast):
    run = small_run("C0", "clean", importance__mode="off", optimisation__learning_rate=1e25)
    record, seen = diverges(run, start, tmp_path / "run")
    assert (seen["quantity"], seen["step"]) == ("adapter weights", 0)
    assert float(seen["found"].split()[0]) > 1e20
    assert record["done"] == 0
    assert not list((tmp_path / "run" / "checkpoints").glob("checkpoint-*"))  # nothing broken was saved


def test_a_diverged_run_is_shown_and_is_in_no_index_as_complete(small_run, start, tmp_path, contrast):
    run = small_run("C0", "clean", importance__mode="off", optimisation__learning_rate=1e25)
    out, index = tmp_path / "run", tmp_path / "runs.parquet"
    record, _ = diverges(run, start, out)
    assert run_record.add_to_index(out, index, record) is False and not index.exists()
    (row,) = read_runs(out / "runs.parquet")
    assert row.status == "failed"
    shown = CliRunner().invoke(status, [str(tmp_path), "--json"], standalone_mode=False)
    (state,) = json.loads(shown.stdout)["runs"]
    assert (state["state"], state["divergence"]["quantity"]) == ("diverged", "adapter weights")
    table = CliRunner().invoke(status, [str(tmp_path)], standalone_mode=False, env={"COLUMNS": "200"})
    assert "diverged: adapter weights" in " ".join(table.stdout.split())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 2e3])
def test_a_loss_that_is_no_number_or_explodes(small_run, start, tmp_path, contrast, monkeypatch, bad):
    real = PairedTrainer._compute_loss
    monkeypatch.setattr(PairedTrainer, "_compute_loss", lambda *given: real(*given) * 0.0 + bad)
    _, seen = diverges(small_run("C0", "clean", importance__mode="off"), start, tmp_path / "run")
    assert (seen["quantity"], seen["step"]) == ("loss", 0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_one_gradient_is_enough(small_run, start, tmp_path, contrast, monkeypatch, bad):
    real = PairedTrainer._clip_grad_norm

    def spoil(self, model):
        next(p for p in model.parameters() if p.requires_grad).grad.view(-1)[0] = bad
        return real(self, model)

    monkeypatch.setattr(PairedTrainer, "_clip_grad_norm", spoil)
    run = small_run("C0", "clean", importance__mode="off")
    _, seen = diverges(run, start, tmp_path / "run")
    assert (seen["quantity"], seen["step"]) == ("gradient norm", 0)


def test_one_nan_in_the_weights_never_becomes_a_token(small_run, start, tmp_path, monkeypatch):
    """The sampler used to take token 0 of logits that are not a number."""
    from study.training import lockstep_player

    real = lockstep_player.merged

    def spoiled(model):
        weights = real(model)
        name = "model.layers.0.mlp.down_proj.weight"
        weights[name] = weights[name].clone()
        weights[name][0, 0] = float("nan")
        return weights

    monkeypatch.setattr(lockstep_player, "merged", spoiled)
    record, seen = diverges(small_run(), start, tmp_path / "run")
    assert (seen["quantity"], seen["found"]) == ("logits", "nan")
    assert record["done"] == 0 and not (tmp_path / "run" / "episodes.parquet").exists()


@pytest.mark.parametrize("spoil", [float("nan"), float("inf")])
def test_logits_that_are_no_distribution_are_refused(spoil):
    logits = torch.zeros(2, 5)
    assert chosen(logits, torch.tensor([0.0, 0.99]), 1.0)[0] == [0, 4]
    logits[1, 3] = spoil
    with pytest.raises(DivergedError, match="logits"):
        chosen(logits, torch.tensor([0.0, 0.5]), 1.0)


def test_importance_weights_of_broken_probabilities():
    """A NaN of the trainer is a defect; only the sampler's may be missing."""
    sampling, mask = torch.zeros(2, 3), torch.tensor([[1, 1, 0], [1, 1, 1]])
    training = torch.zeros(2, 3)
    training[0, 2] = float("nan")  # not an own token: padding may hold anything
    assert weigh(training, sampling, mask, "off", 3.0).log_ratio.tolist() == [0.0, 0.0]
    training[1, 0] = float("nan")
    with pytest.raises(DivergedError, match="log-ratio"):
        weigh(training, sampling, mask, "sequence_mask", 3.0)
    training[1, 0] = 300.0  # e^100 a token is no rounding
    with pytest.raises(DivergedError, match="log-ratio"):
        weigh(training, sampling, mask, "sequence_mask", 3.0)


def test_a_checkpoint_is_not_written_from_moments_that_are_no_numbers():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight])
    weight.grad = torch.ones(3)
    optimizer.step()
    divergence.require_finite_state(optimizer)
    optimizer.state[weight]["exp_avg_sq"][1] = float("nan")
    with pytest.raises(DivergedError, match="optimiser state"):
        divergence.require_finite_state(optimizer)


def test_a_warm_start_that_diverges_is_not_a_base(small_run):
    run = small_run(warm_start__learning_rate=1e25)
    wire = small_wire(run)
    policy, setting = run.tier.policy, run.tier.warm_start
    model = small_model(policy, small_config(policy, wire.size, 384, 4, wire.pad), 0)
    with pytest.raises(DivergedError):
        warm_start.learn(model, wire, wire._profile, setting)

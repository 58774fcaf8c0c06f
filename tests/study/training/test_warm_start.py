import json
import math
import shutil

import pytest
import torch

from prereg_kit.errors import NotCheckedError
from prereg_kit.foundation.digest import sha256_file
from study.backoffice.pools import POOL_SIZES, WARMUP, warmup_task
from study.backoffice.profile import TEMPLATES
from study.backoffice.profiles import COMPACT
from study.config.file import read_tier
from study.errors import ConfigError, StudyError
from study.runs import step_zero_record
from study.training import seeds, step_zero, warm_start
from study.training.expert import demonstrate
from study.training.tokenizer import CompactWire

pytestmark = pytest.mark.torch
SETTING = read_tier("cpu").warm_start
LAW = warm_start.law_at(0.25)


def test_demonstrations_come_from_a_pool_of_their_own():
    wire = CompactWire(COMPACT)
    assert WARMUP not in POOL_SIZES
    refunds, short, whole = warm_start.stages(COMPACT, SETTING)
    assert sum(steps for _, steps, _ in (refunds, short, whole)) == SETTING.steps
    assert whole[0] is COMPACT
    for (world, _, _), templates in ((refunds, {"partial_refund"}), (short, set(TEMPLATES))):
        tasks = [warmup_task(world, index) for index in range(300)]
        assert all(len(task.parts) == 1 for task in tasks)
        assert {task.parts[0].template for task in tasks} == templates
    assert len({world.digest() for world, _, _ in (refunds, short, whole)}) == 3
    for step, size in ((0, 32), (SETTING.refund_steps, 32), (SETTING.steps - 1, 16)):
        assert len(warm_start.batch_at(COMPACT, wire, SETTING, LAW, step)) == size
    with pytest.raises(ConfigError, match="beyond"):
        warm_start.batch_at(COMPACT, wire, SETTING, LAW, SETTING.steps)
    one = warm_start.pool_digest(COMPACT, SETTING)
    assert one != warm_start.pool_digest(COMPACT, SETTING.model_copy(update={"steps": 2}))


def test_only_the_experts_calls_are_learned_from():
    wire = CompactWire(COMPACT)
    row = warm_start.demonstration(COMPACT, wire, SETTING, LAW, 3)
    own = [token for token, flag in zip(row.tokens, row.own, strict=True) if flag]
    text = wire.decode(own)
    assert text.endswith("finish( )") and "<ask>" not in text and "err" not in text
    assert row.tokens[0] == wire.encode("<ask>")[0] and not row.own[0]


def test_a_perfect_expert_is_clean_and_an_erring_one_is_not():
    clean, noisy = warm_start.law_at(0.0), LAW
    wins = {}
    for name, law, reaction in (("clean", clean, 1.0), ("best", noisy, 1.0), ("erring", noisy, 0.5)):
        found = [
            demonstrate(
                warmup_task(COMPACT, n), law, f"{n:032x}", seeds.uniforms(seeds.key("e", n)), reaction, 1.0
            )[1]
            for n in range(200)
        ]
        wins[name] = sum(found) / 200
    assert wins["clean"] == 1.0
    assert wins["clean"] > wins["best"] > wins["erring"] + 0.1
    assert 0.68 < wins["best"] < 0.85


def test_an_expert_does_not_know_what_it_has_not_seen():
    """Amounts, addresses and priorities are written only after the read that shows them has answered."""
    shown_by = {
        "issue_refund": "get_order",
        "update_shipping_address": "get_customer",
        "create_ticket": "get_customer",
    }
    failed = 0
    for index in range(300):
        exchanges, _ = demonstrate(
            warmup_task(COMPACT, index), LAW, f"{index:032x}", seeds.uniforms(seeds.key("e", index)), 1.0, 1.0
        )
        seen: list[str] = []
        for one in exchanges:
            if one.name in shown_by:
                words = [
                    str(one.arguments.get(name))
                    for name in ("amount", "address", "priority")
                    if name in one.arguments
                ]
                assert all(any(word in reply.split() for reply in seen) for word in words)
            if not one.reply.startswith("err"):
                seen.append(one.reply)
            elif one.reply == "err down":
                failed += 1
    assert failed > 20


def test_the_learning_rate_rises_and_falls():
    rates = [warm_start.rate_at(step, SETTING) for step in range(SETTING.steps)]
    assert rates[0] == pytest.approx(SETTING.learning_rate / 40)
    assert max(rates) == pytest.approx(SETTING.learning_rate)
    assert rates[-1] == pytest.approx(SETTING.learning_rate * SETTING.final_fraction, rel=1e-2)


def test_the_loss_of_a_batch_is_that_of_its_rows(small_run):
    run = small_run()
    wire = step_zero.small_wire(run)
    model = step_zero._fresh(run, wire)
    rows = [warm_start.demonstration(COMPACT, wire, SETTING, LAW, n) for n in range(5)]
    with torch.no_grad():
        whole = float(warm_start.batch_loss(model, rows, wire.pad))
        alone = sum(float(warm_start.batch_loss(model, [row], wire.pad)) for row in rows)
    count = sum(sum(row.own) for row in rows)
    assert whole == pytest.approx(alone, rel=1e-5)
    assert 0.5 * math.log(wire.size) < whole / count < 3 * math.log(wire.size)


def test_the_last_steps_have_the_late_reaction(small_run, monkeypatch):
    seen = []
    monkeypatch.setattr(
        warm_start, "demonstration", lambda _p, _w, setting, _l, _n: seen.append(setting.reaction)
    )
    for late, expected in ((2, [0.8] * 4 + [0.3] * 2), (0, [0.8] * 6), (6, [0.3] * 6)):
        setting = small_run().tier.warm_start.model_copy(
            update={
                "steps": 6,
                "refund_steps": 1,
                "short_steps": 2,
                "short_batch": 1,
                "batch": 1,
                "reaction": 0.8,
                "late_steps": late,
                "late_reaction": 0.3,
            }
        )
        seen.clear()
        for step in range(6):
            warm_start.batch_at(COMPACT, None, setting, LAW, step)
        assert seen == expected


def test_more_late_steps_than_steps_are_refused(small_run):
    small_run(warm_start__late_steps=4)
    with pytest.raises(ValueError, match="last steps"):
        small_run(warm_start__late_steps=5)


def record_edited(folder, name, change):
    value = json.loads((folder / name).read_bytes())
    change(value)
    (folder / name).write_text(json.dumps(value))


@pytest.mark.parametrize("field", ["format", "digest", "vocabulary", "profile"])
def test_a_base_of_another_kind_is_refused_by_field(small_run, tmp_path, field):
    run = small_run()
    folder = step_zero.build(run, tmp_path)
    base = step_zero_record.base_folder(run, tmp_path)
    record_edited(base, "base.json", lambda value: value.update({field: "x"}))
    with pytest.raises(StudyError, match=f"field {field}: the step-0 checkpoint is not this run's"):
        step_zero.load(run, folder)


@pytest.mark.parametrize("field", ["format", "digest"])
def test_a_start_of_another_kind_is_refused_by_field(small_run, tmp_path, field):
    run = small_run()
    folder = step_zero.build(run, tmp_path)
    record_edited(folder, "step_zero.json", lambda value: value.update({field: "x"}))
    with pytest.raises(StudyError, match=f"field {field}: the step-0 checkpoint is not this run's"):
        step_zero.load(run, folder)


def test_a_base_is_held_to_the_digest_that_the_start_names(small_run, tmp_path):
    run = small_run()
    folder = step_zero.build(run, tmp_path)
    base = step_zero_record.base_folder(run, tmp_path)
    data = bytearray((base / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (base / "model.safetensors").write_bytes(data)
    digest = sha256_file(base / "model.safetensors")
    record_edited(base, "base.json", lambda value: value["files"].update({"model.safetensors": digest}))
    with pytest.raises(StudyError, match="not the recorded ones"):
        step_zero.load(run, folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["base"].update(files={}),
        lambda value: value.update(base=None),
        lambda value: value["files"].update(more="x"),
        lambda value: value.update(files={"adapter.safetensors": 7}),
    ],
)
def test_a_start_names_its_two_files_and_nothing_else(small_run, start, tmp_path, change):
    folder = tmp_path / "start"
    shutil.copytree(start(small_run()), folder)
    record_edited(folder, "step_zero.json", change)
    with pytest.raises(StudyError, match="does not name its weights"):
        step_zero_record.read_start(folder)


def test_attempts_begin_from_one_start():
    one, other = (
        {"digest": "d", "files": {"adapter.safetensors": "a"}, "base": {"files": {"model.safetensors": word}}}
        for word in "bc"
    )
    assert step_zero_record.began_from([{}, {"step_zero": None}]) is None
    assert step_zero_record.began_from([{"step_zero": one}, {"step_zero": one | {"seed": 1}}, {}]) == one | {
        "seed": 1
    }
    with pytest.raises(StudyError, match="different weights"):
        step_zero_record.began_from([{"step_zero": one}, {"step_zero": other}])


def test_the_optimiser_has_the_decays_of_the_setting(small_run, monkeypatch):
    """One step of AdamW by hand: after it the second moment is (1 - beta2) times the squared gradient."""
    made = []
    real = torch.optim.AdamW
    monkeypatch.setattr(torch.optim, "AdamW", lambda *a, **k: made.append(real(*a, **k)) or made[-1])
    moments = {}
    for beta2 in (0.95, 0.999):
        run = small_run(
            warm_start__steps=1,
            warm_start__refund_steps=0,
            warm_start__short_steps=0,
            warm_start__beta2=beta2,
        )
        wire = step_zero.small_wire(run)
        model = step_zero._fresh(run, wire)
        warm_start.learn(model, wire, COMPACT, run.tier.warm_start)
        state = made[-1].state[model.lm_head.weight]
        moments[beta2] = state["exp_avg_sq"].sum()
        square = (state["exp_avg"] / (1 - 0.9)).square().sum()
        assert float(moments[beta2]) == pytest.approx((1 - beta2) * float(square), rel=1e-3)
    assert float(moments[0.95] / moments[0.999]) == pytest.approx(50, rel=1e-3)


def test_a_rate_that_no_regime_has_is_refused():
    with pytest.raises(ConfigError, match="fault rate"):
        warm_start.law_at(0.33)


def test_both_arms_load_the_same_bytes_and_seeds_share_a_base(small_run, start):
    paired, independent, other = small_run(), small_run(arm="independent"), small_run(seed=1)
    assert start(paired) == start(independent) != start(other)
    one, two = (step_zero.load(run, start(run)) for run in (paired, independent))
    for (name, a), (_, b) in zip(one.model.named_parameters(), two.model.named_parameters(), strict=True):
        assert torch.equal(a, b), name
    base = step_zero_record.read_start(start(other))["base"]
    assert base["folder"] == one.record["base"]["folder"]
    assert base["pool"] and base["figures"]["loss"] > 0


def test_a_damaged_or_foreign_start_is_refused(small_run, tmp_path):
    run = small_run()
    folder = step_zero.build(run, tmp_path)
    with pytest.raises(StudyError, match="not this run's"):
        step_zero.load(small_run(seed=1), folder)
    path = folder / "adapter.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(StudyError, match="not the recorded ones"):
        step_zero.load(run, folder)
    with pytest.raises(NotCheckedError, match="no step-0"):
        step_zero.load(run, tmp_path / "nothing")


def test_building_twice_gives_the_same_bytes(small_run, tmp_path):
    run = small_run()
    one, two = step_zero.build(run, tmp_path / "a"), step_zero.build(run, tmp_path / "b")
    for name in ("adapter.safetensors", "step_zero.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()

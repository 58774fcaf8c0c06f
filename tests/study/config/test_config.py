import json

import pytest

from prereg_kit.foundation.digest import sha256_bytes
from study.config.file import TIERS, parse_run, parse_tier, read_tier, resolve
from study.config.run_config import CONDITIONS, base_digest, step_zero_digest
from study.errors import ConfigError

pytestmark = pytest.mark.torch
CPU = "study/config/tiers/cpu.toml"


def text(name="cpu"):
    from importlib import resources

    return resources.files("study.config").joinpath("tiers", f"{name}.toml").read_bytes()


@pytest.mark.parametrize("name", TIERS)
def test_the_shipped_tiers_are_read_and_survive_json(name):
    run = resolve(read_tier(name), condition="C2", arm="paired", seed=3)
    assert parse_run(run.canonical, "x") == run
    assert run.digest == sha256_bytes(run.canonical)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ((b"rank = 8", b"rank = 8.5"), "lora.rank"),
        ((b"rank = 8", b'rank = "8"'), "lora.rank"),
        ((b"rank = 8", b"rank = 8\nsurprise = 1"), "lora.surprise"),
        ((b'format = "study.tier/1"', b'format = "study.tier/2"'), "format"),
        ((b"alpha = 16\n", b""), "lora.alpha"),
        ((b"temperature = 1.0", b"temperature = nan"), "rollouts.temperature"),
        ((b'loss = "dapo"', b'loss = "grpo"'), "optimisation.loss"),
        ((b"kl = 0.0", b"kl = 0.1"), "optimisation.kl"),
        ((b"micro_batch = 64", b"micro_batch = 48"), None),
        ((b'sampler = "lockstep"', b'sampler = "vllm"'), None),
    ],
)
def test_a_tier_that_says_something_else_is_refused_with_its_field(change, field):
    data = text().replace(*change)
    assert data != text()
    with pytest.raises(ConfigError) as caught:
        parse_tier(data, "mine.toml")
    assert caught.value.where.file == "mine.toml"
    assert field is None or caught.value.where.field.startswith(field) or field in str(caught.value)


def test_bytes_that_are_no_toml_are_refused():
    for data in (b"\xff", b"a = [", b""):
        with pytest.raises(ConfigError):
            parse_tier(data, "x.toml")
    with pytest.raises(ConfigError, match="no such tier"):
        read_tier("huge")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tier("absent.toml")


@pytest.mark.parametrize(
    "choice",
    [
        {"condition": "C0", "arm": "paired"},
        {"condition": "C2", "arm": "clean"},
        {"condition": "C2", "arm": "blocks"},
        {"condition": "C2", "arm": "blocks", "block_size": 3},
        {"condition": "C2", "arm": "paired", "block_size": 2},
        {"condition": "C9", "arm": "paired"},
        {"condition": "C2", "arm": "both"},
        {"condition": "C2", "arm": "paired", "scale_rewards": "batch"},
        {"condition": "C2", "arm": "paired", "seed": -1},
    ],
)
def test_runs_that_do_not_exist_are_refused(choice):
    with pytest.raises(ConfigError):
        resolve(read_tier("cpu"), **({"seed": 0} | choice))


def test_the_conditions_are_the_papers():
    assert {name: (c.fault_rate, c.mixture, c.flip_rate) for name, c in CONDITIONS.items()} == {
        "C0": (0.0, "default", 0.0),
        "C1": (0.10, "default", 0.0),
        "C2": (0.25, "default", 0.0),
        "C2r": (0.25, "no_outage", 0.0),
        "C3": (0.0, "default", 0.05),
        "C4": (0.0, "default", 0.10),
    }


def test_every_choice_changes_the_digest_and_both_arms_share_a_start():
    tier = read_tier("cpu")
    base = {"condition": "C2", "arm": "paired", "seed": 0}
    runs = [
        resolve(tier, **(base | change))
        for change in (
            {},
            {"arm": "independent"},
            {"condition": "C4"},
            {"seed": 1},
            {"scale_rewards": "none"},
            {"arm": "blocks", "block_size": 4},
        )
    ]
    assert len({run.digest for run in runs}) == len({run.run_id for run in runs}) == 6
    starts = [step_zero_digest(run) for run in runs]
    assert starts[0] == starts[1] == starts[2] == starts[4] == starts[5] != starts[3]
    assert len({base_digest(run) for run in runs}) == 1


def test_a_run_whose_json_was_touched_is_another_run():
    run = resolve(read_tier("cpu"), condition="C2", arm="paired", seed=0)
    value = json.loads(run.canonical)
    value["tier"]["lora"]["rank"] = 16
    assert parse_run(json.dumps(value).encode(), "x").digest != run.digest
    value["tier"]["lora"]["rank"] = "many"
    with pytest.raises(ConfigError, match=r"tier\.lora\.rank"):
        parse_run(json.dumps(value).encode(), "x")

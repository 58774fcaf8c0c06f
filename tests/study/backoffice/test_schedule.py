"""The schedule law: golden vectors, uniformity, independence, injectivity, invariance of seeds."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from study.backoffice.pools import POOL_SIZES
from study.backoffice.schedule import (
    Schedule,
    encode_integer,
    encode_text,
    evaluation_seed,
    luck_seed,
    schedule_seed,
    slot_seed,
    train_seed,
)
from study.errors import ConfigError

FOLDER = Path(__file__).resolve().parents[2] / "vectors" / "schedule"
VECTORS = json.loads((FOLDER / "vectors.json").read_text())
DRAWS = 40_000
ALPHA = 1e-3 / 40  # fewer than forty statistical tests in this file, chosen before looking


@pytest.mark.parametrize(("seed", "tool", "resource", "repeat", "lanes"), VECTORS["events"])
def test_golden_lanes(seed, tool, resource, repeat, lanes):
    assert [f"{lane:016x}" for lane in Schedule(seed).draw(tool, resource, repeat)] == lanes


@pytest.mark.parametrize(("seed", "lane"), VECTORS["grades"])
def test_golden_grade_lanes(seed, lane):
    assert f"{Schedule(seed).grade_lane():016x}" == lane


@pytest.mark.parametrize(("parts", "seed"), VECTORS["seeds"])
def test_golden_seeds(parts, seed):
    assert schedule_seed(*parts) == seed


def test_named_seeds_follow_the_law():
    assert train_seed(3, 17) == schedule_seed("train", 3, 17)
    assert slot_seed("ab", 2) == schedule_seed("train-slot", "ab", 2)
    assert evaluation_seed("test", "test-0001", 3) == schedule_seed("eval", "test", "test-0001", 3)
    assert luck_seed("diagnostic-0001", 3) == schedule_seed("luck", "diagnostic-0001", 3)
    assert len(schedule_seed("x")) * 4 == 128


def test_vectors_are_what_the_independent_implementation_computes():
    spec = importlib.util.spec_from_file_location("remake_schedule", FOLDER / "remake.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.vectors() == VECTORS


@pytest.fixture(scope="module")
def lanes() -> np.ndarray:
    """Draws of one schedule over many repeats: [repeat, lane]."""
    schedule = Schedule("ab" * 16)
    return np.array([schedule.draw("get_order", "O-12345", k) for k in range(DRAWS)], dtype=np.uint64)


@pytest.mark.parametrize("lane", range(4))
def test_lanes_are_uniform(lanes, lane):
    for shift in (56, 0):  # the top byte and the bottom byte
        counts = np.bincount(
            ((lanes[:, lane] >> np.uint64(shift)) & np.uint64(255)).astype(int), minlength=256
        )
        assert stats.chisquare(counts).pvalue > ALPHA
    assert stats.kstest(lanes[:, lane] / 2.0**64, "uniform").pvalue > ALPHA


def _independent(first: np.ndarray, second: np.ndarray) -> bool:
    table, _, _ = np.histogram2d(
        (first >> np.uint64(60)).astype(int), (second >> np.uint64(60)).astype(int), bins=16
    )
    return stats.chi2_contingency(table).pvalue > ALPHA


def _column(of, count=20_000) -> np.ndarray:
    return np.array([of(n) for n in range(count)], dtype=np.uint64)


def test_lanes_of_one_draw_are_independent(lanes):
    assert _independent(lanes[:, 0], lanes[:, 1])
    assert _independent(lanes[:, 0], lanes[:, 2])
    assert _independent(lanes[:, 1], lanes[:, 2])


def test_neighbouring_repeats_are_independent(lanes):
    assert _independent(lanes[:-1, 0], lanes[1:, 0])


def test_neighbouring_seeds_resources_and_tools_are_independent():
    one = _column(lambda n: Schedule(f"{n}").draw("get_order", "O-1", 0).fault)
    assert _independent(one, _column(lambda n: Schedule(f"{n + 1}").draw("get_order", "O-1", 0).fault))
    assert _independent(one, _column(lambda n: Schedule(f"{n}").draw("get_order", "O-2", 0).fault))
    assert _independent(one, _column(lambda n: Schedule(f"{n}").draw("cancel_order", "O-1", 0).fault))
    assert _independent(one, _column(lambda n: Schedule(f"{n}").grade_lane()))


def test_avalanche():
    """One changed character of any key part changes half of the 256 bits: 128 +- 8 in one draw."""
    flips = []
    for n in range(500):
        base = b"".join(
            lane.to_bytes(8, "little") for lane in Schedule(f"s{n}").draw("get_order", f"O-{n}", 0)
        )
        for other in (
            Schedule(f"t{n}").draw("get_order", f"O-{n}", 0),
            Schedule(f"s{n}").draw("get_orde2", f"O-{n}", 0),
            Schedule(f"s{n}").draw("get_order", f"O-{n}0", 0),
            Schedule(f"s{n}").draw("get_order", f"O-{n}", 1),
        ):
            data = b"".join(lane.to_bytes(8, "little") for lane in other)
            flips.append((int.from_bytes(base, "big") ^ int.from_bytes(data, "big")).bit_count())
    z = (np.mean(flips) - 128) / (8 / len(flips) ** 0.5)
    assert abs(z) < stats.norm.isf(ALPHA / 2)
    assert min(flips) > 128 - 8 * 7


def test_encoding_is_injective_under_adversarial_separators():
    """About a million keys made of every way to cut strings of separators give as many byte strings."""
    alphabet = ("", "/", ":", "\0", "\x00\x01", "a", "a/", "/a", "o:", "\x01\x00", "a\x00", "1")
    parts = [x + y for x in alphabet for y in alphabet]
    distinct = sorted(set(parts))
    encoded = [encode_text(part) for part in distinct]
    seen = set()
    total = 0
    for tool in encoded:
        for resource in encoded:
            for k in range(70):
                seen.add(tool + resource + k.to_bytes(4, "little"))
                total += 1
    assert len(seen) == total > 0.7e6


@settings(max_examples=200, derandomize=True)
@given(
    st.lists(st.text(max_size=5), min_size=1, max_size=3),
    st.lists(st.text(max_size=5), min_size=1, max_size=3),
)
def test_tuples_of_texts_encode_injectively(first, second):
    from unicodedata import normalize

    def clean(texts):
        return [normalize("NFC", text.encode("utf-8", "ignore").decode()) for text in texts]

    first, second = clean(first), clean(second)
    assert (b"".join(map(encode_text, first)) == b"".join(map(encode_text, second))) == (first == second)


def test_no_two_coordinates_share_a_seed():
    """All pools, and 14 runs of 2,400 rows with 8 slots each: the paper's whole study."""
    seeds = [
        evaluation_seed(pool, f"{pool}-{n:04d}", k)
        for pool, size in POOL_SIZES.items()
        for n in range(size)
        for k in range(8)
    ]
    seeds += [luck_seed(f"diagnostic-{n:04d}", k) for n in range(16) for k in range(8)]
    for run_seed in range(14):
        for row in range(2400):
            shared = train_seed(run_seed, row)
            seeds.append(shared)
            seeds += [slot_seed(shared, slot) for slot in range(8)]
    assert len(seeds) == len(set(seeds)) > 320_000


def test_bad_key_parts_are_refused():
    for part in ("\ud800", "x" * 70_000):
        with pytest.raises(ConfigError):
            encode_text(part)
    for number in (-1, 1 << 64):
        with pytest.raises(ConfigError):
            encode_integer(number)
    assert encode_text("cafe\u0301") == encode_text("caf\u00e9")


def test_draws_depend_on_no_process_state():
    """Another process with another hash seed draws the same."""
    code = "from study.backoffice.schedule import Schedule; print(Schedule('q').draw('get_order', 'O-1', 3))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(FOLDER.parents[2])},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "77")
    }  # fmt: skip
    assert outputs == {f"{Schedule('q').draw('get_order', 'O-1', 3)}\n"}

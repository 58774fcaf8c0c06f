"""The random stream against the published vectors of its generator and against the specification written out."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.random_stream import Stream, StreamKey

PLAN = "5c" * 32
MASK = (1 << 64) - 1
FULL = 0xFFFFFFFFFFFFFFFF


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> list[int]:
    """Philox4x64-10 as Salmon et al. (SC11) define it, in Python integers."""
    c, k = list(counter), list(key)
    for turn in range(10):
        if turn:
            k = [(k[0] + 0x9E3779B97F4A7C15) & MASK, (k[1] + 0xBB67AE8584CAA73B) & MASK]
        first, second = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(second >> 64) ^ c[1] ^ k[0], second & MASK, (first >> 64) ^ c[3] ^ k[1], first & MASK]
    return c


# Known-answer vectors of the Random123 distribution (kat_vectors, philox4x64 with 10 rounds).
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)),
    (
        (FULL,) * 4,
        (FULL,) * 2,
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), PUBLISHED)
def test_the_generator_gives_the_published_vectors(
    counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    assert tuple(philox(counter, key)) == words
    number = sum(word << (64 * place) for place, word in enumerate(counter)) - 1  # NumPy counts up first
    number %= 1 << 256
    before = np.array([(number >> (64 * place)) & MASK for place in range(4)], dtype=np.uint64)
    raw = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=before).random_raw(4)
    assert tuple(raw.tolist()) == words


def integers_by_the_book(key: StreamKey, block: int, bound: int, count: int) -> list[int]:
    text = f"prereg.stream/1\n{key.seed}\n{key.plan}\n{key.scheme}\n{key.axis}\n"
    digest = hashlib.sha256(text.encode()).digest()
    words = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
    result: list[int] = []
    group = 0
    while len(result) < count:
        group += 1
        for word in philox((group, block, 0, 0), words):
            for half in (word & 0xFFFFFFFF, word >> 32):
                product = half * bound
                if product % (1 << 32) >= (1 << 32) % bound:
                    result.append(product >> 32)
    return result[:count]


@pytest.mark.parametrize("bound", [1, 3, 200, 1 << 31, (1 << 31) + 12345, 3_000_000_019, 1 << 32])
@pytest.mark.parametrize("block", [0, 5])
def test_draws_are_the_specification_written_out(bound: int, block: int) -> None:
    key = StreamKey(20260911, PLAN, "crossed", "tasks")
    drawn = Stream(key, block).below(bound, 101)
    assert drawn.tolist() == integers_by_the_book(key, block, bound, 101)


VECTOR_KEY = ["817016bc7f869d9b", "77035c9efe181aa1"]
VECTOR_HALVES = [
    "7780a5ca", "43a10da3", "2ecff2af", "99d2ad35", "4059fcbc", "9fdeabb2", "23cc5642", "586b6347",
]  # fmt: skip
VECTOR_TASKS = [93, 52, 36, 120, 50, 124, 27, 69, 186, 111, 37, 187]
VECTOR_SEEDS = [0, 1, 2, 1, 1, 0, 0, 0, 1, 0, 0, 0]
VECTOR_BLOCK_1 = [161, 57, 92, 77, 81, 113]


def test_vectors_of_the_stream() -> None:
    """The vectors of docs/statistics.md."""
    key = StreamKey(20260911, PLAN, "crossed", "tasks")
    assert [f"{word:016x}" for word in key.words()] == VECTOR_KEY
    assert [f"{half:08x}" for half in Stream(key, 0).halves(8).tolist()] == VECTOR_HALVES
    assert Stream(key, 0).below(200, 12).tolist() == VECTOR_TASKS
    assert Stream(key.on("seeds"), 0).below(3, 12).tolist() == VECTOR_SEEDS
    assert Stream(key, 1).below(200, 6).tolist() == VECTOR_BLOCK_1


def test_asking_in_pieces_moves_nothing() -> None:
    key = StreamKey(1, PLAN)
    stream = Stream(key, 0)
    pieces = np.concatenate([stream.below(3_000_000_019, size) for size in (1, 2, 5, 0, 33, 7)])
    assert pieces.tolist() == Stream(key, 0).below(3_000_000_019, 48).tolist()


def test_every_part_of_the_key_moves_the_stream() -> None:
    keys = [
        StreamKey(1, PLAN, "crossed", "tasks"), StreamKey(2, PLAN, "crossed", "tasks"),
        StreamKey(1, "5d" * 32, "crossed", "tasks"), StreamKey(1, PLAN, "own_tasks", "tasks"),
        StreamKey(1, PLAN, "crossed", "seeds"),
    ]  # fmt: skip
    first = {tuple(Stream(key, block).below(1 << 32, 4).tolist()) for key in keys for block in (0, 1)}
    assert len(first) == 2 * len(keys)


def test_draws_are_unbiased() -> None:
    """Chi-square over 7 cells of 70,000 draws; at a bound near 2**32 the mean shows a lost rejection."""
    counts = np.bincount(Stream(StreamKey(4, PLAN), 0).below(7, 70_000), minlength=7)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 22.5  # 0.999 quantile with 6 degrees of freedom
    bound = 3 << 30
    drawn = Stream(StreamKey(4, PLAN), 0).below(bound, 60_000)
    counts = np.bincount(drawn // (1 << 30), minlength=3)
    assert ((counts - 20_000) ** 2 / 20_000).sum() < 13.9


def test_normals_have_their_moments() -> None:
    drawn = Stream(StreamKey(9, PLAN), 0).normal(40_000)
    assert abs(drawn.mean()) < 4 / 200
    assert abs(drawn.var() - 1) < 4 * (2 / 40_000) ** 0.5
    assert abs((np.abs(drawn) < 1.959964).mean() - 0.95) < 4 * (0.05 * 0.95 / 40_000) ** 0.5


@pytest.mark.parametrize(
    ("seed", "plan", "scheme"),
    [(-1, PLAN, "crossed"), (1, "5C" * 32, "crossed"), (1, "ab", "crossed"), (1, PLAN, "a\nb")],
)
def test_a_key_that_could_be_read_two_ways_is_refused(seed: int, plan: str, scheme: str) -> None:
    with pytest.raises(DecisionError):
        StreamKey(seed, plan, scheme)


@pytest.mark.parametrize("bound", [0, -1, (1 << 32) + 1])
def test_bounds_outside_the_range_are_refused(bound: int) -> None:
    with pytest.raises(DecisionError):
        Stream(StreamKey(1, PLAN), 0).below(bound, 1)


def test_the_boundary_of_the_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 3: 2**32 mod 3 = 1, so half 0 (low part 0) is dropped and the inverse of 3 (low part 1) is kept."""
    supply = iter([0, 2863311531, 0xFFFFFFFF])
    monkeypatch.setattr(Stream, "halves", lambda self, count: np.array([next(supply)], dtype=np.uint64))
    assert Stream(StreamKey(1, PLAN), 0).below(3, 1).tolist() == [2]
    assert next(supply) == 0xFFFFFFFF

import hashlib
import itertools
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.training import seeds

pytestmark = pytest.mark.torch
PARTS = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=6)), max_size=4).map(tuple)


def test_the_encoding_is_the_documented_one():
    assert seeds.encode(("ab", 3)) == b"s" + struct.pack("<I", 2) + b"ab" + b"i" + struct.pack("<q", 3)
    expected = hashlib.blake2b(seeds.encode(("sample", 0)), digest_size=32, person=b"bo.train.v1").digest()
    assert seeds.key("sample", 0) == expected


@settings(max_examples=200, derandomize=True, deadline=None)
@given(PARTS, PARTS)
def test_different_coordinates_never_share_bytes(one, other):
    assert (seeds.encode(one) == seeds.encode(other)) == (one == other)


def test_a_boolean_and_a_float_are_refused():
    for part in (True, 1.0, None):
        with pytest.raises(TypeError):
            seeds.encode((part,))


def test_uniforms_follow_the_counter_and_look_uniform():
    secret = seeds.key("u")
    draws = list(itertools.islice(seeds.uniforms(secret), 4000))
    block = hashlib.blake2b(struct.pack("<Q", 1), key=secret, digest_size=64, person=b"bo.train.v1").digest()
    assert draws[8] == (struct.unpack("<8Q", block)[0] >> 11) / 2**53
    assert all(0 <= draw < 1 for draw in draws)
    counts = [sum(1 for draw in draws if int(draw * 20) == cell) for cell in range(20)]
    assert sum((count - 200) ** 2 / 200 for count in counts) < 50  # chi-square, 19 df, far tail


def test_a_permutation_is_one_and_depends_on_every_coordinate():
    one = seeds.permutation(50, "order", 0, 0)
    assert sorted(one) == list(range(50))
    assert one == seeds.permutation(50, "order", 0, 0)
    assert one != seeds.permutation(50, "order", 0, 1) != seeds.permutation(50, "order", 1, 0)


def test_sampling_keys_of_a_whole_run_never_repeat():
    keys = {
        seeds.key("sample", 0, step, row, slot, turn)
        for step in range(6)
        for row in range(step * 8, step * 8 + 8)
        for slot in range(8)
        for turn in range(10)
    }
    assert len(keys) == 6 * 8 * 8 * 10

"""Keys as packed whole numbers: repeated ones are found whatever the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.registers.cells import packed_keys
from prereg_kit.registers.cells.packed_keys import Field, Packer
from prereg_kit.registers.cells.source import Levels


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    blocks=st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), min_size=1, max_size=12), max_size=8
    ),
    chunk=st.sampled_from([1, 2, 3, 100]),
)
def test_repeated_keys_are_found_whatever_the_order_and_the_chunks(blocks, chunk):
    fields = (Field("a"), Field("b"))
    levels = (Levels(), Levels())
    packer = Packer(fields, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_keys, "_CHUNK", chunk)
        patch.setattr(packed_keys, "_FEW_DESCENTS", 3)
        for block in blocks:
            codes = [np.array([level.code(pair[i]) for pair in block]) for i, level in enumerate(levels)]
            packer.pack(
                [part.local(code, level) for part, code, level in zip(fields, codes, levels, strict=True)],
                len(block),
            )
        found = packer.repeated()
    flat = [pair for block in blocks for pair in block]
    labels = [part.labels(level) for part, level in zip(fields, levels, strict=True)]
    decoded = [tuple(labels[i][code] for i, code in enumerate(packer.unpack(int(key)))) for key in found]
    assert sorted(decoded) == sorted(pair for pair in set(flat) if flat.count(pair) > 1)

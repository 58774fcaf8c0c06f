"""A counter-based integer stream for the task generator: the same tasks on every machine and Python version.

The library's `random` does not promise that `shuffle` or `choice` stay the same between versions; this does.
Nothing here serves faults: those are keyed by event (`schedule`).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from struct import Struct
from typing import TypeVar

from study.backoffice.schedule import encode_integer, encode_text

T = TypeVar("T")

_WORDS = Struct("<8Q")


class Stream:
    """Uniform integers from BLAKE2b in counter mode, keyed by a label and coordinates."""

    __slots__ = ("_buffer", "_counter", "_keyed")

    def __init__(self, label: str, *parts: str | int) -> None:
        data = encode_text(label) + b"".join(
            encode_text(part) if isinstance(part, str) else encode_integer(part) for part in parts
        )
        self._keyed = blake2b(data, digest_size=64, person=b"bo.gen.v1")
        self._counter = 0
        self._buffer: list[int] = []

    def word(self) -> int:
        """The next integer in [0, 2**64)."""
        if not self._buffer:
            state = self._keyed.copy()
            state.update(self._counter.to_bytes(8, "little"))
            self._counter += 1
            self._buffer = list(_WORDS.unpack(state.digest()))
        return self._buffer.pop()

    def below(self, bound: int) -> int:
        """An integer in [0, bound); the bias of the multiply-and-shift is below bound / 2**64."""
        return self.word() * bound >> 64

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One item, uniformly."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[int]) -> T:
        """One item with probability proportional to its integer weight."""
        sums = list(accumulate(weights))
        value = self.below(sums[-1])
        return next(item for item, bound in zip(items, sums, strict=True) if value < bound)

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """`size` distinct items in random order (partial Fisher-Yates)."""
        pool = list(items)
        for position in range(size):
            other = position + self.below(len(pool) - position)
            pool[position], pool[other] = pool[other], pool[position]
        return pool[:size]

    def distinct(self, low: int, high: int, size: int) -> list[int]:
        """`size` distinct integers in [low, high] in random order, without listing the range.

        Requires size <= high - low + 1; rejection, so meant for ranges well above `size` or tiny ones.
        """
        if high - low + 1 <= 4 * size:
            return self.sample(range(low, high + 1), size)
        chosen: dict[int, None] = {}
        while len(chosen) < size:
            chosen[self.between(low, high)] = None
        return list(chosen)

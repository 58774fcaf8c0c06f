r"""Random words that are the same on every machine and in every version of every library.

Pure. The generator is Philox4x64-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11): a
counter goes in, four 64-bit words come out. Only NumPy's raw words are used, never its distributions, whose
streams changed between releases. The whole stream is specified in docs/statistics.md with test vectors:

    key      first 16 bytes of SHA-256 over the UTF-8 text
             "prereg.stream/1\n{seed}\n{plan digest}\n{scheme}\n{axis}\n", as two little-endian 64-bit words
    counter  (g, block, 0, 0) for the g-th group of four words, g = 1, 2, 3, ...
    halves   each word gives its low 32 bits, then its high 32 bits
    integer  below n: half * n is split into high and low 32 bits; a low part under 2**32 mod n is rejected and
             the next half takes its place, else the high part is the integer (Lemire 2019), unbiased for any n

Neither the number of resamples, nor another endpoint, nor an amendment moves a draw: the key names the registered
seed, the digest of the original frozen plan, the resampling scheme and the axis, and nothing else.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prereg_kit.errors import DecisionError

SPECIFICATION = "prereg.stream/1"
_HALF = 1 << 32


@dataclass(frozen=True)
class StreamKey:
    """What a stream of draws belongs to.

    Attributes:
        seed: the registered seed, any integer >= 0.
        plan: SHA-256 of the original frozen plan's bytes, 64 lower-case hex digits.
        scheme: name of the resampling scheme, without line breaks.
        axis: what is drawn within the scheme, such as `tasks` or `seeds`.

    Raises:
        DecisionError: a negative seed, a digest that is not one, a line break in a name.
    """

    seed: int
    plan: str
    scheme: str = "crossed"
    axis: str = "draws"

    def __post_init__(self) -> None:
        if self.seed < 0 or int(self.seed) != self.seed:
            raise DecisionError("a registered seed must be an integer >= 0", found=self.seed)
        if not re.fullmatch(r"[0-9a-f]{64}", self.plan):
            raise DecisionError("not a plan digest", expected="64 lower-case hex digits", found=self.plan)
        if "\n" in self.scheme + self.axis:
            raise DecisionError("a line break in the name of a scheme", found=self.scheme + self.axis)

    def on(self, axis: str, scheme: str | None = None) -> StreamKey:
        """The same key for another axis, and another scheme if one is named."""
        return StreamKey(self.seed, self.plan, self.scheme if scheme is None else scheme, axis)

    def words(self) -> tuple[int, int]:
        """The two 64-bit words of the Philox key."""
        text = f"{SPECIFICATION}\n{int(self.seed)}\n{self.plan}\n{self.scheme}\n{self.axis}\n"
        state = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(state[:8], "little"), int.from_bytes(state[8:16], "little")


class Stream:
    """Draws of one block, in order. Two streams of the same key and block give the same draws."""

    def __init__(self, key: StreamKey, block: int) -> None:
        self._philox = np.random.Philox(
            key=np.array(key.words(), dtype=np.uint64), counter=np.array([0, block, 0, 0], dtype=np.uint64)
        )
        self._spare = np.empty(0, dtype=np.uint64)

    def halves(self, count: int) -> NDArray[np.uint64]:
        """The next `count` 32-bit numbers, as uint64 [count]."""
        fresh = max(0, -(-(count - len(self._spare)) // 2))
        words = np.asarray(self._philox.random_raw(fresh), dtype="<u8").view("<u4").astype(np.uint64)
        if len(self._spare):
            words = np.concatenate([self._spare, words])
        self._spare = words[count:]
        return words[:count]

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """The next `count` integers in [0, bound), each equally likely, int64 [count].

        Args:
            bound: 1 .. 2**32.
            count: >= 0.

        Raises:
            DecisionError: a bound outside its range.
        """
        if not 1 <= bound <= _HALF:
            raise DecisionError("cannot draw below this bound", expected="1 .. 2**32", found=bound)
        least = np.uint32(_HALF % bound)
        accepted = [np.empty(0, dtype=np.int64)]
        while count:
            product = self.halves(count) * np.uint64(bound)
            keep = None
            if least:
                keep = product.astype(np.uint32) >= least
            product >>= np.uint64(32)
            chosen = product.view(np.int64)
            if keep is not None and not keep.all():
                chosen = chosen[keep]
            accepted.append(chosen)
            count -= len(chosen)
        return accepted[1] if len(accepted) == 2 else np.concatenate(accepted)

    def normal(self, count: int) -> NDArray[np.float64]:
        """The next `count` standard normal numbers, float64 [count], two halves each; for simulation only.

        Inverse CDF at (high * 2**21 + top 21 bits of low + 1/2) / 2**53 of the two halves; floats, so the last
        bit may differ between machines. No decision uses them.
        """
        from scipy.special import ndtri

        half = self.halves(2 * count).reshape(count, 2)
        bits = (half[:, 1] << np.uint64(21)) | (half[:, 0] >> np.uint64(11))
        return np.asarray(ndtri((bits.astype(np.float64) + 0.5) / 2.0**53))

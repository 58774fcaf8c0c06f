"""Where every random number of a training run comes from: BLAKE2b over a labelled, length-prefixed tuple.

No seed is a sum and none depends on history, on a worker's index or on a global generator, so a resumed run
draws what an uninterrupted one would have drawn, and siblings never repeat each other.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

Part = str | int
_PERSON = b"bo.train.v1"
_UNIT = 1.0 / (1 << 53)


def encode(parts: tuple[Part, ...]) -> bytes:
    """Injective bytes of a tuple: text as `s`, u32 length, UTF-8; an integer as `i`, 8 bytes, little-endian.

    Raises:
        OverflowError: an integer outside [-2^63, 2^63).
        TypeError: a part that is neither text nor integer.
    """
    pieces = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, str | int):
            raise TypeError(f"a seed is made of text and integers, not {type(part).__name__}")
        if isinstance(part, int):
            pieces.append(b"i" + struct.pack("<q", part))
        else:
            data = part.encode()
            pieces.append(b"s" + struct.pack("<I", len(data)) + data)
    return b"".join(pieces)


def key(*parts: Part) -> bytes:
    """32 bytes for a coordinate such as ("sample", run_seed, step, row, slot, turn)."""
    return hashlib.blake2b(encode(parts), digest_size=32, person=_PERSON).digest()


def integer(*parts: Part, bits: int = 63) -> int:
    """A non-negative integer below 2^bits (1 to 64) for a coordinate, for libraries that want a seed."""
    return int.from_bytes(key(*parts)[:8], "little") >> (64 - bits)


def uniforms(secret: bytes) -> Iterator[float]:
    """Uniform numbers in [0, 1), 53 bits each, counted out from one 32-byte key."""
    block = 0
    while True:
        data = hashlib.blake2b(struct.pack("<Q", block), key=secret, digest_size=64, person=_PERSON).digest()
        for word in struct.unpack("<8Q", data):
            yield (word >> 11) * _UNIT
        block += 1


def permutation(size: int, *parts: Part) -> list[int]:
    """A uniform permutation of range(size): indices sorted by their keyed 128-bit digests."""
    secret = key(*parts)
    digests = [
        hashlib.blake2b(struct.pack("<Q", index), key=secret, digest_size=16, person=_PERSON).digest()
        for index in range(size)
    ]
    return sorted(range(size), key=digests.__getitem__)

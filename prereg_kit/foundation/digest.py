"""Exact bytes to SHA-256, and the one canonical form of the JSON that we write ourselves.

A document is hashed as it lies on disk, so that `sha256sum` reproduces the number (FIPS 180-4). Nothing is
normalised: line endings, byte-order marks and Unicode forms are part of the bytes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

_BLOCK = 1 << 20


def sha256_bytes(data: bytes) -> str:
    """SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes as 64 lower-case hex digits, read in blocks of 1 MiB.

    Raises:
        OSError: the file cannot be read.
    """
    state = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def canonical_json(value: object) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces and a final newline: equal values give equal bytes.

    Raises:
        ValueError: a NaN or an infinity, which JSON cannot carry.
        TypeError: a value that JSON has no form for; nothing falls back to `str`.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def readable_json(value: object) -> bytes:
    """UTF-8 JSON for files that people open: two-space indent, keys in the given order, final newline.

    Raises:
        ValueError: a NaN or an infinity.
        TypeError: a value that JSON has no form for.
    """
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"

"""How the rows of a micro-batch are cut into forward passes. No torch."""

from __future__ import annotations

CHUNK_TOKENS = 4096
"""Padded tokens of one forward pass, unless a single row has more; larger passes fall out of a CPU's cache."""


def cuts(lengths: list[int]) -> list[tuple[int, int]]:
    """Neighbouring rows that are passed together, as (first, last + 1).

    Args:
        lengths: tokens of each row, ascending, so that the last row of a pass decides its padding.
    """
    found = []
    first = 0
    while first < len(lengths):
        last = first + 1
        while last < len(lengths) and (last + 1 - first) * lengths[last] <= CHUNK_TOKENS:
            last += 1
        found.append((first, last))
        first = last
    return found

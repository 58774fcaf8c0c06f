"""Floats to decimals: the shortest decimal that gives a float back at the width in which it was stored.

A float32 that was written as 0.1 is nearest to 0.1 among all decimals of so few digits, and is read as 0.1. Widened
to 64 bits first, it would be 0.10000000149. The shortest decimal is what Python prints for 64 bits and NumPy for
32 and 16 (Steele and White 1990).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from prereg_kit.registers.file.buffers import nulls, numbers

Floats = npt.NDArray[np.floating[Any]]

_PLACES = 15
_MOST_PLACES = 18
_EXACT = 10**15
_LOW_BITS = 29
"""A float64 has this many bits more than a float32."""


def is_narrow(arrow: pa.DataType) -> bool:
    """Whether a column holds floats of 16 or 32 bits."""
    return bool(pa.types.is_float16(arrow) or pa.types.is_float32(arrow))


def spelled(floats: Floats) -> list[Any]:
    """Every float as something that `prereg_kit.plan.fields.exact` reads at the width of the float."""
    return floats.tolist() if floats.dtype == np.float64 else [str(each) for each in floats]


def listed(column: pa.Array) -> list[Any]:
    """The values of a column as Python objects: a narrow float as the float64 that prints the same, None for a null."""
    if not is_narrow(column.type):
        found: list[Any] = column.to_pylist()
        return found
    absent = nulls(column).tolist()
    return [None if gone else float(str(each)) for each, gone in zip(numbers(column), absent, strict=True)]


def widened(column: pa.Array) -> pa.Array:
    """Narrow floats, or lists of them, as float64 with the same shortest decimals; other columns as they are."""
    if is_narrow(column.type):
        return pa.array(listed(column), type=pa.float64())
    if pa.types.is_list(column.type) and is_narrow(column.type.value_type):
        rows = [None if row is None else listed(pa.array(row, type=column.type.value_type))
                for row in column.to_pylist()]  # fmt: skip
        return pa.array(rows, type=pa.list_(pa.float64()))
    return column


def decimals(floats: Floats) -> tuple[npt.NDArray[np.int64], int] | None:
    """Finite floats as whole numerators over one power of ten; None where that takes more than fifteen digits.

    Each float gets the fewest decimal places whose nearest decimal gives it back. Below 10**15 (float64), 2**24
    (float32) and 2**11 (float16) the fewest places and the fewest digits are the same thing.
    """
    if floats.dtype == np.float64:
        return _wide(floats)
    return _narrow(floats)


def _wide(floats: Floats) -> tuple[npt.NDArray[np.int64], int] | None:
    """Two decimals of up to fifteen digits never share a float64, so that all rows may take the most places."""
    for places in range(_PLACES + 1):
        scaled = np.rint(floats * 10.0**places)
        if np.abs(scaled).max(initial=0) >= _EXACT:
            return None
        if (scaled / 10.0**places == floats).all():
            return scaled.astype(np.int64), 10**places
    return None


def _narrow(floats: Floats) -> tuple[npt.NDArray[np.int64], int] | None:
    """Every row takes its own fewest places: with more of them 0.1 as float32 would also be 0.1000000015."""
    wide = floats.astype(np.float64)
    if np.abs(wide).max(initial=0) >= 2 ** (np.finfo(floats.dtype).nmant + 1):
        return None  # neighbouring floats are more than 1 apart: fewest places is not fewest digits
    places_of = np.full(len(floats), -1, dtype=np.int64)
    tops = np.zeros(len(floats), dtype=np.int64)
    # Below a power of two floats lie closer than above it, so that the nearest decimal is not always the one.
    by_hand = np.abs(np.frexp(wide)[0]) == 0.5
    for places in range(_PLACES + 1):
        exactly = wide * 10.0**places
        scaled = np.rint(exactly)
        quotient = scaled / 10.0**places
        fits = (places_of < 0) & ~by_hand & (quotient.astype(floats.dtype) == floats)
        # Equally near decimals, where NumPy's choice is taken, and quotients that two roundings may have moved.
        by_hand |= fits & (np.abs(exactly - scaled) == 0.5)
        by_hand |= (places_of < 0) & _halfway(quotient, floats.dtype)
        fits &= ~by_hand
        tops[fits], places_of[fits] = scaled[fits].astype(np.int64), places
        if ((places_of >= 0) | by_hand).all():
            break
    left = np.flatnonzero(places_of < 0)
    distinct, which = np.unique(floats[left], return_inverse=True)
    read = [Fraction(str(each)) for each in distinct]
    places_read = [_places(number) for number in read]
    if max(places_read, default=0) > _MOST_PLACES:
        return None
    tops[left] = np.array([int(n * 10**p) for n, p in zip(read, places_read, strict=True)], dtype=np.int64)[
        which
    ]
    places_of[left] = np.array(places_read, dtype=np.int64)[which]
    return _over_one(tops, places_of)


def _places(number: Fraction) -> int:
    """How many decimal places a finite decimal has."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    return places


def _over_one(
    tops: npt.NDArray[np.int64], places: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], int] | None:
    most = int(places.max(initial=0))
    powers = np.array([10 ** (most - each) for each in range(most + 1)], dtype=np.int64)[places]
    if len(tops) and float(np.abs(tops.astype(np.float64) * powers).max()) >= 2.0**62:
        return None
    return tops * powers, 10**most


def _halfway(quotient: npt.NDArray[np.float64], width: np.dtype[Any]) -> npt.NDArray[np.bool_]:
    """Where a float64 lies exactly between two float32. Decimals of a float16 never do without being there exactly."""
    if width != np.float32:
        return np.zeros(len(quotient), dtype=np.bool_)
    low = quotient.view(np.int64) & ((1 << _LOW_BITS) - 1)
    found: npt.NDArray[np.bool_] = (low == 1 << (_LOW_BITS - 1)) & (quotient != 0)
    return found

"""The characteristic function of a mixture on a lattice window, with a proven bound on what its error can do.

Pure. With N lattice points the characteristic function of component w at frequency k is phi = 1 - u,
u = sum_x q_x (1 - exp(-2 pi i k x/N)), x centred at an integer so that u is small where phi**power is not; k x is
reduced modulo N in integers, so each root of unity is good to an ulp however large k is.

An error d_k in the transform at frequency k changes the cumulative probability by at most
|d_k| |sum_{y <= x} exp(2 pi i k y/N)| / N <= |d_k| / (N sin(pi k/N)); frequency 0 is exactly 1. A sum of J
products has error at most (J + 8) eps sum_x q_x |1 - exp(..)| <= (J + 8) eps sqrt(2 Re u) (Jensen), and raising
to the power multiplies it by power * |phi|**(power - 1). eps = 2**-53.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prereg_kit.statistics.mixture import Floats, Integers, Mixture

EPS = 2.0**-53
_BLOCK = 1 << 18
_SQUARING = 512
_SHARED = 1024


def smooth_length(least: int) -> int:
    """The smallest 2**a 3**b 5**c that is at least `least` (>= 1): lengths for which the FFT is fast."""
    best = 1 << max(least - 1, 0).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            rest = -(-least // three)
            best = min(best, three << max(rest - 1, 0).bit_length())
            three *= 3
        five *= 5
    return best


def rows_at_once(reach: int, half: int) -> int:
    """Components to one matrix product: they share roots of unity where few distances occur, else one by one."""
    return max(1, _BLOCK // min(half, 4096)) if reach <= _SHARED else 1


def seconds(components: int, points: int, reach: int, units: int) -> float:
    """Cost of `transform` and its inverse by a fixed estimate, in seconds of a slow 2020s core.

    Args:
        components: W.
        points: lattice points of the window.
        reach: largest distance of two values of a component.
        units: distinct units.
    """
    half = points // 2 + 1
    terms = min(reach, units) if reach > _SHARED else reach
    passes = -(-components // rows_at_once(reach, half))
    return half * (passes * terms * 1.5e-8 + components * (2e-8 + 3e-10 * terms)) + 1e-7 * points


def transform(mixture: Mixture, first: int, length: int) -> tuple[NDArray[np.complex128], float]:
    """Transform of the probabilities at frequencies 0..length//2, and the bound on the CDF error it causes."""
    half = length // 2 + 1
    shift = first if mixture.outer == 1 else 0
    angle = np.arange(length, dtype=np.int64)
    angle[angle > length // 2] -= length
    versine = 2 * np.sin(np.pi * angle / length) ** 2
    sine = np.sin(2 * np.pi * angle / length)
    roots = np.cos(2 * np.pi * angle / length) - 1j * sine
    total = np.zeros(half, dtype=np.complex128)
    error = np.zeros(half)
    shares = mixture.weights / float(int(mixture.weights.sum()))
    rows = rows_at_once(mixture.taken * int(mixture.table.max()), half)
    for start in range(0, len(shares), rows):
        part = slice(start, start + rows)
        values = mixture.compositions[part] @ mixture.table
        centre = _centre(values, mixture)
        columns, even, odd = _histogram(values - centre[:, None], mixture)
        turn = (mixture.power * centre - shift) % length
        width = max(64, _BLOCK // max(len(shares[part]), len(columns)))
        for begin in range(0, half, width):
            k = np.arange(begin, min(begin + width, half), dtype=np.int64)
            turns = (columns[:, None] * k) % length
            real, imaginary = even @ versine[turns], odd @ sine[turns]
            value, wrong = _power(real, imaginary, mixture.power, len(columns))
            value *= roots[(turn[:, None] * k) % length]
            total[k] += shares[part] @ value
            error[k] += shares[part] @ wrong if isinstance(wrong, np.ndarray) else wrong * shares[part].sum()
    if mixture.outer > 1:
        error *= mixture.outer
        total = _to_the(total, mixture.outer)
    total[0] = 1.0
    if length % 2 == 0:
        total[-1] = total[-1].real
    error[0] = 0.0
    gain = 1 / np.sin(np.pi * np.maximum(np.arange(half), 1) / length)
    return total, float(2 * (error + len(shares) * EPS * np.abs(total)) @ gain) / length


def _centre(values: Integers, mixture: Mixture) -> Integers:
    """The integer [W] next to each component's mean."""
    power = mixture.power
    return np.asarray((2 * (values @ mixture.multiplicity) + power) // (2 * power))


def _histogram(offset: Integers, mixture: Mixture) -> tuple[Integers, Floats, Floats]:
    """Centred histograms: distances [J], shares at +-distance added [W, J], and subtracted [W, J]."""
    distance = np.abs(offset)
    top = int(distance.max(initial=0))
    if top <= 4 * distance.size:
        columns: Integers = np.flatnonzero(np.bincount(distance.ravel(), minlength=top + 1)).astype(np.int64)
        rank = np.zeros(top + 1, dtype=np.int64)
        rank[columns] = np.arange(len(columns))
        place: Integers = rank[distance]
    else:
        columns, inverse = np.unique(distance, return_inverse=True)
        place = inverse.reshape(distance.shape).astype(np.int64)
    count, size = len(offset), len(columns)
    slot = (np.arange(count)[:, None] * size + place).ravel()
    share = np.broadcast_to(mixture.multiplicity / mixture.power, distance.shape)
    even = np.bincount(slot, weights=share.ravel(), minlength=count * size)
    odd = np.bincount(slot, weights=(share * np.sign(offset)).ravel(), minlength=count * size)
    shape = (count, size)
    return columns, even.reshape(shape).astype(np.float64), odd.reshape(shape).astype(np.float64)


def _power(
    real: Floats, imaginary: Floats, power: int, terms: int
) -> tuple[NDArray[np.complex128], Floats | float]:
    """(1 - real - i imaginary)**power, all [W, K], and a bound on its error (one number, or [W, K]).

    Small powers by repeated squaring, where |phi| <= 1 gives a bound that holds for every frequency. Large ones
    by logarithms of 1 - u taken at u: then the error of what is not negligible grows with the root of the power.
    """
    if power <= _SQUARING:
        return _to_the((1 - real) - 1j * imaginary, power), power * (2 * terms + 20) * EPS + 20 * EPS
    logarithm = 0.5 * np.log1p(np.maximum(real * real + imaginary * imaginary - 2 * real, -1 + EPS))
    angle = np.arctan2(-imaginary, 1 - real)
    value = np.exp(power * logarithm + 1j * (power * angle))
    size = np.maximum(np.hypot(1 - real, imaginary), 1e-8)
    slip = (terms + 8) * EPS * np.sqrt(2 * np.maximum(real, 0.0))
    relative = 2 * slip / size + 4 * EPS * (real / (size * size) + np.abs(logarithm) + np.abs(angle))
    return value, 1.3 * np.abs(value) * (power * relative + 20 * EPS)


def _to_the(base: NDArray[np.complex128], power: int) -> NDArray[np.complex128]:
    """`base ** power` by squaring: about 2 log2(power) multiplications."""
    result: NDArray[np.complex128] | None = None
    while True:
        if power & 1:
            result = base if result is None else result * base
        power >>= 1
        if not power:
            assert result is not None
            return result
        base = base * base

"""Closed forms against enumeration, side by side: `python benchmarks/theory.py`.

Prints the best of several runs, which is what a loaded machine disturbs least, and the ratio. The goals: at least
1,000 times faster at k = 16, and G = 512 in under 50 ms. Enumeration is the package's own oracle, vectorised over
masks; the closed form includes checking and reading the Gram matrix. `first` forgets the coefficients of
(k, G, q, design, rule) before each call, `again` keeps them, as a probe with one q and many groups does.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from study.theory import covariance_law, enumeration, geometry
from study.theory.advantages import MeanCentred, Standardised
from study.theory.closed_forms import coefficients, flip_moments
from study.theory.designs import Independent


def best_seconds(call: Callable[[], object], runs: int, inner: int = 1) -> float:
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        times.append((time.perf_counter() - start) / inner)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'what':42s} {'first':>10s} {'again':>10s} {'enumeration':>13s} {'first':>7s} {'again':>7s}")
    for size, k, width in ((16, 16, 64), (20, 16, 64), (32, 16, 64)):
        scores = rng.normal(size=(size, width))
        successes = (np.arange(size) < k).astype(float)
        gram = scores @ scores.T
        for rule in (MeanCentred(), Standardised()):

            def closed(gram=gram, successes=successes, rule=rule):
                return flip_moments(geometry.of_gram(gram, successes), 0.1, Independent(), rule)

            def first(closed=closed):
                coefficients.cache_clear()
                return closed()

            def brute(scores=scores, successes=successes, rule=rule):
                return enumeration.flip_moments(scores, successes, 0.1, Independent(), rule)

            assert abs(closed().trace - brute().trace) < 1e-12 * brute().second
            cold, warm = best_seconds(first, 15, 50), best_seconds(closed, 15, 50)
            slow = best_seconds(brute, 5)
            label = f"{rule.name}, G = {size}, k = {k}, d = {width}"
            times = f"{cold * 1e6:7.1f} us {warm * 1e6:7.1f} us {slow * 1e3:10.1f} ms"
            print(f"{label:42s} {times} {slow / cold:6.0f}x {slow / warm:6.0f}x")
    scores = rng.normal(size=(512, 256))
    successes = (rng.random(512) < 0.5).astype(float)
    gram = scores @ scores.T
    for rule in (MeanCentred(), Standardised()):
        took = best_seconds(
            lambda rule=rule: flip_moments(geometry.of_gram(gram, successes), 0.1, Independent(), rule), 15
        )
        print(f"{f'{rule.name}, G = 512':42s} {took * 1e3:9.3f} ms")
    noise = covariance_law.one_sided(successes, 0.1, 0.3)
    took = best_seconds(lambda: covariance_law.moments(gram, noise), 15)
    print(f"{'general covariance law, G = 512':42s} {took * 1e3:9.3f} ms")


if __name__ == "__main__":
    main()

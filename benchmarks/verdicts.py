"""Two ways in which a verdict can hang on nothing: `python benchmarks/verdicts.py`.

1. Floats on a threshold: registers of 3 seed pairs x 800 tasks whose mean difference is exactly 3/100, drawn at
   random (successes uniform, or binomial with rates .60 and .57). How often is the float64 mean >= 0.03 false?
   The plain formula of scripts is used: mean over seeds of (a/800 - b/800).
2. Monte Carlo near a margin: a register whose exact 5 % quantile lies one lattice step above the margin -3/100.
   Over 200 registered seeds, how many runs of 10,000 resamples say "above -0.03", and how many of all runs does the
   Monte Carlo sd call undecided?
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from prereg_kit.statistics import exact
from prereg_kit.statistics.interval import two_sided
from prereg_kit.statistics.random_stream import Stream, StreamKey

PLAN = "0" * 64
MARGIN = Fraction(-3, 100)


def successes(stream: Stream, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Three success counts of 800 for one arm and two for the other."""
    if model == "uniform":
        return stream.below(801, 3), stream.below(801, 2)
    plays = stream.below(1000, 5 * 800).reshape(5, 800)
    return (plays[:3] < 600).sum(axis=1), (plays[3:] < 570).sum(axis=1)


def floats_on_a_threshold(model: str, wanted: int = 10_000) -> None:
    stream = Stream(StreamKey(20260911, PLAN, "threshold", model), 0)
    wrong = found = 0
    while found < wanted:
        paired, two = successes(stream, model)
        third = int(paired.sum() - two.sum()) - 72
        if not 0 <= third <= 800:
            continue
        independent = np.array([*two, third])
        assert Fraction(int((paired - independent).sum()), 2400) == Fraction(3, 100)
        wrong += not np.mean(paired / 800 - independent / 800) >= 0.03
        found += 1
    share = wrong / wanted
    error = math.sqrt(share * (1 - share) / wanted)
    print(
        f"{model} successes: float64 mean >= 0.03 is false for {share:.1%} (+- {error:.1%}) of {wanted} registers "
        "whose mean is 3/100; as fractions for none"
    )


def monte_carlo_near_a_margin(seeds: int = 200) -> None:
    rng = np.random.default_rng(3559)
    table = rng.binomial(4, 0.5, size=(3, 50)) - rng.binomial(4, 0.52, size=(3, 50))
    lattice = exact.crossed(table, 4)
    truth = two_sided(table, 4, Fraction(9, 10), "exact")
    print(f"exact: F(-3/100) = {lattice.cdf(MARGIN):.5f} < 1/20, 5 % quantile {truth.lower} > -3/100: pass")
    passes = undecided = 0
    for seed in range(seeds):
        drawn = two_sided(
            table, 4, Fraction(9, 10), "monte_carlo", key=StreamKey(seed, PLAN), resamples=10_000
        )
        passes += drawn.lower > MARGIN
        undecided += drawn.undecided("lower", MARGIN)
    print(
        f"10,000 resamples: pass for {passes} of {seeds} registered seeds; {undecided} are within one Monte Carlo sd"
    )


if __name__ == "__main__":
    floats_on_a_threshold("uniform")
    floats_on_a_threshold("binomial")
    monte_carlo_near_a_margin()

"""Contrasts to intervals: the engines' exact ends, and the same interval as a verdict shows it. Pure."""

from __future__ import annotations

from fractions import Fraction

from prereg_kit.decision.verdict import Interval, Reason
from prereg_kit.errors import DecisionError
from prereg_kit.plan.criteria.answers import Ends
from prereg_kit.plan.criteria.measured import Paired
from prereg_kit.plan.parts import Resampling
from prereg_kit.statistics import interval as engines
from prereg_kit.statistics.random_stream import StreamKey


def computed(
    contrast: Paired, level: Fraction, method: str, how: Resampling, plan_digest: str
) -> Ends | Reason:
    """The registered interval and its exact ends, or why no engine can give it.

    Raises:
        DecisionError: a method that is refused by name.
    """
    try:
        found = engines.two_sided(
            contrast.cells,
            contrast.denominator,
            level,
            how.engine,
            scheme="crossed" if how.clusters is not None else "seeds_only",
            resamples=how.resamples,
            key=StreamKey(seed=how.seed, plan=plan_digest),
            method=method,
        )
    except DecisionError as error:
        if error.code == "interval-method":
            raise
        return Reason(code="no-engine", message=f"no interval of {contrast.endpoint}: {error}")
    shown = Interval(
        level=float(level),
        lower=float(found.lower),
        upper=float(found.upper),
        engine=found.engine,
        scheme=found.words,
        lower_exact=str(found.lower),
        upper_exact=str(found.upper),
        resamples=found.resamples,
        mc_sd=None if found.mc_sd is None else (float(found.mc_sd[0]), float(found.mc_sd[1])),
        degenerate=found.degenerate,
        note=found.note,
    )
    return Ends(shown, found.lower, found.upper, found)


def variance_component(contrast: Paired, level: Fraction) -> Interval | None:
    """The variance-component t interval, or None for a single cell, which has no variance."""
    try:
        found = engines.variance_component_t(contrast.cells, contrast.denominator, level)
    except DecisionError:
        return None
    freedom = "" if found.df == float("inf") else f"{found.df:.2f} degrees of freedom"
    return Interval(
        level=float(level),
        lower=found.lower,
        upper=found.upper,
        engine="t",
        scheme="variance components of seed pairs and tasks",
        degenerate=found.se == 0,
        note="; ".join(part for part in (freedom, found.note) if part) or None,
    )

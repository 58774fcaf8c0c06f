"""How an interval was made, in words. Pure."""

from __future__ import annotations

from prereg_kit.decision.verdict import Interval
from prereg_kit.report import rounding

_ENGINES = {
    "exact": "exact bootstrap",
    "monte_carlo": "Monte Carlo bootstrap",
    "t": "t interval",
    "reported": "reported, not recomputed",
}


def kind(interval: Interval | None) -> str:
    """The engine in two or three words; empty without an interval."""
    if interval is None:
        return ""
    return _ENGINES[interval.engine]


def made(interval: Interval | None) -> str:
    """Engine, scheme, number of resamples, Monte Carlo error and note; empty without an interval."""
    if interval is None:
        return ""
    if interval.engine == "reported":
        return "; ".join(part for part in (_ENGINES["reported"], interval.note) if part)
    parts = [_ENGINES[interval.engine], interval.scheme]
    if interval.resamples is not None:
        parts.append(f"{interval.resamples} resamples")
    if interval.mc_sd is not None:
        parts.append(
            "Monte Carlo sd of the ends " + " and ".join(rounding.digits(sd) for sd in interval.mc_sd)
        )
    if interval.degenerate:
        parts.append("degenerate: nothing varies, so the interval is a point")
    if interval.note:
        parts.append(interval.note)
    return "; ".join(parts)

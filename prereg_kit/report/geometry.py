"""Where things stand in the plots of the page: positions in percent of the width, so that text never scales.

Pure. Nothing here is a result: the numbers beside the marks were rounded by `rounding`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from prereg_kit.decision.verdict import Figure, LedgerRow, Verdict
from prereg_kit.report import rounding, spread
from prereg_kit.report.clause_lines import leaves
from prereg_kit.report.outcome_rows import Row, bounds_of
from prereg_kit.report.page import Page, PredictionRow

_MAX_TICKS = 6
_LARGEST = 1e150  # beyond this a difference of two floats could overflow; such a mark stands at the edge


@dataclass(frozen=True)
class Mark:
    """A position in percent from the left and what stands there."""

    x: float
    label: str


@dataclass(frozen=True)
class Scale:
    """A linear scale from `low` to `high` onto 2 % to 98 % of the width."""

    low: float
    high: float

    def x(self, value: float) -> float:
        """Percent from the left, rounded to a hundredth so that equal input gives equal bytes."""
        share = (value - self.low) / (self.high - self.low)
        return round(2 + 96 * max(0.0, min(1.0, share)), 2)

    @property
    def ticks(self) -> tuple[Mark, ...]:
        """At most six round values within the scale."""
        step = _step((self.high - self.low) / (_MAX_TICKS - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        places = max(0, -math.floor(math.log10(step) + 1e-9)) + (1 if _mantissa(step) == 2.5 else 0)
        return tuple(Mark(self.x(i * step), f"{i * step:.{places}f}") for i in range(first, last + 1))


def _mantissa(step: float) -> float:
    return round(step / float(10 ** math.floor(math.log10(step) + 1e-9)), 6)


def _step(least: float) -> float:
    power = float(10 ** math.floor(math.log10(least)))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))


def _scale(values: Iterable[float]) -> Scale:
    found = sorted(max(-_LARGEST, min(_LARGEST, value)) for value in values)
    low, high = found[0], found[-1]
    size = max(abs(low), abs(high), 1e-9)
    margin = (high - low) * 0.05 if high - low > size * 1e-9 else size * 0.5
    return Scale(low - margin, high + margin)


@dataclass(frozen=True)
class Column:
    """One bar of a histogram: its start and width in percent, its height in (0, 1], what it counts."""

    x: float
    width: float
    height: float
    label: str


@dataclass(frozen=True)
class ForestRow:
    """One line of the forest plot; positions in percent, None for what there is not.

    `dots` are single values, `columns` their histogram where they are many; one of the two is empty.
    """

    row: Row
    estimate: float | None
    interval: tuple[float, float] | None
    dots: tuple[Mark, ...]
    columns: tuple[Column, ...]
    bounds: tuple[Mark, ...]
    spoken: str


@dataclass(frozen=True)
class Panel:
    """Rows that share a unit and a scale; `zero` is the position of zero, if it lies on the scale."""

    title: str
    axis: str
    ticks: tuple[Mark, ...]
    zero: float | None
    rows: tuple[ForestRow, ...]


def _dots(verdict: Verdict) -> dict[str, Figure]:
    if verdict.per_seed:
        return verdict.per_seed
    # A difference without figures by seed is a gap of two means: its parts are levels and have no place on this scale.
    clauses = (clause for clause in leaves(verdict.clauses) if clause.criterion != "difference")
    return next((clause.per_unit for clause in clauses if clause.per_unit), {})


def _spoken(row: Row) -> str:
    parts = [f"{row.name}: {row.verdict}"]
    if row.estimate != rounding.NOTHING:
        parts.append(f"estimate {row.estimate}")
    if row.interval != rounding.NOTHING:
        parts.append(f"interval {row.interval}")
    if row.per_seed:
        parts.append(f"per seed or run {row.seeds}")
    if bounds := bounds_of(row.source):
        parts.append("bounds of the rule " + ", ".join(bounds.values()))
    return "; ".join(parts)


def _values(verdict: Verdict) -> list[float]:
    values = [number.value for number in _dots(verdict).values()]
    values += [verdict.estimate.value] if verdict.estimate else []
    values += [verdict.interval.lower, verdict.interval.upper] if verdict.interval else []
    return values


def _forest_row(row: Row, scale: Scale) -> ForestRow:
    verdict = row.source
    interval = verdict.interval
    single = _dots(verdict)
    return ForestRow(
        row=row,
        estimate=scale.x(verdict.estimate.value) if verdict.estimate else None,
        interval=(scale.x(interval.lower), scale.x(interval.upper)) if interval else None,
        dots=tuple(
            Mark(scale.x(number.value), f"{name}: {rounding.figure(number, verdict.unit, signed=row.signed)}")
            for name, number in single.items()
            if len(single) <= spread.MOST_LISTED
        ),
        columns=tuple(_column(part, scale, verdict.unit) for part in spread.histogram(single)),
        bounds=tuple(Mark(scale.x(bound), text) for bound, text in bounds_of(verdict).items()),
        spoken=_spoken(row),
    )


def _column(part: spread.Bin, scale: Scale, unit: str | None) -> Column:
    left, right = scale.x(part.low), scale.x(part.high)
    ends = f"{rounding.digits(part.low, unit)} to {rounding.digits(part.high, unit)}"
    return Column(left, max(0.3, round(right - left, 2)), part.height, f"{part.count} values from {ends}")


def _by_size(rows: list[Row]) -> list[list[Row]]:
    """Rows in their order, split where the largest value jumps by more than five: one giant flattens the rest."""

    def reach(row: Row) -> float:
        return max(abs(value) for value in _values(row.source))

    parts: list[list[float]] = []
    for size in sorted(reach(row) for row in rows):
        if parts and size <= 5 * parts[-1][-1]:
            parts[-1].append(size)
        else:
            parts.append([size])
    return [[row for row in rows if part[0] <= reach(row) <= part[-1]] for part in parts]


def _panel(unit: str, signed: bool, rows: list[Row]) -> Panel:
    values = [
        v
        for row in rows
        for v in [*_values(row.source), *(bound for bound, _ in bounds_of(row.source).items())]
    ]
    scale = _scale([*values, 0.0] if signed else values)
    words = {"pp": "percentage points"}.get(unit, unit)
    return Panel(
        title=f"{'Differences' if signed else 'Levels'} ({words})",
        axis=f"{'treatment minus reference' if signed else 'estimate'}, {words}",
        ticks=scale.ticks,
        zero=scale.x(0) if scale.low <= 0 <= scale.high else None,
        rows=tuple(_forest_row(row, scale) for row in rows),
    )


def forest(page: Page) -> tuple[Panel, ...]:
    """One panel per unit, differences and levels apart, small and large scales apart."""
    groups: dict[tuple[str, bool], list[Row]] = {}
    for row in page.rows:
        if _values(row.source):
            groups.setdefault((row.unit or "no unit stated", row.signed), []).append(row)
    return tuple(_panel(*key, part) for key, rows in groups.items() for part in _by_size(rows))


@dataclass(frozen=True)
class Dot:
    """A scored prediction on the calibration strip; `lane` counts up from the axis."""

    x: float
    lane: int
    met: bool
    row: PredictionRow


def calibration(page: Page) -> tuple[Dot, ...]:
    """Scored predictions by their confidence; dots that would overlap go up one lane."""
    dots: list[Dot] = []
    for met in (True, False):
        taken: list[float] = []
        scored = [
            p
            for p in page.predictions
            if not p.reading and p.source.confidence is not None and p.outcome == ("pass" if met else "fail")
        ]
        for row in sorted(scored, key=lambda p: p.source.confidence or 0):
            x = Scale(0, 1).x(row.source.confidence or 0)
            lane = next((i for i, last in enumerate(taken) if x - last >= 12), len(taken))
            taken[lane : lane + 1] = [x]
            dots.append(Dot(x, lane, met, row))
    return tuple(dots)


@dataclass(frozen=True)
class Bar:
    """A run on the timeline: start and width in percent; `spoken` says its times."""

    run: LedgerRow
    x: float
    width: float
    spoken: str


@dataclass(frozen=True)
class Timeline:
    """Runs in the order of their start, and the freeze if its time is known."""

    bars: tuple[Bar, ...]
    ticks: tuple[Mark, ...]
    freeze: Mark | None
    left_out: int


_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)")
_MAX_BARS = 60


def _time(text: str | None) -> datetime | None:
    match = _TIME.search(text or "")
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[0].upper().replace(" ", "T")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _day_ticks(low: float, high: float, scale: Scale) -> tuple[Mark, ...]:
    form = "%Y-%m-%d" if high - low > 3 * 86400 else "%m-%d %H:%M"
    at = [low + (high - low) * part for part in (0.0, 0.5, 1.0)]
    return tuple(Mark(scale.x(t), datetime.fromtimestamp(t, UTC).strftime(form)) for t in at)


def timeline(page: Page) -> Timeline | None:
    """The runs with a start time, and the freeze; None if no run says when it started."""
    runs = [
        (start, _time(run.finished_at), run) for run in page.source.ledger if (start := _time(run.started_at))
    ]
    if not runs:
        return None
    runs.sort(key=lambda item: (item[0], item[2].run_id))
    freeze = _time(page.source.plan.time)
    times: Sequence[datetime] = [t for start, end, _ in runs for t in (start, end) if t] + (
        [freeze] if freeze else []
    )
    low, high = min(times).timestamp(), max(times).timestamp()
    margin = (high - low) * 0.03 or 1800.0
    scale = Scale(low - margin, high + margin)
    bars = []
    for start, end, run in runs[:_MAX_BARS]:
        x = scale.x(start.timestamp())
        width = max(0.4, round(scale.x(end.timestamp()) - x, 2)) if end else 0.4
        spoken = f"{run.run_id}: started {run.started_at}, finished {run.finished_at or 'not stated'}"
        bars.append(Bar(run, x, width, spoken))
    mark = Mark(scale.x(freeze.timestamp()), "frozen") if freeze else None
    return Timeline(tuple(bars), _day_ticks(low, high, scale), mark, max(0, len(runs) - _MAX_BARS))

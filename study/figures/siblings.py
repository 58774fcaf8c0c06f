"""Two siblings of one prompt under a shared schedule and under separate ones: the idea of the paper's Figure 1.

Nothing is drawn by hand: every number is the simulator's own draw for its event key (tool, resource, repeat), read
from `backoffice.schedule`, and every fault what the law makes of it. The siblings follow fixed scripts and repeat a
call that failed. Persistent outages and rate limits, which depend on history, are left to the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from study.backoffice.faults import STALE_READ, TRUNCATION, CompiledLaw, ToolKind, compile_law
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import Schedule, schedule_seed, slot_seed
from study.figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Step = tuple[str, ToolKind, str]

SCRIPTS: tuple[tuple[Step, ...], tuple[Step, ...]] = (
    (
        ("get_customer", "record", "C-12"),
        ("list_orders", "list", "C-12"),
        ("get_order", "record", "O-118"),
        ("update_shipping_address", "write", "O-118"),
    ),
    (
        ("get_order", "record", "O-118"),
        ("get_customer", "record", "C-12"),
        ("check_inventory", "record", "P-07"),
        ("update_shipping_address", "write", "O-118"),
    ),
)
"""Two ways to the same write: three keys in common, in another order."""

_FULL = float(1 << 64)
_MOST_ROWS = 7
_STILL_ANSWERS = frozenset({STALE_READ, TRUNCATION})


@dataclass(frozen=True)
class Event:
    """One call: its key, its uniform draw in [0, 1), and the fault that the law makes of it."""

    tool: str
    resource: str
    repeat: int
    draw: float
    fault: str | None

    @property
    def key(self) -> tuple[str, str, int]:
        """(tool, resource, repeat): free text never enters it."""
        return (self.tool, self.resource, self.repeat)


@dataclass(frozen=True)
class Timeline:
    """What one sibling meets under one schedule; `grade` is the episode's draw for the grader."""

    events: tuple[Event, ...]
    grade: float
    flipped: bool


def law() -> CompiledLaw:
    """The training mixture at p = 0.25 with grader flips at q = 0.10."""
    return compile_law(replace(regime_named("faults_p25"), name="figure", flip_rate=Fraction(1, 10)))


def timeline(seed: str, script: tuple[Step, ...]) -> Timeline:
    """Walk a script under a schedule, repeating calls that failed (at most twice)."""
    schedule, rules = Schedule(seed), law()
    seen: dict[tuple[str, str], int] = {}
    events = []
    for tool, kind, resource in script:
        for _ in range(3):
            repeat = seen.get((tool, resource), 0)
            seen[tool, resource] = repeat + 1
            lanes = schedule.draw(tool, resource, repeat)
            fault = rules.fault(kind, lanes)
            events.append(Event(tool, resource, repeat, lanes.fault / _FULL, fault))
            if fault is None or fault in _STILL_ANSWERS:
                break
    lane = schedule.grade_lane()
    return Timeline(tuple(events), lane / _FULL, lane < rules.flip_below)


def shared_keys(first: Timeline, second: Timeline) -> list[tuple[int, int]]:
    """Positions of the events whose keys both siblings meet."""
    places = {event.key: index for index, event in enumerate(second.events)}
    return [(index, places[event.key]) for index, event in enumerate(first.events) if event.key in places]


def panels(index: int) -> tuple[tuple[Timeline, Timeline], tuple[Timeline, Timeline]]:
    """(shared, separate): the two siblings under one schedule, and under one schedule each."""
    row = schedule_seed("figure", index)
    shared = (timeline(row, SCRIPTS[0]), timeline(row, SCRIPTS[1]))
    return shared, (timeline(slot_seed(row, 0), SCRIPTS[0]), timeline(slot_seed(row, 1), SCRIPTS[1]))


def telling_index() -> int:
    """The first schedule under which the figure has something to show; chosen for that, and the figure says so.

    Shared: both siblings meet a fault on the same key, and the schedule has a clean common key too. Separate: a
    common key faults for one sibling alone, and the grader's flip differs.
    """
    for index in range(100_000):
        shared, separate = panels(index)
        if max(len(one.events) for one in (*shared, *separate)) > _MOST_ROWS:
            continue
        common = [shared[0].events[i] for i, _ in shared_keys(*shared)]
        faults = [event for event in common if event.fault is not None]
        apart = [(separate[0].events[i], separate[1].events[j]) for i, j in shared_keys(*separate)]
        if (
            faults
            and len(common) - len(faults) >= 2
            and not shared[0].flipped
            and sum((one.fault is None) != (two.fault is None) for one, two in apart) >= 1
            and separate[0].flipped != separate[1].flipped
        ):
            return index
    raise AssertionError("no schedule among 100,000 shows a common fault")


def draw(index: int | None = None) -> Figure:
    """Both panels side by side.

    Args:
        index: which schedule of the figure's own domain; the first telling one unless given.
    """
    shared, separate = panels(telling_index() if index is None else index)
    rows = max(len(one.events) for one in (*shared, *separate))
    figure = canvas.new(12.2, 1.7 + 0.6 * (rows + 1))
    axes = figure.subplots(1, 2)
    _panel(axes[0], "a  Paired: one schedule for both siblings", shared, rows)
    _panel(axes[1], "b  Independent: one schedule each", separate, rows)
    figure.suptitle(
        "Equal event keys meet equal draws only where the schedule is shared",
        x=0.01, ha="left", fontsize=12, fontweight="bold",
    )  # fmt: skip
    figure.supxlabel(
        "Each box: tool, resource and repeat (the key), then its draw u; a call faults where u < 0.25, the grader "
        "flips where u < 0.10.\nOrange boxes fault. Lines join equal keys: solid where both siblings get the same "
        "draw, dashed where they do not. The schedule was chosen for showing a common fault.",
        fontsize=8.5, x=0.01, ha="left",
    )  # fmt: skip
    return figure


def _panel(axis: Axes, title: str, pair: tuple[Timeline, Timeline], rows: int) -> None:
    axis.set_title(title)
    for column, (name, one) in enumerate(zip(("sibling 1", "sibling 2"), pair, strict=True)):
        axis.text(column, 0.75, name, ha="center", va="center", fontsize=9.5, fontweight="bold")
        for row, event in enumerate(one.events):
            key = f"{event.tool} {event.resource} #{event.repeat}"
            outcome = f"u = {event.draw:.3f}  {event.fault.replace('_', ' ') if event.fault else 'clean'}"
            _box(axis, column, -row, key, outcome, fault=event.fault is not None)
        verdict = "flipped" if one.flipped else "kept"
        _box(
            axis,
            column,
            -rows,
            "grader (episode key)",
            f"u = {one.grade:.3f}  {verdict}",
            fault=one.flipped,
        )
    links = [(-i, -j, pair[0].events[i].draw == pair[1].events[j].draw) for i, j in shared_keys(*pair)]
    links.append((-rows, -rows, pair[0].grade == pair[1].grade))
    for left, right, equal in links:
        axis.plot(
            [_HALF, 1 - _HALF], [left, right], color=canvas.BLUE if equal else canvas.GREY, lw=2.0 if equal else 1.2,
            ls="-" if equal else (0, (4, 3)), zorder=1, solid_capstyle="round",
        )  # fmt: skip
    axis.axhline(-rows + 0.55, color=canvas.PALE, lw=1.0, zorder=0)
    axis.set_xlim(-0.42, 1.42)
    axis.set_ylim(-rows - 0.5, 1.0)
    axis.set_axis_off()


_HALF = 0.38


def _box(axis: Axes, column: float, row: float, key: str, outcome: str, *, fault: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    axis.add_patch(
        FancyBboxPatch(
            (column - _HALF, row - 0.33), 2 * _HALF, 0.66, boxstyle="round,pad=0,rounding_size=0.05", zorder=2,
            facecolor="#F7D9A8" if fault else "white", edgecolor=canvas.VERMILLION if fault else canvas.GREY,
            linewidth=1.6 if fault else 0.9,
        )
    )  # fmt: skip
    axis.text(
        column, row + 0.14, key, ha="center", va="center", fontsize=7.8, family="DejaVu Sans Mono", zorder=3
    )
    axis.text(
        column, row - 0.15, outcome, ha="center", va="center", fontsize=8.2, zorder=3,
        fontweight="bold" if fault else "normal", color=canvas.INK,
    )  # fmt: skip

"""The partition of a rule: which outcomes can occur, whether two can hold at once, whether none can. Pure.

Every criterion compares a few numbers with a few bounds. Between two neighbouring bounds nothing changes, so a rule
is decided on all possible registers by deciding it once in every cell of the grid of bounds: for a contrast the cells
are (region of the mean) x (how many seeds lie in which region) x (regions of the interval ends), for any other
endpoint the region of its value. Each cell that is not empty gives a concrete witness.

Assumptions, all generous to the rule's author: interval ends enclose the mean, a wider level encloses a narrower one,
proportions lie in [-1, 1] as differences and in [0, 1] otherwise, endpoints are free of each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from prereg_kit.decision.bounds import meets
from prereg_kit.plan.criterion import (
    All,
    AnyOf,
    AtEvery,
    AtMajority,
    Criterion_,
    Difference,
    Estimate,
    EverySeed,
    Holds,
    IntervalEnd,
    Invariant,
    Not,
    RateCriterion,
    walk,
)
from prereg_kit.plan.endpoint import Contrast, Endpoint, Gap
from prereg_kit.plan.hypothesis import Hypothesis

MAX_WORLDS = 400_000


@dataclass(frozen=True)
class Region:
    """A point (low == high), or the open interval between two neighbouring bounds."""

    low: Fraction
    high: Fraction

    @property
    def is_point(self) -> bool:
        """Whether the region is a bound itself."""
        return self.low == self.high

    def sample(self) -> Fraction:
        """A short decimal inside the region, near its middle; beyond the last bound, near that bound."""
        if self.is_point:
            return self.low
        width = self.high - self.low
        middle = (self.low + self.high) / 2
        for places in range(13):
            scale = 10**places
            for value in (
                Fraction(round(middle * scale), scale),
                Fraction(math.floor(self.low * scale) + 1, scale),
            ):
                if self.low + width / 20 <= value <= self.high - width / 20:
                    return value
        return middle


@dataclass(frozen=True)
class Point:
    """One endpoint in one possible register; `values` are per seed, or per point of an axis.

    `far` and `on_bounds` say how contrived the register is: far from every bound, or exactly on how many of them.
    """

    mean: Fraction | None = None
    values: tuple[Fraction, ...] = ()
    ends: Mapping[tuple[str, Fraction], Fraction] = field(default_factory=dict)
    all_groups: bool | None = None
    no_group: bool | None = None
    far: bool = False
    on_bounds: int = 0


World = Mapping[str, Point | bool]
"""A possible register as the rule sees it: endpoints, and `holds X` for hypotheses it refers to."""


@dataclass(frozen=True)
class Problem:
    """A defect of a rule with the register that shows it; `world` is None for an outcome that never occurs."""

    code: str
    outcomes: tuple[str, ...]
    world: World | None
    message: str


@dataclass(frozen=True)
class Partition:
    """What can happen: the outcomes that occur, the defects, and whether every possible register was looked at."""

    occurring: tuple[str, ...]
    problems: tuple[Problem, ...]
    complete: bool = True


def regions(bounds: Sequence[Fraction], low: Fraction, high: Fraction) -> tuple[Region, ...]:
    """The bounds inside [low, high] and the open intervals between them, in order; ends are included as points."""
    inside = sorted({bound for bound in bounds if low <= bound <= high} | {low, high})
    parts: list[Region] = []
    for left, right in itertools.pairwise(inside):
        parts += [Region(left, left), Region(left, right)]
    return (*parts, Region(inside[-1], inside[-1]))


def true_in(criterion: Criterion_, world: World) -> bool:
    """Whether a criterion holds in a possible register, exact."""
    match criterion:
        case All():
            return all(true_in(clause, world) for clause in criterion.of)
        case AnyOf():
            return any(true_in(clause, world) for clause in criterion.of)
        case Not():
            return not true_in(criterion.of, world)
        case Holds():
            return bool(world[f"holds {criterion.hypothesis}"])
    point = world[getattr(criterion, "endpoint")]  # noqa: B009 - every remaining criterion names one
    assert isinstance(point, Point)
    match criterion:
        case Difference():
            return _within(criterion.bounds, point.mean)
        case RateCriterion():
            return _within(criterion.limits, point.mean)
        case EverySeed() | AtEvery():
            return all(_within(criterion.bounds, value) for value in point.values)
        case AtMajority():
            return 2 * sum(_within(criterion.bounds, value) for value in point.values) > len(point.values)
        case IntervalEnd():
            level = criterion.two_sided_level
            return all(meets(op, point.ends[end, level], bound) for end, op, bound in criterion.ends)
        case Estimate():
            ends = (("lower", "above", criterion.lower_above), ("upper", "below", criterion.upper_below))
            return _within(criterion.limits, point.mean) and all(
                meets(op, point.ends[end, criterion.level], bound)  # type: ignore[arg-type]
                for end, op, bound in ends
                if bound is not None
            )
        case Invariant():
            return bool(point.all_groups if criterion.each_group_has == "one_value" else point.no_group)
    raise AssertionError(f"no truth for {type(criterion).__name__}")


def _within(bounds: Sequence[tuple[str, Fraction]], value: Fraction | None) -> bool:
    return value is not None and all(meets(op, value, bound) for op, bound in bounds)  # type: ignore[arg-type]


def examine(hypothesis: Hypothesis, endpoints: Mapping[str, Endpoint], seeds: int) -> Partition:
    """Look at every kind of register that a hypothesis's rule can tell apart.

    Args:
        hypothesis: the rule; with `passes_if` alone its outcomes are pass and fail, which always partition.
        endpoints: the plan's endpoints.
        seeds: number of seed pairs, at least 1.
    """
    rules = dict(hypothesis.outcomes or {})
    if not rules:
        assert hypothesis.passes_if is not None
        rules["pass"] = hypothesis.passes_if
        if hypothesis.fails_if is not None:
            rules["fail"] = hypothesis.fails_if
    axes = _axes(rules.values(), endpoints, seeds)
    seen: dict[str, World] = {}
    problems: dict[str, Problem] = {}
    count = 0
    for world in _worlds(axes):
        count += 1
        if count > MAX_WORLDS:
            break
        held = [name for name, rule in rules.items() if true_in(rule, world)]
        if len(held) > 1:
            _note(problems, "overlap", tuple(held), world, f"{' and '.join(held)} hold at once")
        elif held:
            seen.setdefault(held[0], world)
        elif hypothesis.outcomes is not None:
            _note(problems, "gap", (), world, f"none of {', '.join(rules)} holds")
        else:
            seen.setdefault("fail" if hypothesis.fails_if is None else "inconclusive", world)
    wanted = [*rules, *(["fail"] if hypothesis.outcomes is None and hypothesis.fails_if is None else [])]
    overlapping = {
        name for problem in problems.values() if problem.code == "overlap" for name in problem.outcomes
    }
    if count <= MAX_WORLDS:
        for name in wanted:
            if name not in seen and name not in overlapping:
                problems[f"unreachable {name}"] = Problem(
                    "unreachable", (name,), None, f"{name} cannot occur on any register of {seeds} seed pairs"
                )
    return Partition(tuple(seen), tuple(problems.values()), count <= MAX_WORLDS)


def _note(
    problems: dict[str, Problem], code: str, outcomes: tuple[str, ...], world: World, message: str
) -> None:
    key = f"{code} {outcomes}"
    if key not in problems or _size(world) < _size(problems[key].world or {}):
        problems[key] = Problem(code, outcomes, world, message)


def _size(world: World) -> tuple[int, int, Fraction]:
    """Witnesses near the bounds, on few of them, and of small numbers are preferred."""
    points = [point for point in world.values() if isinstance(point, Point)]
    total = sum((abs(value) for point in points for value in point.values), Fraction(0))
    return sum(point.far for point in points), sum(point.on_bounds for point in points), total


def _worlds(axes: Mapping[str, Sequence[Point | bool]]) -> Iterator[World]:
    for choice in itertools.product(*axes.values()):
        yield dict(zip(axes, choice, strict=True))


def _axes(
    rules: Iterable[Criterion_], endpoints: Mapping[str, Endpoint], seeds: int
) -> dict[str, list[Point | bool]]:
    parts = [part for rule in rules for part in walk(rule)]
    axes: dict[str, list[Point | bool]] = {}
    for part in parts:
        if isinstance(part, Holds):
            axes.setdefault(f"holds {part.hypothesis}", [True, False])
    names = dict.fromkeys(name for part in parts if (name := getattr(part, "endpoint", None)))
    for name in names:
        own = [part for part in parts if getattr(part, "endpoint", None) == name]
        axes[name] = list(_points(own, endpoints[name], seeds))
    return axes


def _points(parts: Sequence[Criterion_], endpoint: Endpoint, seeds: int) -> Iterator[Point]:
    if any(isinstance(part, Invariant) for part in parts):
        yield from (Point(all_groups=True, no_group=False), Point(all_groups=False, no_group=True),
                    Point(all_groups=False, no_group=False))  # fmt: skip
        return
    mean_bounds = [
        bound
        for part in parts
        if isinstance(part, Difference | RateCriterion | Estimate)
        for _, bound in (part.bounds if isinstance(part, Difference) else part.limits)
    ]
    value_bounds = [
        bound
        for part in parts
        if isinstance(part, EverySeed | AtEvery | AtMajority)
        for _, bound in part.bounds
    ]
    end_bounds: dict[Fraction, list[Fraction]] = {}
    for part in parts:
        if isinstance(part, IntervalEnd):
            end_bounds.setdefault(part.two_sided_level, []).extend(bound for _, _, bound in part.ends)
        elif isinstance(part, Estimate):
            end_bounds.setdefault(part.level, []).extend(
                bound for bound in (part.lower_above, part.upper_below) if bound is not None
            )
    low, high = _range(endpoint, [*mean_bounds, *value_bounds, *itertools.chain(*end_bounds.values())])
    for point in _means_and_values(mean_bounds, value_bounds, low, high, seeds):
        assert point.mean is not None
        for ends in _interval_ends(end_bounds, point.mean, low, high):
            yield replace(point, ends=ends)


def _range(endpoint: Endpoint, bounds: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    if endpoint.unit in ("proportion", "share", "fraction"):
        return (
            (Fraction(-1), Fraction(1))
            if isinstance(endpoint, Contrast | Gap)
            else (Fraction(0), Fraction(1))
        )
    reach = 10 * max([abs(bound) for bound in bounds], default=Fraction(1)) or Fraction(1)
    return -reach, reach


def _means_and_values(
    mean_bounds: Sequence[Fraction],
    value_bounds: Sequence[Fraction],
    low: Fraction,
    high: Fraction,
    count: int,
) -> Iterator[Point]:
    """A mean and `count` values that have it, one for every distinguishable combination of regions."""
    near = _window([*mean_bounds, *value_bounds], low, high)
    for left, right in dict.fromkeys((near, (low, high))):
        means, parts = regions(mean_bounds, left, right), regions(value_bounds, left, right)
        for chosen in itertools.combinations_with_replacement(parts, count):
            least, most = sum(part.low for part in chosen), sum(part.high for part in chosen)
            for region in means:
                mean = _mean_between(region, Fraction(least, count), Fraction(most, count))
                if mean is None:
                    continue
                share = (mean * count - least) / (most - least) if most > least else Fraction(0)
                values = tuple(part.low + share * (part.high - part.low) for part in chosen)
                on_bounds = region.is_point + sum(part.is_point for part in chosen)
                yield Point(mean, values, far=(left, right) != near, on_bounds=on_bounds)


def _window(bounds: Sequence[Fraction], low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """A window not much wider than the bounds, so that witnesses lie near what they are witnesses of."""
    if not bounds:
        return low, high
    step = max((abs(bound) for bound in bounds), default=Fraction(0)) or high / 100
    return max(low, min(bounds) - step), min(high, max(bounds) + step)


def _mean_between(region: Region, least: Fraction, most: Fraction) -> Fraction | None:
    """A mean inside the region that values strictly between the chosen regions' ends can have."""
    if least == most:
        inside = region.low == least if region.is_point else region.low < least < region.high
        return least if inside else None
    if region.is_point:
        return region.low if least < region.low < most else None
    left, right = max(region.low, least), min(region.high, most)
    return Region(left, right).sample() if left < right else None


def _interval_ends(
    bounds: Mapping[Fraction, Sequence[Fraction]], mean: Fraction, low: Fraction, high: Fraction
) -> Iterator[dict[tuple[str, Fraction], Fraction]]:
    """Ends that enclose the mean, wider levels enclosing narrower ones."""
    levels = sorted(bounds)
    if not levels:
        yield {}
        return
    every = sorted({bound for each in bounds.values() for bound in each})
    grid = [region.sample() for region in regions([*every, mean], low, high)]
    lowers, uppers = [value for value in grid if value <= mean], [value for value in grid if value >= mean]
    for downs in itertools.combinations_with_replacement(sorted(lowers, reverse=True), len(levels)):
        for ups in itertools.combinations_with_replacement(sorted(uppers), len(levels)):
            ends = {("lower", level): down for level, down in zip(levels, downs, strict=True)}
            yield ends | {("upper", level): up for level, up in zip(levels, ups, strict=True)}

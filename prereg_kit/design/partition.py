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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from prereg_kit.plan.criteria.compare import numbers
from prereg_kit.plan.criteria.criterion import OneEndpoint
from prereg_kit.plan.criteria.possible import Point, PossibleRegister
from prereg_kit.plan.criteria.rule import about_endpoints, endpoints_of, hypotheses_of
from prereg_kit.plan.endpoint import Contrast, Endpoint, Gap
from prereg_kit.plan.hypothesis import Hypothesis

MAX_REGISTERS = 400_000


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
class RuleDefect:
    """A defect of a rule with the register that shows it; None for an outcome that never occurs."""

    code: str
    outcomes: tuple[str, ...]
    register: PossibleRegister | None
    message: str


@dataclass(frozen=True)
class Partition:
    """What can happen: the outcomes that occur, the defects, and whether every possible register was looked at."""

    occurring: tuple[str, ...]
    problems: tuple[RuleDefect, ...]
    complete: bool = True


def regions(bounds: Sequence[Fraction], low: Fraction, high: Fraction) -> tuple[Region, ...]:
    """The bounds inside [low, high] and the open intervals between them, in order; ends are included as points."""
    inside = sorted({bound for bound in bounds if low <= bound <= high} | {low, high})
    parts: list[Region] = []
    for left, right in itertools.pairwise(inside):
        parts += [Region(left, left), Region(left, right)]
    return (*parts, Region(inside[-1], inside[-1]))


def examine(hypothesis: Hypothesis, endpoints: Mapping[str, Endpoint], seeds: int) -> Partition:
    """Look at every kind of register that a hypothesis's rule can tell apart.

    Args:
        hypothesis: the rule; with `passes_if` alone its outcomes are pass and fail, which always partition.
        endpoints: the plan's endpoints.
        seeds: number of seed pairs, at least 1.
    """
    rules = hypothesis.rules()
    parts = about_endpoints(rules.values())
    points = {
        name: list(_points([part for part in parts if part.endpoint == name], endpoints[name], seeds))
        for name in endpoints_of(*rules.values())
    }
    holding = hypotheses_of(*rules.values())
    seen: dict[str, None] = {}  # in the order of the first register found
    problems: dict[str, RuleDefect] = {}
    count = 0
    for register in _registers(points, holding):
        count += 1
        if count > MAX_REGISTERS:
            break
        held = [name for name, rule in rules.items() if rule.true_in(register)]
        if len(held) > 1:
            _note(problems, "overlap", tuple(held), register, f"{' and '.join(held)} hold at once")
        elif held:
            seen.setdefault(held[0])
        elif hypothesis.outcomes is not None:
            _note(problems, "gap", (), register, f"none of {', '.join(rules)} holds")
        else:
            seen.setdefault("fail" if hypothesis.fails_if is None else "inconclusive")
    wanted = [*rules, *(["fail"] if hypothesis.outcomes is None and hypothesis.fails_if is None else [])]
    overlapping = {
        name for problem in problems.values() if problem.code == "overlap" for name in problem.outcomes
    }
    if count <= MAX_REGISTERS:
        for name in wanted:
            if name not in seen and name not in overlapping:
                problems[f"unreachable {name}"] = RuleDefect(
                    "unreachable", (name,), None, f"{name} cannot occur on any register of {seeds} seed pairs"
                )
    return Partition(tuple(seen), tuple(problems.values()), count <= MAX_REGISTERS)


def _note(
    problems: dict[str, RuleDefect],
    code: str,
    outcomes: tuple[str, ...],
    register: PossibleRegister,
    message: str,
) -> None:
    """Keep the defect, with the plainest of the registers that show it."""
    key = f"{code} {outcomes}"
    known = problems[key].register if key in problems else None
    if known is None or _size(register) < _size(known):
        problems[key] = RuleDefect(code, outcomes, register, message)


def _size(register: PossibleRegister) -> tuple[int, int, Fraction]:
    """Witnesses near the bounds, on few of them, and of small numbers are preferred."""
    points = register.points.values()
    total = sum((abs(value) for point in points for value in point.values), Fraction(0))
    return sum(point.far for point in points), sum(point.on_bounds for point in points), total


def _registers(points: Mapping[str, Sequence[Point]], holding: Sequence[str]) -> Iterator[PossibleRegister]:
    """Every combination of a point for each endpoint and a truth value for each hypothesis referred to."""
    for truths in itertools.product((True, False), repeat=len(holding)):
        held = dict(zip(holding, truths, strict=True))
        for choice in itertools.product(*points.values()):
            yield PossibleRegister(dict(zip(points, choice, strict=True)), held)


def _points(parts: Sequence[OneEndpoint], endpoint: Endpoint, seeds: int) -> Iterator[Point]:
    compared = [part.compared() for part in parts]
    if any(each.groups for each in compared):
        yield from (Point(all_groups=True, no_group=False), Point(all_groups=False, no_group=True),
                    Point(all_groups=False, no_group=False))  # fmt: skip
        return
    mean_bounds = [bound for each in compared for bound in numbers(each.mean)]
    value_bounds = [bound for each in compared for bound in numbers(each.each)]
    end_bounds: dict[Fraction, list[Fraction]] = {}
    for each in compared:
        for bound in each.ends:
            end_bounds.setdefault(bound.level, []).append(bound.bound)
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

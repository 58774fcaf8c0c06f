"""The closed set of criteria: data, never code. Each is written `{name: {...}}` in a plan.

A bound is one of above (strict), at_least, below (strict), at_most; `not_below` and `not_above` are other
spellings of at_least and at_most. Two bounds make a range. A tie at a strict bound fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from prereg_kit.plan.fields import Column, Exact, Level, Listed, Name, PercentileMethod, Value, decimal_text

Op = Literal["above", "at_least", "below", "at_most"]
_SPELLINGS = {"not_below": "at_least", "not_above": "at_most"}


class Criterion_(Value):  # noqa: N801 - the union is called Criterion
    """Base of every criterion; serialises to the form of the plan."""

    @model_serializer(mode="plain")
    def _as_written(self) -> dict[str, Any]:
        body = {
            name: _written(getattr(self, name)) for name in type(self).model_fields if name != "criterion"
        }
        name: str = getattr(self, "criterion")  # noqa: B009 - each subclass defines it
        if name in ("all", "any", "not"):
            return {name: body["of"]}
        if name == "holds":
            return {name: body["hypothesis"]}
        return {name: {key: value for key, value in body.items() if value is not None}}


def _written(value: Any) -> Any:  # noqa: ANN401 - the values of criteria: text, numbers, criteria, tuples of them
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, Criterion_):
        return value.model_dump()
    return [_written(item) for item in value] if isinstance(value, tuple) else value


class Bounded(Criterion_):
    """A criterion with one bound, or two that make a range."""

    above: Exact | None = None
    at_least: Exact | None = None
    below: Exact | None = None
    at_most: Exact | None = None

    @model_validator(mode="before")
    @classmethod
    def _spellings(cls, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            for other, name in _SPELLINGS.items():
                if other in value:
                    if name in value:
                        raise ValueError(f"{other} or {name}, not both: they are one bound")
                    value = {**{k: v for k, v in value.items() if k != other}, name: value[other]}
        return value

    @model_validator(mode="after")
    def _one_range(self) -> Bounded:
        if self.above is not None and self.at_least is not None:
            raise ValueError("above or at_least, not both")
        if self.below is not None and self.at_most is not None:
            raise ValueError("below or at_most, not both")
        lows = [b for b in (self.above, self.at_least) if b is not None]
        highs = [b for b in (self.below, self.at_most) if b is not None]
        if lows and highs and lows[0] > highs[0]:
            raise ValueError("a range whose lower bound is not above its upper bound")
        return self

    @property
    def bounds(self) -> tuple[tuple[Op, Fraction], ...]:
        """The bounds given, in the order above, at_least, below, at_most."""
        named: tuple[tuple[Op, Fraction | None], ...] = (
            ("above", self.above),
            ("at_least", self.at_least),
            ("below", self.below),
            ("at_most", self.at_most),
        )
        return tuple((op, bound) for op, bound in named if bound is not None)


class _NeedsBound(Bounded):
    @model_validator(mode="after")
    def _has_bound(self) -> _NeedsBound:
        if not self.bounds:
            raise ValueError("one of above, at_least, below, at_most")
        return self


class Difference(_NeedsBound):
    """The mean over seed pairs of treatment minus reference lies within the bounds."""

    criterion: Literal["difference"] = "difference"
    endpoint: Name


class EverySeed(_NeedsBound):
    """Every seed pair's difference lies within the bounds."""

    criterion: Literal["every_seed"] = "every_seed"
    endpoint: Name


class IntervalEnd(Criterion_):
    """One end of a two-sided interval, at the level written here, lies on the wanted side of a bound.

    The lower end is the quantile at (1 - level)/2 and the upper end that at 1 - (1 - level)/2, by inverse CDF.
    """

    criterion: Literal["interval"] = "interval"
    endpoint: Name
    two_sided_level: Level = Fraction(19, 20)
    method: PercentileMethod = "percentile"
    lower_above: Exact | None = None
    lower_at_least: Exact | None = None
    upper_below: Exact | None = None
    upper_at_most: Exact | None = None
    lower_below: Exact | None = None
    upper_above: Exact | None = None

    @model_validator(mode="after")
    def _has_end(self) -> IntervalEnd:
        if not self.ends:
            raise ValueError(
                "lower_above, lower_at_least, lower_below, upper_below, upper_at_most or upper_above"
            )
        return self

    @property
    def ends(self) -> tuple[tuple[Literal["lower", "upper"], Op, Fraction], ...]:
        """Each (end, comparison, bound) that was given."""
        named: tuple[tuple[Literal["lower", "upper"], Op, Fraction | None], ...] = (
            ("lower", "above", self.lower_above),
            ("lower", "at_least", self.lower_at_least),
            ("lower", "below", self.lower_below),
            ("upper", "below", self.upper_below),
            ("upper", "at_most", self.upper_at_most),
            ("upper", "above", self.upper_above),
        )
        return tuple((end, op, bound) for end, op, bound in named if bound is not None)


class _Near(Bounded):
    """Bounds, or `within` a distance `of` a value (both ends included)."""

    within: Exact | None = None
    of: Exact | None = None

    @model_validator(mode="after")
    def _pair(self) -> _Near:
        if (self.within is None) != (self.of is None):
            raise ValueError("within and of together")
        if self.within is not None and self.within < 0:
            raise ValueError("within a distance that is not negative")
        return self

    @property
    def limits(self) -> tuple[tuple[Op, Fraction], ...]:
        """All bounds, `within`/`of` written out as a closed range."""
        near: tuple[tuple[Op, Fraction], ...] = ()
        if self.within is not None and self.of is not None:
            near = (("at_least", self.of - self.within), ("at_most", self.of + self.within))
        return self.bounds + near


class RateCriterion(_Near):
    """A rate lies within the bounds, or within a tolerance of a value."""

    criterion: Literal["rate"] = "rate"
    endpoint: Name

    @model_validator(mode="after")
    def _has_limit(self) -> RateCriterion:
        if not self.limits:
            raise ValueError("a bound, or within and of")
        return self


class Estimate(_Near):
    """An estimate lies within the bounds and, if asked, so does an end of its interval, for every unit."""

    criterion: Literal["estimate"] = "estimate"
    endpoint: Name
    lower_above: Exact | None = None
    upper_below: Exact | None = None
    level: Level = Fraction(19, 20)

    @model_validator(mode="after")
    def _has_limit(self) -> Estimate:
        if not self.limits and self.lower_above is None and self.upper_below is None:
            raise ValueError("a bound, within and of, lower_above or upper_below")
        return self


class AtEvery(_NeedsBound):
    """A series lies within the bounds at every point of its axis (`points` restricts them, all must be there)."""

    criterion: Literal["at_every"] = "at_every"
    endpoint: Name
    over: Column | None = None
    points: Listed | None = None


class AtMajority(_NeedsBound):
    """A series lies within the bounds at more than half of its points."""

    criterion: Literal["at_majority"] = "at_majority"
    endpoint: Name
    over: Column | None = None
    points: Listed | None = None


class Invariant(Criterion_):
    """Every group of rows has one distinct value, or every group has several (no group with one)."""

    criterion: Literal["invariant"] = "invariant"
    endpoint: Name
    each_group_has: Literal["one_value", "several_values"]


class Holds(Criterion_):
    """Another hypothesis of the plan passes; unknown if it neither passes nor fails."""

    criterion: Literal["holds"] = "holds"
    hypothesis: Name


class All(Criterion_):
    """Every clause holds."""

    criterion: Literal["all"] = "all"
    of: Annotated[tuple[Criterion, ...], Field(min_length=1)]


class AnyOf(Criterion_):
    """At least one clause holds."""

    criterion: Literal["any"] = "any"
    of: Annotated[tuple[Criterion, ...], Field(min_length=1)]


class Not(Criterion_):
    """The clause does not hold."""

    criterion: Literal["not"] = "not"
    of: Criterion


NAMES = (
    "difference", "every_seed", "interval", "rate", "estimate", "at_every", "at_majority", "invariant", "holds",
    "all", "any", "not",
)  # fmt: skip


def _from_written(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Criterion_):
        return value
    if isinstance(value, str):
        return {"criterion": "holds", "hypothesis": value}
    if not isinstance(value, dict) or (len(value) != 1 and "criterion" not in value):
        raise ValueError(f"one criterion as a mapping with one key out of {', '.join(NAMES)}")
    if "criterion" in value:
        return value
    name, body = next(iter(value.items()))
    if name not in NAMES:
        raise ValueError(f"unknown criterion {name!r}; one of {', '.join(NAMES)}")
    if name in ("all", "any", "not"):
        return {"criterion": name, "of": body}
    if name == "holds":
        return {"criterion": name, "hypothesis": body}
    if not isinstance(body, dict):
        raise ValueError(f"a mapping under {name}, such as {{endpoint: ..., above: 0}}")
    if "criterion" in body:
        raise ValueError("no field called criterion")
    return {"criterion": name, **body}


Criterion = Annotated[
    Annotated[
        Difference | EverySeed | IntervalEnd | RateCriterion | Estimate | AtEvery | AtMajority | Invariant | Holds
        | All | AnyOf | Not,
        Field(discriminator="criterion"),
    ],
    BeforeValidator(_from_written),
]  # fmt: skip

for _model in (All, AnyOf, Not):
    _model.model_rebuild()


def walk(criterion: Criterion_) -> tuple[Criterion_, ...]:
    """The criterion and everything inside it, outermost first."""
    if isinstance(criterion, All | AnyOf):
        return (criterion, *(inner for clause in criterion.of for inner in walk(clause)))
    if isinstance(criterion, Not):
        return (criterion, *walk(criterion.of))
    return (criterion,)


def replaced(criterion: Criterion_, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - the same kind of criterion
    """The criterion with some endpoints exchanged for others."""
    if isinstance(criterion, All | AnyOf):
        return criterion.model_copy(update={"of": tuple(replaced(clause, names) for clause in criterion.of)})
    if isinstance(criterion, Not):
        return criterion.model_copy(update={"of": replaced(criterion.of, names)})
    old = getattr(criterion, "endpoint", None)
    return criterion if old is None else criterion.model_copy(update={"endpoint": names.get(old, old)})


def endpoints_of(criterion: Criterion_) -> tuple[str, ...]:
    """The endpoints that a criterion names, first-named first, each once."""
    names = [getattr(part, "endpoint", None) for part in walk(criterion)]
    return tuple(dict.fromkeys(name for name in names if name))


def hypotheses_of(criterion: Criterion_) -> tuple[str, ...]:
    """The hypotheses that a criterion refers to."""
    return tuple(dict.fromkeys(part.hypothesis for part in walk(criterion) if isinstance(part, Holds)))

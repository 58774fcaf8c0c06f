"""Bounds as a plan writes them.

A bound is one of above (strict), at_least, below (strict), at_most; `not_below` and `not_above` are other
spellings of at_least and at_most. Two bounds make a range. A tie at a strict bound fails.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pydantic import model_validator

from prereg_kit.plan.criteria.compare import Bounds, Op, bound_words, number
from prereg_kit.plan.criteria.criterion import BaseCriterion
from prereg_kit.plan.fields import Exact

_SPELLINGS = {"not_below": "at_least", "not_above": "at_most"}


class Bounded(BaseCriterion):
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
    def bounds(self) -> Bounds:
        """The bounds given, in the order above, at_least, below, at_most."""
        named: tuple[tuple[Op, Fraction | None], ...] = (
            ("above", self.above),
            ("at_least", self.at_least),
            ("below", self.below),
            ("at_most", self.at_most),
        )
        return tuple((op, bound) for op, bound in named if bound is not None)


class NeedsBound(Bounded):
    """At least one bound."""

    @model_validator(mode="after")
    def _has_bound(self) -> NeedsBound:
        if not self.bounds:
            raise ValueError("one of above, at_least, below, at_most")
        return self


class Near(Bounded):
    """Bounds, or `within` a distance `of` a value (both ends included)."""

    within: Exact | None = None
    of: Exact | None = None

    @model_validator(mode="after")
    def _pair(self) -> Near:
        if (self.within is None) != (self.of is None):
            raise ValueError("within and of together")
        if self.within is not None and self.within < 0:
            raise ValueError("within a distance that is not negative")
        return self

    @property
    def limits(self) -> Bounds:
        """All bounds, `within`/`of` written out as a closed range."""
        near: Bounds = ()
        if self.within is not None and self.of is not None:
            near = (("at_least", self.of - self.within), ("at_most", self.of + self.within))
        return self.bounds + near

    def near_words(self) -> str:
        """All bounds as signs, `within` and `of` as they are written."""
        parts = [bound_words(self.bounds)] if self.bounds else []
        if self.within is not None and self.of is not None:
            parts.append(f"within {number(self.within)} of {number(self.of)}")
        return " and ".join(parts)

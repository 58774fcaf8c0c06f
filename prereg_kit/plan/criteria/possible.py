"""Registers that could be, as a rule sees them: for the partition check and for simulations. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prereg_kit.plan.criteria.compare import Floats


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


@dataclass(frozen=True)
class PossibleRegister:
    """A possible register: its endpoints, and which of the hypotheses that a rule refers to hold in it."""

    points: Mapping[str, Point] = field(default_factory=dict)
    holding: Mapping[str, bool] = field(default_factory=dict)


class Studies(Protocol):
    """Many simulated studies at once; nothing but seed pairs varies in them."""

    def differences(self, endpoint: str) -> Floats:
        """Differences [simulated study, seed pair] of a contrast."""

    def ends(self, endpoint: str, level: Fraction) -> tuple[Floats, Floats]:
        """Interval ends [simulated study] of a contrast."""

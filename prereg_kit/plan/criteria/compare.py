"""A value against its bounds, exact, and the words for it. Pure.

Comparisons are between fractions; a tie at a strict bound fails and says that it is a tie.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from prereg_kit.foundation.closed import table
from prereg_kit.plan.criteria.clause import Reason, as_float
from prereg_kit.plan.fields import decimal_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

Op = Literal["above", "at_least", "below", "at_most"]
End = Literal["lower", "upper"]
Bounds = tuple[tuple[Op, Fraction], ...]

_COMPARE: dict[Op, Callable[[Any, Any], Any]] = table(
    Op, {"above": operator.gt, "at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
)
SIGNS: dict[Op, str] = table(Op, {"above": ">", "at_least": "≥", "below": "<", "at_most": "≤"})
LOW: tuple[Op, ...] = ("above", "at_least")
"""The comparisons that bound a value from below."""


class EndBound(NamedTuple):
    """A bound on one end of the interval at a level."""

    end: End
    level: Fraction
    op: Op
    bound: Fraction


def meets(op: Op, value: Fraction, bound: Fraction) -> bool:
    """Whether `value` lies on the wanted side of `bound`; a tie meets at_least and at_most only."""
    return bool(_COMPARE[op](value, bound))


def within(bounds: Bounds, value: Fraction) -> bool:
    """Whether `value` meets every bound."""
    return all(meets(op, value, bound) for op, bound in bounds)


def within_arrays(bounds: Bounds, values: Floats) -> Flags:
    """`within` on floats, element by element: for simulations only, never for a verdict."""
    held: Any = values == values  # noqa: PLR0124 - true everywhere, in the shape of the values
    for op, bound in bounds:
        held &= _COMPARE[op](values, float(bound))
    flags: Flags = held
    return flags


def bound_reasons(value: Fraction, bounds: Bounds, name: str = "") -> tuple[tuple[Reason, ...], Fraction]:
    """Why the bounds are not met, and the signed distance to the nearest: positive inside, negative outside.

    Args:
        value: what is compared.
        bounds: at least one.
        name: put before every reason, such as `seed 3: `.
    """
    reasons = []
    distances = []
    for op, bound in bounds:
        distances.append(value - bound if op in LOW else bound - value)
        if not meets(op, value, bound):
            tie = value == bound
            reasons.append(
                Reason(
                    code="tie-at-strict-bound" if tie else "bound-not-met",
                    message=f"{name}{short(value)} is not {op.replace('_', ' ')} {short(bound)}"
                    + (": it equals the bound" if tie else ""),
                )
            )
    return tuple(reasons), min(distances)


def short(value: Fraction) -> str:
    """Six significant digits, for messages."""
    return f"{as_float(value):.6g}"


def numbers(bounds: Sequence[tuple[Op, Fraction]]) -> tuple[Fraction, ...]:
    """The numbers of some bounds, each once."""
    return tuple(dict.fromkeys(bound for _, bound in bounds))


def bound_words(bounds: Bounds) -> str:
    """Bounds as signs: `≥ 0.03`, or `≥ 0.02 and ≤ 0.06`."""
    return " and ".join(f"{SIGNS[op]} {number(bound)}" for op, bound in bounds)


def number(value: Fraction) -> str:
    """An exact number as people write it, with a true minus sign."""
    return decimal_text(value).replace("-", "−")


def percent(level: Fraction) -> str:
    """A level as `95 %`."""
    return f"{decimal_text(level * 100)} %"

"""What criteria over every seed pair, run or point share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.compare import Bounds, bound_reasons
from prereg_kit.plan.criteria.criterion import OneEndpoint
from prereg_kit.plan.criteria.measured import Paired, Units
from prereg_kit.plan.endpoint import Endpoint, Series


def every(
    criterion: OneEndpoint,
    bounds: Bounds,
    values: Mapping[str, Fraction],
    measured: Paired | Units,
    what: str,
) -> Clause:
    """Each value against each bound; the clause names every unit that does not meet one.

    Args:
        criterion: what is asked.
        bounds: at least one.
        values: by unit, at least one.
        measured: the endpoint.
        what: a unit is called this, such as `seed`.
    """
    reasons: list[Reason] = []
    distances = []
    for unit, value in values.items():
        unmet, distance = bound_reasons(value, bounds, f"{what} {unit}: ")
        distances.append(distance)
        reasons += unmet
    return criterion.clause(
        measured, reasons, estimate=measured.value, distance=min(distances), per_unit=values
    )


def chosen(measured: Units, points: tuple[str, ...] | None) -> dict[str, Fraction] | Reason:
    """The values at some points, or why there are none; all of them for None."""
    if points is None:
        return measured.values
    absent = [point for point in points if point not in measured.values]
    if absent:
        return Reason(
            code="rows-missing",
            message=f"{measured.endpoint} has no value at {', '.join(absent)}; it has {', '.join(measured.values)}",
        )
    return {point: measured.values[point] for point in points}


def wrong_axis(over: str | None, name: str, endpoint: Endpoint) -> str | None:
    """Why a series cannot be read over a column; None if it can."""
    if over is None or not isinstance(endpoint, Series) or over == endpoint.axis:
        return None
    return f"over {over!r}, but the axis of {name!r} is {endpoint.axis!r}"

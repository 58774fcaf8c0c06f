"""A series: one exact value per point of an axis. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from prereg_kit.decision.request import Request
from prereg_kit.decision.verdict import Evidence
from prereg_kit.errors import RegisterError
from prereg_kit.plan.criteria.measured import Measured, Units
from prereg_kit.plan.endpoint import Series
from prereg_kit.registers import cells


def series(request: Request, endpoint: Series) -> Measured:
    """One exact value per point of the axis, recomputed from rows.

    Raises:
        RegisterError: two rows at one point, or a defect.
    """
    return along(request, endpoint, request.value_rows(endpoint.value, (endpoint.axis,)), "recomputed")


def along(request: Request, endpoint: Series, rows: Sequence[cells.ValueRow], evidence: Evidence) -> Measured:
    """The series of given rows, in the order of whole numbers where its points are numbers.

    Raises:
        RegisterError: two rows at one point, or one without a point.
    """
    values: dict[str, Fraction] = {}
    for row in rows:
        point = row.key.get(endpoint.axis)
        if point is None or point in values:
            raise RegisterError(
                f"{request.name} has {'a value without' if point is None else 'two values at one'} {endpoint.axis}",
                expected=f"one row per {endpoint.axis}",
                found=dict(row.key),
                next_step="Narrow the endpoint's `where` until one row per point is left.",
                code="mixed",
            )
        values[point] = row.value
    if endpoint.relative_to is not None:
        if endpoint.relative_to not in values:
            return request.unknown(
                "not_evaluable", "rows-missing", f"{request.name} has no {endpoint.relative_to}"
            )
        base = values.pop(endpoint.relative_to)
        values = {point: value - base for point, value in values.items()}
    if not values:
        return request.unknown("not_evaluable", "rows-missing", f"{request.name} has no rows")
    return Units(request.name, endpoint.unit, dict(sorted(values.items(), key=_natural)), evidence=evidence)


def _natural(item: tuple[str, Fraction]) -> tuple[int, int, str]:
    number = item[0].removeprefix("-")
    return (0, int(item[0]), "") if number.isascii() and number.isdigit() else (1, 0, item[0])

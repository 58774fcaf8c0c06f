"""Numbers that somebody published and that cannot be recomputed from rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from prereg_kit.decision import series
from prereg_kit.decision.request import Request
from prereg_kit.decision.verdict import Interval, Reason
from prereg_kit.errors import RegisterError, Where
from prereg_kit.plan.criteria.answers import Ends
from prereg_kit.plan.criteria.measured import Measured, Scalar, Units
from prereg_kit.plan.endpoint import Mean, Rate, Series
from prereg_kit.plan.fields import decimal_text, exact
from prereg_kit.registers import cells
from prereg_kit.registers.cells import Source

Key = TypeVar("Key", bound=Hashable)


def reported(request: Request) -> Measured:
    """An endpoint that only published figures know: a series, or an estimate per unit with its interval ends.

    Raises:
        RegisterError: a defect of the register of figures.
    """
    endpoint = request.endpoint
    try:
        rows = request.value_rows("value", ("run_id", "level", "statistic"))
    except RegisterError as error:
        if error.code in ("absent-value", "no-rows-selected", "absent-kind"):
            return request.unknown(
                "not_evaluable", "no-reported-figure", f"no figure is reported for {request.name}"
            )
        raise
    estimates = [row for row in rows if row.key["statistic"] == "estimate"]
    if isinstance(endpoint, Series):
        return series.along(request, endpoint, estimates, "reported")
    values = _once(estimates, lambda row: row.key.get("run_id") or "reported")
    if not values:
        return request.unknown(
            "not_evaluable", "no-reported-figure", f"no estimate is reported for {request.name}"
        )
    if isinstance(endpoint, Rate | Mean):
        if len(values) > 1:
            raise _mixed(f"{request.name} is one number, and {len(values)} are reported", dict(values))
        return Scalar(request.name, endpoint.unit, next(iter(values.values())), "reported")
    ends = {
        end: _once(
            [row for row in rows if row.key["statistic"] == end],
            lambda row: (row.key.get("run_id") or "", level_of(row)),
        )
        for end in ("lower", "upper")
    }
    return Units(request.name, endpoint.unit, values, ends["lower"], ends["upper"], "reported")


def _once(rows: Sequence[cells.ValueRow], key: Callable[[cells.ValueRow], Key]) -> dict[Key, Fraction]:
    """One figure per key.

    Raises:
        RegisterError: two figures for one key; the first wins nothing.
    """
    found: dict[Key, Fraction] = {}
    for row in rows:
        if key(row) in found:
            raise _mixed("two figures are reported for one thing", dict(row.key))
        found[key(row)] = row.value
    return found


def _mixed(problem: str, found: object) -> RegisterError:
    return RegisterError(
        problem, expected="one figure for each run, statistic and level", found=found,
        next_step="Narrow the endpoint's `where` until one is left.", code="mixed",
    )  # fmt: skip


def level_of(row: cells.ValueRow) -> Fraction:
    """The level of a reported interval end.

    Raises:
        RegisterError: no level, or one that is no number in (0, 1).
    """
    text = row.key.get("level")
    try:
        level = exact(text)
    except ValueError:
        level = Fraction(0)
    if not 0 < level < 1:
        raise RegisterError(
            "an interval end without a level", where=Where(file=row.file, field="level", key=f"row {row.row}"),
            expected="a decimal such as 0.95", found=text, code="bad-level",
        )  # fmt: skip
    return level


def reported_interval(
    registers: Source, endpoint: str, level: Fraction, each: dict[str, str]
) -> Ends | Reason:
    """A published interval of a contrast, or the reason why there is none at this level."""
    where = {"endpoint": endpoint, **each}
    try:
        rows = cells.value_rows(
            registers, "reported", where=where, value="value", columns=("level", "statistic")
        )
    except RegisterError as error:
        if error.code not in ("absent-value", "no-rows-selected", "absent-kind"):
            raise
        rows = ()
    sides = [row for row in rows if row.key["statistic"] in ("lower", "upper")]
    ends = _once([row for row in sides if level_of(row) == level], lambda row: str(row.key["statistic"]))
    if "lower" not in ends or "upper" not in ends:
        return Reason(
            code="no-reported-figure",
            message=f"no interval of level {decimal_text(level)} is reported for {endpoint}, "
            "and counts have no tasks to resample",
        )
    lower, upper = ends["lower"], ends["upper"]
    shown = Interval(
        level=float(level), lower=float(lower), upper=float(upper), engine="reported",
        scheme="as published", lower_exact=str(lower), upper_exact=str(upper), note="published, not recomputed",
    )  # fmt: skip
    return Ends(shown, lower, upper)

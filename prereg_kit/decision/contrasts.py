"""Cell tables to contrasts, means and steps: whole numbers over one denominator, the axis weighted away. Pure."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from prereg_kit.decision.request import AlongAxis, Request
from prereg_kit.errors import RegisterError, Where
from prereg_kit.plan.criteria.measured import Measured, Paired, Reach, Scalar, Steps
from prereg_kit.plan.endpoint import Contrast, Mean, Over, StepsToThreshold, arms_of
from prereg_kit.registers import cells
from prereg_kit.registers.cells import CellTable

_LARGEST = 1 << 62


def _table(
    request: Request, over: Over | None, value: str, *, arms: bool, axis: str | None = None
) -> CellTable:
    plan = request.effective.plan
    counts = request.endpoint.register_ == "counts"
    own = arms_of(request.endpoint, plan.arms) if arms else None
    query = cells.CellQuery(
        where=request.where,
        value=value,
        value_kind=request.value_kind(value),
        value_range=request.value_range,
        episodes="episodes" if counts else None,
        arm=None if own is None else own.column,
        arms=() if own is None else (own.treatment, own.reference),
        pairs=plan.resampling.pairs,
        cluster=plan.resampling.clusters,
        axis=axis if over is None else over.column,
        axis_values=None if over is None else tuple(over.weights),
        key=request.key,
        policy=request.policy,
    )
    table = cells.cell_table(request.registers, request.endpoint.register_, query)
    said = () if table.span is None else table.span.notes(request.endpoint.unit)
    request.notes += [f"{request.name}: {note}" for note in (*table.notes, *said)]
    return table


def _planned(request: Request, table: CellTable) -> CellTable:
    """The table without pairs that the plan's matrix does not plan: more runs, made when one likes, are not counted."""
    column, planned = request.planned.column, request.planned.pairs
    extra = [pair for pair in table.seeds if pair not in planned] if planned else []
    if not extra:
        return table
    keep = [index for index, pair in enumerate(table.seeds) if pair in planned]
    if not keep:
        raise RegisterError(
            f"{request.name}: no {column} is one that the plan plans", where=Where(field=column),
            expected=", ".join(planned), found=list(table.seeds), code="unplanned-runs",
        )  # fmt: skip
    request.notes.append(f"{request.name}: {column}s {', '.join(extra)} are not planned and not counted")
    return replace(
        table, seeds=tuple(table.seeds[index] for index in keep), successes=table.successes[:, keep],
        episodes=table.episodes[:, keep],
    )  # fmt: skip


def _weights(table: CellTable, over: Over | None) -> tuple[list[int], int]:
    """Whole-number weights in the order of the table's axis, and the number that their sum stands for."""
    if over is None:
        return [1], 1
    total = sum(over.weights.values())
    parts = {point: weight / total for point, weight in over.weights.items()}
    common = math.lcm(*(part.denominator for part in parts.values()))
    return [int(parts[point] * common) for point in table.axis], common


def _collapsed(
    request: Request, over: Over | None, value: str, *, arms: bool
) -> tuple[CellTable, np.ndarray, int]:
    """Cell means [arm, seed, task] as whole numbers over one denominator, the axis weighted away."""
    table = _planned(request, _table(request, over, value, arms=arms))
    numerators, denominator = table.numerators()
    if over is not None and arms:
        request.along = AlongAxis(over.column, table.axis, table.arms, table.seeds, numerators, denominator)
    weights, common = _weights(table, over)
    largest = max(abs(int(numerators.max(initial=0))), abs(int(numerators.min(initial=0))))
    numbers = numerators if largest * common * 2 < _LARGEST else numerators.astype(object)
    weighted = sum(numbers[:, :, index] * weight for index, weight in enumerate(weights))
    return table, np.asarray(weighted), denominator * common


def contrast(request: Request, endpoint: Contrast) -> Measured:
    """Treatment minus reference per seed pair and task, reduced to the smallest whole numbers.

    Raises:
        RegisterError: a defect of the rows.
    """
    table, numbers, denominator = _collapsed(request, endpoint.over, endpoint.value, arms=True)
    difference = numbers[0] - numbers[1]
    shared = math.gcd(denominator, *(int(value) for value in np.unique(difference)))
    reduced = difference // shared
    largest = max(abs(int(reduced.max(initial=0))), abs(int(reduced.min(initial=0))))
    fits = (
        largest * reduced.size < _LARGEST
    )  # else sums are taken in Python integers, and no engine is offered
    one_unit = request.effective.plan.resampling.clusters is None and endpoint.register_ != "counts"
    return Paired(
        request.name,
        endpoint.unit,
        table.seeds,
        reduced.astype(np.int64 if fits else object),
        denominator // shared,
        table.has_tasks or one_unit,
    )


def mean(request: Request, endpoint: Mean) -> Measured:
    """The mean over runs and units of one selection.

    Raises:
        RegisterError: a defect of the rows.
    """
    table, numbers, denominator = _collapsed(request, endpoint.over, endpoint.value, arms=False)
    tasks = numbers.shape[2]
    per_seed = {
        seed: Fraction(int(numbers[0, index].sum()), tasks * denominator)
        for index, seed in enumerate(table.seeds)
    }
    value = sum(per_seed.values(), Fraction(0)) / len(per_seed)
    return Scalar(request.name, endpoint.unit, value, "recomputed", per_seed)


def steps_to_threshold(request: Request, endpoint: StepsToThreshold) -> Measured:
    """Where each arm's curve first reaches the threshold, per seed; censored where it does not.

    Raises:
        RegisterError: a defect of the rows, or an axis that is no number.
    """
    over = None
    if endpoint.steps is not None:
        over = Over(column=endpoint.axis, weights=dict.fromkeys(endpoint.steps, Fraction(1)))
    table = _planned(request, _table(request, over, endpoint.value, arms=True, axis=endpoint.axis))
    numerators, denominator = table.numerators()
    try:
        steps = [Fraction(point) for point in table.axis]
    except (ValueError, ZeroDivisionError) as error:
        raise RegisterError(
            f"{request.name} needs an axis of numbers",
            expected=f"numbers in {endpoint.axis}",
            found=list(table.axis),
        ) from error
    order = sorted(range(len(steps)), key=steps.__getitem__)
    tasks = numerators.shape[3]
    reached = [
        {
            seed: _reach(
                [(steps[k], Fraction(int(numerators[arm, i, k].sum()), tasks * denominator)) for k in order],
                endpoint.threshold,
            )
            for i, seed in enumerate(table.seeds)
        }
        for arm in (0, 1)
    ]
    return Steps(request.name, endpoint.unit, reached[0], reached[1])


def _reach(curve: list[tuple[Fraction, Fraction]], threshold: Fraction) -> Reach:
    """The first crossing, linear between evaluations; a curve that starts at the threshold reaches it at its start."""
    horizon = curve[-1][0]
    before: tuple[Fraction, Fraction] | None = None
    for step, value in curve:
        if value >= threshold:
            if before is None:
                return Reach(step, horizon)
            start, low = before
            return Reach(start + (step - start) * (threshold - low) / (value - low), horizon)
        before = (step, value)
    return Reach(None, horizon)

"""Dry runs: a rule is evaluated on small invented registers before anything is frozen. No file is read.

Each endpoint is measured on rows that have exactly the columns and values that the plan names: typical rows, rows
where everything is equal, one seed, a missing value, and no rows at all. What must be measured is measured; what must
be refused is refused with a RegisterError; anything else is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prereg_kit.decision.evaluator import Evaluator
from prereg_kit.decision.verdict import Reason
from prereg_kit.design import dry_rows
from prereg_kit.design.dry_rows import VARIANTS, Row, Variant
from prereg_kit.errors import PreregError, RegisterError
from prereg_kit.plan.criteria.criterion import BaseCriterion, OneEndpoint
from prereg_kit.plan.criteria.measured import Paired, Unknown
from prereg_kit.plan.criteria.rule import about_endpoints, endpoints_of
from prereg_kit.plan.endpoint import Gap, Ratio, Selected
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.plan import Plan
from prereg_kit.registers.file import Registers


@dataclass(frozen=True)
class Failure:
    """A dry run that did not end as it must: which endpoint, on which rows, and what happened."""

    endpoint: str
    variant: Variant
    message: str


def failures(effective: EffectivePlan, rule: BaseCriterion, seeds: int) -> Iterator[Failure]:
    """Measure every endpoint of a rule on invented rows.

    Args:
        effective: the plan.
        rule: one criterion of it.
        seeds: how many seed pairs to invent, at least 1.
    """
    for name in endpoints_of(rule):
        parts = [part for part in about_endpoints([rule]) if part.endpoint == name]
        levels = [level for part in parts if (level := part.interval_level()) is not None]
        for part in _parts(effective.plan, name):
            endpoint = effective.plan.endpoints[part]
            assert not isinstance(endpoint, Gap | Ratio)
            if endpoint.register_ == "reported":
                continue
            empty = [column for column, wanted in endpoint.where.items() if not wanted]
            if empty:
                said = f"`where` lists no value of {', '.join(empty)}, so that no row can be selected"
                yield Failure(part, "typical", said)
                continue
            for variant in VARIANTS:
                message = _try(effective, part, endpoint, variant, seeds, levels)
                if message is not None:
                    yield Failure(part, variant, message)
                    break
        for criterion in parts:
            message = _undecided(effective, criterion, seeds)
            if message is not None:
                yield Failure(name, "typical", message)
                break


def _undecided(effective: EffectivePlan, criterion: OneEndpoint, seeds: int) -> str | None:
    """Why the evaluator itself cannot decide a criterion on typical rows; None where it can.

    A gap or ratio is tried on the rows of both its endpoints. Where these cannot stand in one register, because one
    endpoint averages over what the other selects, the criterion is tried on its parts alone.
    """
    plan = effective.plan
    names = _parts(plan, criterion.endpoint)
    selections = [plan.endpoints[name] for name in names]
    if plan.kind == "retrospective" or any(isinstance(each, Gap | Ratio) for each in selections):
        return None  # published figures may supply what rows cannot
    tables: dict[str, list[Row]] = {}
    for each in selections:
        assert not isinstance(each, Gap | Ratio)
        if each.register_ == "reported":
            return None
        known = tables.setdefault(each.register_, [])
        known += [row for row in dry_rows.rows(plan, each, "typical", seeds) if row not in known]
    if any(len({tuple(row) for row in rows}) > 1 for rows in tables.values()):
        return None
    try:
        registers = Registers.from_frames({kind: _columns(rows) for kind, rows in tables.items()})
        clause = criterion.judged(Evaluator(effective, registers, None))
    except PreregError as error:
        return None if len(names) > 1 else str(error)
    unknown = clause.outcome in ("not_evaluable", "not_run", "void") and clause.reasons
    return f"no rows can decide it: {clause.reasons[0].message}" if unknown else None


def _parts(plan: Plan, name: str) -> tuple[str, ...]:
    combined = plan.endpoints[name].combines()
    return tuple(part for other in combined for part in _parts(plan, other)) if combined else (name,)


def _try(
    effective: EffectivePlan,
    name: str,
    endpoint: Selected,
    variant: Variant,
    seeds: int,
    levels: list[Fraction],
) -> str | None:
    rows = list(dry_rows.rows(effective.plan, endpoint, variant, seeds))
    try:
        evaluator = Evaluator(effective, Registers.from_frames({endpoint.register_: _columns(rows)}), None)
        measured = evaluator.measured(name)
        for level in levels:
            found = (
                evaluator.interval(measured, level, "percentile") if isinstance(measured, Paired) else None
            )
            if isinstance(found, Reason) and effective.plan.kind != "retrospective":
                return found.message  # a retrospective plan may take the interval from published figures
    except RegisterError as error:
        return None if variant in ("missing value", "no rows") else str(error)
    except PreregError as error:
        return str(error)
    if variant in ("missing value", "no rows"):
        return f"rows with {variant} were accepted"
    if isinstance(measured, Unknown) and not (variant == "tied" and measured.reasons[0].code == "undefined"):
        return measured.reasons[0].message
    return None


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {"arm": []}

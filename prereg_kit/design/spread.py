"""How much an endpoint varies between pairs, and who says so: a caller, a pilot, the plan, or nobody. Pure given rows.

The power of a rule rests on this number, so it is never invented: where nobody knows it, the figures are drawn over a
grid and labelled as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prereg_kit.decision.evaluator import Evaluator
from prereg_kit.errors import PreregError
from prereg_kit.plan.criteria.measured import Paired
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.plan import Plan
from prereg_kit.registers.file import Registers


@dataclass(frozen=True)
class Spread:
    """A standard deviation over pairs of a difference, above 0, and where it comes from."""

    sd: float
    source: str


@dataclass(frozen=True)
class Pilot:
    """What a pilot register says: the spread of each contrast, and why the others have none."""

    spreads: Mapping[str, Spread]
    notes: tuple[str, ...] = ()


def read_pilot(effective: EffectivePlan, registers: Registers, names: Sequence[str]) -> Pilot:
    """The sample standard deviation (n - 1) of each contrast's differences over the pilot's pairs.

    Args:
        effective: a plan without a run matrix: a pilot has runs of its own.
        registers: the pilot's rows.
        names: the endpoints that rules read.
    """
    evaluator = Evaluator(effective, registers, None)
    spreads: dict[str, Spread] = {}
    notes = []
    for name in names:
        try:
            measured = evaluator.measured(name)
        except PreregError as error:
            notes.append(f"the pilot says nothing about {name}: {error}")
            continue
        if not isinstance(measured, Paired):
            continue
        values = np.array([float(value) for value in measured.per_unit.values()])
        sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        if sd > 0 and math.isfinite(sd):
            spreads[name] = Spread(sd, f"the pilot's {len(values)} pairs")
        else:
            why = "one pair" if len(values) < 2 else "pairs that do not differ"
            notes.append(f"the pilot says nothing about how {name} varies: it has {why}")
    return Pilot(spreads, tuple(notes))


def spread_of(
    plan: Plan, endpoints: Sequence[str], given: float | None, pilot: Pilot | None
) -> Spread | None:
    """The spread that the figures of a rule are drawn with: the caller's, the pilot's, the plan's; None if unknown.

    Of several endpoints the widest counts: a rule is not shown better than its worst part.
    """
    if given is not None:
        return Spread(given, "as given")
    piloted = [pilot.spreads[name] for name in endpoints if pilot is not None and name in pilot.spreads]
    planned = [
        Spread(float(plan.variance[name].sd), f"the plan: {plan.variance[name].source}")
        for name in endpoints
        if name in plan.variance
    ]
    return max(piloted or planned, key=lambda spread: spread.sd, default=None)

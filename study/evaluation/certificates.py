"""Certificates over a pool: which (task, schedule) pairs an evaluation holds, and how many of them can be solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from study.backoffice.certificate import Certificate, certify
from study.backoffice.faults import compile_law
from study.backoffice.pools import load_pool
from study.backoffice.profiles import profile_named
from study.backoffice.regimes import regime_named
from study.backoffice.schedule import evaluation_seed
from study.evaluation.spec import EvaluationSpec


@dataclass(frozen=True, slots=True)
class Certified:
    """The certificate of one pair of an evaluation.

    Attributes:
        regime: the noise.
        schedule: absolute schedule index.
        certificate: what is certain.
    """

    regime: str
    schedule: int
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Share:
    """One regime's pairs, counted.

    Attributes:
        regime: the noise.
        pairs: (task, schedule) pairs.
        solvable: of them, within the budget.
        outage: of them, unsolvable as a planned write meets an outage.
        budget: of them, unsolvable as the least number of calls exceeds the budget.
        mean_calls: mean least number of calls of the solvable ones, None without any.
    """

    regime: str
    pairs: int
    solvable: int
    outage: int
    budget: int
    mean_calls: float | None


def certify_pool(spec: EvaluationSpec) -> list[Certified]:
    """Certify every (task, schedule) that an evaluation of this spec plays, in its order of (regime, task, schedule).

    Args:
        spec: its policy does not matter.

    Raises:
        ConfigError: the pool does not come out as recorded.
        SimulatorError: a witness does not replay: a bug.
    """
    tasks = load_pool(profile_named(spec.profile), spec.pool).tasks[: spec.tasks]
    found = []
    for regime in spec.regimes:
        law, schedules = compile_law(regime_named(regime)), spec.schedules_of(regime)
        for task in tasks:
            for index in range(spec.seed * schedules, (spec.seed + 1) * schedules):
                seed = evaluation_seed(spec.pool, task.task_id, index)
                found.append(Certified(regime, index, certify(task, law, seed)))
    return found


def shares(regimes: Sequence[str], certified: Sequence[Certified]) -> list[Share]:
    """Count certificates, one row per regime."""
    rows = []
    for regime in regimes:
        part = [one.certificate for one in certified if one.regime == regime]
        calls = [one.least_calls for one in part if one.solvable and one.least_calls is not None]
        rows.append(
            Share(
                regime,
                len(part),
                len(calls),
                sum(one.reason == "outage" for one in part),
                sum(one.reason == "budget" for one in part),
                sum(calls) / len(calls) if calls else None,
            )
        )
    return rows

"""A plan in force and registers of runs to verdicts. Pure given a `Source`: no clock, file or network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from prereg_kit import __version__
from prereg_kit.decision import guards
from prereg_kit.decision.evaluator import Evaluator
from prereg_kit.decision.ledger import counted_runs, ledger
from prereg_kit.decision.predictions import gate_verdict, prediction_verdict, summary
from prereg_kit.decision.request import AlongAxis
from prereg_kit.decision.stability import stability
from prereg_kit.decision.verdict import UNFROZEN, AmendmentRef, PlanRef, RegisterRef, Verdicts
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.registers.cells import Source
from prereg_kit.registers.formats import RunRow


@dataclass(frozen=True)
class Standing:
    """What is known about the plan beyond its bytes: where it lies, whether it is frozen, who vouches for when."""

    path: str | None = None
    frozen: bool = False
    time: str = "not stamped"
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A contrast's values along its axis: `arms[arm][seed]` has one exact mean per point, None where there is none."""

    axis: str
    points: tuple[str, ...]
    arms: dict[str, dict[str, tuple[Fraction, ...]]]


@dataclass(frozen=True)
class Decided:
    """The verdicts, and the curves of the endpoints that run along an axis."""

    verdicts: Verdicts
    curves: dict[str, Curve]

    def curves_json(self) -> dict[str, object]:
        """The `prereg.curves/1` object."""
        return {
            "format": "prereg.curves/1",
            "plan": self.verdicts.plan.digest,
            "endpoints": {
                name: {
                    "axis": curve.axis,
                    "points": list(curve.points),
                    "arms": {
                        arm: {
                            seed: [{"value": float(mean), "exact": str(mean)} for mean in means]
                            for seed, means in seeds.items()
                        }
                        for arm, seeds in curve.arms.items()
                    },
                }
                for name, curve in self.curves.items()
            },
        }


def decide(
    effective: EffectivePlan,
    registers: Source,
    *,
    runs: Sequence[RunRow] | None = None,
    files: Sequence[RegisterRef] = (),
    notes: Sequence[str] = (),
    standing: Standing = Standing(),
) -> Decided:
    """Evaluate every hypothesis, prediction and gate of the plan in force.

    Args:
        effective: the plan with its amendments.
        registers: the rows.
        runs: the index of runs of this plan, or None where only rows were given.
        files: what was read, for the record.
        notes: what the reader of the registers passed over.
        standing: where the plan comes from.

    Raises:
        RegisterError: a defect of the registers, the row or key named.
        DecisionError: an interval method that is refused, or a rule that no engine can evaluate.
    """
    plan = effective.plan
    evaluator = Evaluator(effective, registers, None if runs is None else counted_runs(runs, plan.runs))
    hypotheses = {}
    for hypothesis in plan.hypotheses:
        for name in evaluator.names_of(hypothesis):
            verdict = evaluator.verdict(name)
            if verdict.outcome in ("pass", "fail", "inconclusive"):
                verdict = verdict.model_copy(update={"stability": stability(evaluator, name)})
            hypotheses[name] = verdict
    predictions = {
        name: prediction_verdict(prediction, evaluator) for name, prediction in plan.predictions.items()
    }
    labels = list(standing.labels)
    if not standing.frozen:
        labels.insert(0, UNFROZEN)
    if plan.kind == "retrospective":
        labels.append("RETROSPECTIVE: decided on figures that others published")
    said = [*effective.notices, *notes, *evaluator.notes]
    verdicts = Verdicts(
        evaluator=f"prereg-kit {__version__}",
        plan=plan_ref(effective, standing),
        registers=tuple(files),
        labels=tuple(labels),
        hypotheses=hypotheses,
        predictions=predictions,
        prediction_summary=summary(predictions),
        gates={name: gate_verdict(gate, evaluator) for name, gate in plan.gates.items()},
        ledger=() if runs is None else ledger(plan.runs, runs),
        guards=guards.summary(evaluator.guards, indexed=runs is not None),
        notes=tuple(dict.fromkeys(said)),
    )
    return Decided(
        verdicts, {name: _curve(table) for name, table in evaluator.tables.items() if len(table.axis) > 1}
    )


def _curve(table: AlongAxis) -> Curve:
    arms = {
        arm: {
            seed: tuple(
                Fraction(int(table.numerators[i, j, k].sum()), table.numerators.shape[3] * table.denominator)
                for k in range(len(table.axis))
            )
            for j, seed in enumerate(table.seeds)
        }
        for i, arm in enumerate(table.arms)
    }
    return Curve(table.column, table.axis, arms)


def plan_ref(effective: EffectivePlan, standing: Standing) -> PlanRef:
    """The plan as a verdicts file names it."""
    plan = effective.plan
    return PlanRef(
        id=plan.id,
        title=plan.title,
        kind=plan.kind,
        digest=effective.digest,
        path=standing.path,
        frozen=standing.frozen,
        label="",
        time=standing.time,
        note=plan.note,
        amendments=tuple(
            AmendmentRef(
                id=applied.amendment.id,
                digest=applied.source.digest,
                path=applied.source.name,
                known=applied.amendment.known,
                reason=applied.amendment.reason,
                changes=applied.changes,
            )
            for applied in effective.amendments
        ),
        disclosures=tuple(
            {"id": item.id, "kind": item.kind, "text": item.text, "known": item.known}
            for item in plan.disclosures
        ),
    )

"""What was played, in a few figures; verdicts come from `prereg decide` alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from study.evaluation.spec import EvaluationSpec


def summary(spec: EvaluationSpec, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """A table of what was played: one row a checkpoint and regime, or one for the groups.

    Args:
        spec: what was played.
        rows: all its `EpisodeRow`s or `GroupRow`s.
    """
    if spec.group_size:
        correct = [row for row in rows if row.all_correct]
        return [
            {
                "regime": spec.regimes[0],
                "groups": len(rows),
                "all_correct": len(correct),
                "spurious": sum(row.spurious for row in correct),
                "zero_variance": sum(row.zero_variance for row in rows),
            }
        ]
    table = []
    for step, regime in product([step for step, _ in spec.checkpoints] or [0], spec.regimes):
        part = [row for row in rows if (row.step, row.regime) == (step, regime)]
        mean = {
            name: sum(getattr(row, name) for row in part) / len(part)
            for name in ("true_success", "observed_reward", "calls", "exposed", "over_budget")
        }
        place = {"step": step, "regime": regime} if spec.checkpoints else {"regime": regime}
        table.append(place | {"episodes": len(part)} | mean)
    return table

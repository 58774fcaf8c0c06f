"""A run's curves as a picture, drawn from its register."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from study.runs.log import merged
from study.runs.spare import temporary

Point = tuple[int, float]


def points(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Point]]:
    """Success by set: "validation clean" -> [(step, share)], steps ascending."""
    hits: dict[tuple[str, str, int], list[bool]] = {}
    for row in rows:
        hits.setdefault((row["split"], row["regime"], row["step"]), []).append(row["true_success"])
    curves: dict[str, list[Point]] = {}
    for (split, regime, step), found in sorted(hits.items()):
        curves.setdefault(f"{split} {regime}", []).append((step, sum(found) / len(found)))
    return curves


def draw(folder: Path) -> Path | None:
    """Write DIR/curves.png; None where matplotlib is not installed or nothing was recorded."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    curves = points(merged(folder, "episodes"))
    groups = merged(folder, "groups")
    if not curves:
        return None
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.6), constrained_layout=True)
    for name, curve in curves.items():
        shares = [share for _, share in curve]
        at = [step for step, _ in curve]
        left.plot(at, shares, marker="o", markersize=3, linestyle="-" if len(curve) > 2 else "", label=name)
    left.set(xlabel="optimiser step", ylabel="true success", ylim=(0, 1.02), title="evaluation")
    left.legend(fontsize=6, ncols=2)
    by_step: dict[int, list[Mapping[str, Any]]] = {}
    for row in groups:
        by_step.setdefault(row["step"], []).append(row)
    steps = sorted(by_step)
    if steps:
        right.plot(steps, [_mean(by_step[s], "observed_rewards") for s in steps], label="observed reward")
        right.plot(steps, [_mean(by_step[s], "true_outcomes") for s in steps], label="true success")
        right.plot(
            steps,
            [sum(row["zero_variance"] for row in by_step[s]) / len(by_step[s]) for s in steps],
            label="groups without variance",
        )
        right.legend(fontsize=6)
    right.set(xlabel="optimiser step", ylim=(0, 1.02), title="training batches")
    target = folder / "curves.png"
    with temporary(folder / f".curves.{secrets.token_hex(4)}.png") as part:
        figure.savefig(part, dpi=120)
        pyplot.close(figure)
        part.replace(target)
    return target


def _mean(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    values = [float(value) for row in rows for value in row[column]]
    return sum(values) / len(values)

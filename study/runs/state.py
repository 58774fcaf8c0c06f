"""The state of a run, from its record and logs alone: what `study status` shows. No checkpoint is opened."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from prereg_kit.errors import PreregError
from study.runs import log as registers
from study.runs import record as run_record
from study.runs.step_zero_record import began_from, weights_of

_STALE_S = 900.0
_NOTHING: dict[str, Any] = {
    "step": 0,
    "steps": 0,
    "attempts": 0,
    "evaluated_at": None,
    "evaluation": {},
    "zero_variance": None,
    "exploratory": None,
    "config_digest": None,
    "step_zero": None,
    "divergence": None,
}


def state_of(folder: Path) -> dict[str, Any]:
    """One run as a row; a record or a log that cannot be read is a row that says so."""
    try:
        return _state(folder)
    except (PreregError, KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        said = str(error) if isinstance(error, PreregError) else f"its logs are damaged ({error!r})"
        return {"run_id": folder.name, "folder": str(folder), "state": f"unreadable: {said}"} | _NOTHING


def _state(folder: Path) -> dict[str, Any]:
    record = run_record.read(folder)
    run = run_record.config_of(record, str(folder / "run.json"))
    groups = registers.merged(folder, "groups")
    episodes = registers.merged(folder, "episodes")
    if any(type(row["step"]) is not int for row in (*groups, *episodes)):
        raise TypeError("a step that is no whole number")
    last = max((row["step"] for row in episodes), default=None)
    hits: dict[str, list[bool]] = {}
    for row in episodes:
        if row["step"] == last and row["split"] == "validation":
            hits.setdefault(row["regime"], []).append(row["true_success"])
    recent = groups[-5 * run.tier.rollouts.prompts :]
    start = began_from(record["attempts"])
    state = record["attempts"][-1]["status"]
    logs = [path.stat().st_mtime for path in folder.glob("attempts/*/*.jsonl")]
    if state == "running" and logs and time.time() - max(logs) > _STALE_S:
        state = "silent"
    return {
        "run_id": record["run_id"],
        "folder": str(folder),
        "state": state,
        "divergence": record["attempts"][-1].get("divergence"),
        "step": groups[-1]["step"] + 1 if groups else 0,
        "steps": run.tier.optimisation.steps,
        "attempts": len(record["attempts"]),
        "evaluated_at": last,
        "evaluation": {name: sum(found) / len(found) for name, found in hits.items()},
        "zero_variance": sum(row["zero_variance"] for row in recent) / len(recent) if recent else None,
        "exploratory": record["exploratory"],
        "config_digest": record["config_digest"],
        "step_zero": None
        if start is None
        else {"digest": start["digest"], "weights": list(weights_of(start))},
    }


def different_starts(rows: list[dict[str, Any]]) -> list[str]:
    """Runs whose configs share a step-0 checkpoint and that began from different weights: no seed pairs."""
    by_start: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in rows:
        if row["step_zero"] is not None:
            weights = by_start.setdefault(row["step_zero"]["digest"], {})
            weights.setdefault(tuple(row["step_zero"]["weights"]), []).append(row["folder"])
    return [
        " and ".join(sorted(folders[0] for folders in weights.values()))
        + " did not begin from the same step-0 checkpoint, although their configs share it"
        for weights in by_start.values()
        if len(weights) > 1
    ]

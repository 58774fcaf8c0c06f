"""Rows of registers compared by content: which runs hold the same rows, and which schedules are shared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from prereg_kit.errors import PreregError
from prereg_kit.registers.file.content import columns_of
from prereg_kit.registers.formats import RunRow

_NAMES = frozenset({"run_id", "seed", "attempt", "arm", "condition", "schedule_seed", "schedule_seeds"})
_FEWEST_ROWS = 8


def content_digest(path: Path, run_id: str) -> tuple[str, int] | None:
    """SHA-256 over the rows of one run without the columns that name it, and their number; None if unreadable."""
    try:
        columns = columns_of(path, run_id)
    except PreregError:
        return None
    names = sorted(set(columns) - _NAMES)
    count = len(next(iter(columns.values()), []))
    rows = sorted(repr(tuple(columns[name][i] for name in names)) for i in range(count))
    return hashlib.sha256("\n".join([",".join(names), *rows]).encode()).hexdigest(), count


def same_content(runs: Sequence[tuple[RunRow, Path]]) -> Iterator[tuple[RunRow, RunRow, str]]:
    """Pairs of runs whose rows of one kind are the same although the runs are not.

    Registers of fewer than eight rows are passed over: there, equal rows are no surprise.
    """
    seen: dict[tuple[str, str], RunRow] = {}
    for run, index in runs:
        for sibling in run.registers:
            found = content_digest(index.parent / sibling.path, run.run_id)
            if found is None or found[1] < _FEWEST_ROWS:
                continue
            first = seen.setdefault((sibling.kind, found[0]), run)
            if first.run_id != run.run_id:
                yield first, run, sibling.kind


def shared_schedules(path: Path) -> dict[str, list[str]]:
    """Schedule seed -> tasks that share it, where a register of episodes uses one seed for several tasks."""
    try:
        columns = columns_of(path, None)
    except PreregError:
        return {}
    if not {"schedule_seed", "task"} <= set(columns):
        return {}
    tasks: dict[str, set[str]] = {}
    for seed, task in zip(columns["schedule_seed"], columns["task"], strict=True):
        if seed is not None:
            tasks.setdefault(str(seed), set()).add(str(task))
    return {seed: sorted(found) for seed, found in tasks.items() if len(found) > 1}

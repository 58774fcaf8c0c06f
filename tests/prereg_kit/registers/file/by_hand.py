"""A register of a few rows in every shape, and an index of its runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells import CellQuery, cell_table
from prereg_kit.registers.file import Registers, add_run, open_register, sibling_of, write_register
from prereg_kit.registers.formats import RunRow, Sibling

ARMS = ("paired", "independent")


PLAN, OTHER = "a" * 64, "b" * 64


def rows(arms=ARMS, seeds=(0, 1), tasks=3, schedules=2) -> dict[str, list]:
    cells = [(a, s, t, k) for a in arms for s in seeds for t in range(tasks) for k in range(schedules)]
    return {
        "run_id": [f"{a}-{s}" for a, s, _, _ in cells],
        "condition": ["C2"] * len(cells),
        "arm": [a for a, *_ in cells],
        "seed": [s for _, s, _, _ in cells],
        "step": [100] * len(cells),
        "split": ["test"] * len(cells),
        "regime": ["clean"] * len(cells),
        "task": [f"task-{t}" for *_, t, _ in cells],
        "schedule": [k for *_, k in cells],
        "true_success": [(a == "paired") or (s + t + k) % 2 == 0 for a, s, t, k in cells],
    }


def cells(found: Registers, **changes) -> list:
    asked = {"where": {"condition": "C2"}, "value": "true_success", "arm": "arm", "arms": ARMS, "pairs": "seed",
             "cluster": "task"}  # fmt: skip
    table = cell_table(found, "episodes", CellQuery(**{**asked, **changes}))
    return [table.successes.tolist(), table.episodes.tolist(), table.seeds, table.tasks]


WANTED = cells(Registers.from_frames({"episodes": rows()}))


def parquet(path: Path, columns: dict, **more) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **more)
    return path


def refused(*paths: Path, **changes) -> RegisterError:
    with pytest.raises(RegisterError) as caught:
        cells(open_register(paths), **changes)
    return caught.value


def run(run_id: str, arm: str, seed: int, *registers: Sibling, **changes) -> RunRow:
    return replace(RunRow(run_id, "study", PLAN, "C2", arm, seed, registers=registers), **changes)


def index(tmp_path: Path) -> Path:
    """An index with one sibling per run."""
    path = tmp_path / "registers" / "runs.parquet"
    path.parent.mkdir()
    for arm in ARMS:
        for seed in (0, 1):
            folder = path.parent / "study" / f"{arm}-{seed}"
            folder.mkdir(parents=True)
            info = write_register(folder / "episodes.parquet", "episodes", rows((arm,), (seed,)))
            add_run(path, run(f"{arm}-{seed}", arm, seed, sibling_of(path, "episodes", info.path)))
    return path

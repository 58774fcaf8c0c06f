"""Time and memory of aggregating a large episode register, defects included, beside a plain group-by.

    python benchmarks/registers.py [--rows 50000000] [--json]

The register: one run per (arm, seed), in the order in which runs write them: seeds x steps x tasks x schedules,
zstd Parquet with page checksums. Each measurement is a process of its own, so that its peak memory (ru_maxrss,
the interpreter and libraries included) is its own. The group-by counts rows and successes by (arm, seed, step, task)
with pyarrow and finds no defect at all: it is the floor, not a rival.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = (0, 20, 40, 60, 80, 100)
SEEDS, TASKS = 10, 1000


def make(path: Path, rows: int, *, shuffled: bool = False) -> int:
    """Write a register of about `rows` rows, shuffled within each run's step or not; the number really written."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    schedules = max(1, rows // (2 * SEEDS * len(STEPS) * TASKS))
    names = pa.array([f"task-{t:05d}" for t in range(TASKS)])
    rng = np.random.default_rng(1)
    size = TASKS * schedules
    writer = None
    for arm in ("paired", "independent"):
        for seed in range(SEEDS):
            for step in STEPS:

                def constant(text: str) -> pa.Array:
                    return pa.DictionaryArray.from_arrays(
                        pa.array(np.zeros(size, dtype=np.int32)), pa.array([text])
                    )

                tasks = pa.array(np.repeat(np.arange(TASKS, dtype=np.int32), schedules))
                columns = {
                    "run_id": constant(f"{arm}-{seed}"), "condition": constant("C2"), "arm": constant(arm),
                    "seed": np.full(size, seed), "step": np.full(size, step), "split": constant("test"),
                    "regime": constant("faults_p25"), "task": pa.DictionaryArray.from_arrays(tasks, names),
                    "schedule": np.tile(np.arange(seed * schedules, (seed + 1) * schedules), TASKS),
                    "true_success": rng.random(size) < 0.6,
                }  # fmt: skip
                table = pa.table(columns)
                if shuffled:
                    table = table.take(pa.array(rng.permutation(size)))
                if writer is None:
                    schema = table.schema.with_metadata({"format": "prereg.episodes/1"})
                    writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)
                writer.write_table(table.cast(schema))
    assert writer is not None
    writer.close()
    return 2 * SEEDS * len(STEPS) * size


def ours(path: Path) -> dict[str, object]:
    """Open the register and build the table of an AUC endpoint: all arms, seeds, steps and tasks."""
    from prereg_kit.registers.cells import CellQuery, cell_table
    from prereg_kit.registers.file import open_register

    began = time.perf_counter()
    found = open_register([path])
    opened = time.perf_counter()
    query = CellQuery(
        where={"condition": "C2", "split": "test", "regime": "faults_p25"}, value="true_success", arm="arm",
        arms=("paired", "independent"), pairs="seed", cluster="task", axis="step", axis_values=tuple(map(str, STEPS)),
    )  # fmt: skip
    table = cell_table(found, "episodes", query)
    return {
        "rows": table.rows_used, "successes": int(table.successes.sum()), "cells": table.episodes.size,
        "open_s": opened - began, "aggregate_s": time.perf_counter() - opened,
    }  # fmt: skip


def group_by(path: Path) -> dict[str, object]:
    """The floor: pyarrow's streaming group-by, no check of anything."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    from pyarrow import acero

    began = time.perf_counter()
    keys = ["arm", "seed", "step", "task"]
    fields = {name: pc.field(name) for name in keys}
    fields |= {
        name: fields[name].cast(pa.string()) for name in ("arm", "task")
    }  # dictionaries cannot be keys
    number = pc.field("true_success").cast(pa.int64())
    steps = [
        acero.Declaration("scan", acero.ScanNodeOptions(ds.dataset(path), columns=[*keys, "true_success"])),
        acero.Declaration("project", acero.ProjectNodeOptions([*fields.values(), number], [*keys, "x"])),
        acero.Declaration(
            "aggregate",
            acero.AggregateNodeOptions(
                [("x", "hash_sum", None, "sum"), ("x", "hash_count", None, "n")], keys=keys
            ),
        ),
    ]
    table = acero.Declaration.from_sequence(steps).to_table()
    return {"rows": pc.sum(table["n"]).as_py(), "successes": pc.sum(table["sum"]).as_py(), "cells": table.num_rows,
            "open_s": 0.0, "aggregate_s": time.perf_counter() - began}  # fmt: skip


def measured(what: str, path: Path) -> dict[str, object]:
    """Run one measurement in a process of its own."""
    answer = subprocess.run(
        [sys.executable, __file__, "--measure", what, str(path)], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    return dict(json.loads(answer.stdout))


def main() -> None:
    """Make the register, measure, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000, 50_000_000])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "PATH"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        what, path = asked.measure
        result = {"ours": ours, "group_by": group_by}[what](Path(path))
        result["cpu_s"] = time.process_time()
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result))
        return
    results = []
    for rows in asked.rows:
        for order in ("as written", "shuffled"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "episodes.parquet"
                make(path, rows, shuffled=order == "shuffled")
                for what in ("ours", "group_by"):
                    about = {"what": what, "order": order, "file_mb": path.stat().st_size / 2**20}
                    results.append({**about, **measured(what, path)})
            assert results[-1]["successes"] == results[-2]["successes"], "the two do not agree"
    if asked.json:
        print(json.dumps({"format": "prereg.benchmark/1", "registers": results}, indent=2))
        return
    print(
        f"{'what':<10}{'order':<12}{'rows':>12}{'cells':>10}{'file MB':>9}"
        f"{'open s':>8}{'sum s':>8}{'cpu s':>8}{'peak MB':>9}"
    )
    for each in results:
        print(f"{each['what']:<10}{each['order']:<12}{each['rows']:>12,}{each['cells']:>10,}{each['file_mb']:>9.0f}{each['open_s']:>8.2f}"
              f"{each['aggregate_s']:>8.2f}{each['cpu_s']:>8.2f}{each['peak_mb']:>9.0f}")  # fmt: skip


if __name__ == "__main__":
    main()

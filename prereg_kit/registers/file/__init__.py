"""Registers on disk: the one owner of pyarrow. Reads Parquet, partitioned folders, CSV and frames; writes Parquet.

open_register(paths, plan_digest=...)  ->  Registers, which `prereg_kit.registers.cells` aggregates
write_register(path, kind, columns)    ->  RegisterInfo(path, sha256, rows), never over an existing file
add_run(index, run)                    ->  one more row in the index of runs, in one step, under a lock
"""

from prereg_kit.registers.file.collection import Registers, TableInfo, open_register, plans_named
from prereg_kit.registers.file.index import add_run, read_runs, sibling_of, write_runs
from prereg_kit.registers.file.write import RegisterInfo, write_register

__all__ = [
    "RegisterInfo",
    "Registers",
    "TableInfo",
    "add_run",
    "open_register",
    "plans_named",
    "read_runs",
    "sibling_of",
    "write_register",
    "write_runs",
]

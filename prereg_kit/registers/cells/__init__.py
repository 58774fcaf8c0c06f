"""Register rows to exact numbers: integer cell tables, counts, groups and series. Pure: rows in, integers out.

Everything here reads a `Source`, of which `prereg_kit.registers.file.Registers` is the one that knows files.
Rows are streamed in blocks and only integers are accumulated, so that memory follows the number of cells and
not the number of rows (plus eight bytes a row for finding duplicates, and one for telling used rows).

| question | module |
|---|---|
| what is asked | `query` |
| which rows are meant | `selection`, `walk` |
| what a column is to an endpoint | `layout`, `constant_columns` |
| which row is which | `packed_keys`, `local_codes`, `repeats`, `run_owners` |
| sums | `cell_sums`, `exact_sums`, `count_rows`; then `completeness`, `sparse` |
| answers | `table`, `rates`, `exact_rows`, `outcome_grids`, `distinct_values`, `present` |
"""

from prereg_kit.registers.cells.distinct_values import GroupCount, distinct_per_group
from prereg_kit.registers.cells.exact_rows import ValueRow, value_rows
from prereg_kit.registers.cells.outcome_grids import OutcomeTable, outcome_tables
from prereg_kit.registers.cells.present import values_present
from prereg_kit.registers.cells.query import CellQuery, OutcomeQuery, Policy, RateQuery
from prereg_kit.registers.cells.rates import Count, count_rate
from prereg_kit.registers.cells.source import Source, Where
from prereg_kit.registers.cells.table import CellTable, cell_table

__all__ = [
    "CellQuery",
    "CellTable",
    "Count",
    "GroupCount",
    "OutcomeQuery",
    "OutcomeTable",
    "Policy",
    "RateQuery",
    "Source",
    "ValueRow",
    "Where",
    "cell_table",
    "count_rate",
    "distinct_per_group",
    "outcome_tables",
    "value_rows",
    "values_present",
]

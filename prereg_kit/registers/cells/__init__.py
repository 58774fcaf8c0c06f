"""Register rows to exact numbers: integer cell tables, counts, groups and series. Pure: rows in, integers out.

Everything here reads a `Source`, of which `prereg_kit.registers.file.Registers` is the one that knows files.
Rows are streamed in blocks and only integers are accumulated, so that memory follows the number of cells and
not the number of rows (plus eight bytes a row for finding duplicates, and one for telling used rows).
"""

from prereg_kit.registers.cells.groups import GroupCount, distinct_per_group
from prereg_kit.registers.cells.rates import Count, count_rate
from prereg_kit.registers.cells.series import OutcomeTable, ValueRow, outcome_tables, value_rows
from prereg_kit.registers.cells.source import Source, Where
from prereg_kit.registers.cells.table import CellTable, Policy, cell_table

__all__ = [
    "CellTable",
    "Count",
    "GroupCount",
    "OutcomeTable",
    "Policy",
    "Source",
    "ValueRow",
    "Where",
    "cell_table",
    "count_rate",
    "distinct_per_group",
    "outcome_tables",
    "value_rows",
]

"""Which values of a column occur among the rows that an endpoint names."""

from __future__ import annotations

import numpy as np

from prereg_kit.registers.cells.labels import canonical_order, text_of
from prereg_kit.registers.cells.source import Source, Where
from prereg_kit.registers.cells.walk import Walk


def values_present(registers: Source, kind: str, *, where: Where, column: str) -> tuple[str, ...] | None:
    """The values of a column over the selected rows, as texts in canonical order.

    None where the rows cannot say: the register, or one of its files, lacks the column, or no selected row has a
    value in it.

    Raises:
        RegisterError: as in `cell_table`, for the selection.
    """
    rows = registers.rows(kind)
    if column not in rows.columns or column in rows.lacking:
        return None
    walk = Walk(rows, where, coded=(column,))
    seen: set[int] = set()
    for part in walk:
        codes = part.codes(column)
        seen.update((codes,) if isinstance(codes, int) else np.unique(codes).tolist())
    labels = walk.scan.levels[column].labels
    found = {labels[code] for code in seen if code >= 0} - {None}
    return tuple(text_of(label) for label in canonical_order(found)) or None

"""Local codes of the rows of a part: where each row stands in a table of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from prereg_kit.registers.cells.packed_keys import Field
from prereg_kit.registers.cells.walk import Part, Walk


def located(part: Part, fields: tuple[Field, ...], walk: Walk) -> tuple[Part, list[Any]]:
    """Local codes of a part's rows for each field; rows of arms or steps that were not asked for leave the part."""

    def codes(part: Part) -> list[Any]:
        return [each.local(part.codes(each.column), walk.scan.levels[each.column]) if each.column else 0
                for each in fields]  # fmt: skip

    for each in fields:
        if each.fixed is None or not each.column:
            continue
        local = each.local(part.codes(each.column), walk.scan.levels[each.column])
        if isinstance(local, int):
            if local < 0:
                return part.narrowed(np.zeros(part.size, dtype=np.bool_)), []
        elif int(local.min(initial=0)) < 0:
            part = part.narrowed(local >= 0)
    return part, codes(part) if part.size else []

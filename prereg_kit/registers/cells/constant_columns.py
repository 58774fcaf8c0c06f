"""Columns that tell different measurements apart and may therefore take one value only in one average."""

from __future__ import annotations

import numpy as np

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.labels import listing, text_of
from prereg_kit.registers.cells.walk import Part, Walk


class ConstantColumns:
    """The columns that must not vary: which levels each took over the selected rows.

    Args:
        names: the columns; they must be coded in the scan.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._seen: dict[str, set[int]] = {name: set() for name in names}

    def look(self, part: Part) -> None:
        """Note the levels of a part's rows."""
        for name, seen in self._seen.items():
            codes = part.codes(name)
            if isinstance(codes, int):
                seen.add(codes)
            elif int(codes.min()) == int(codes.max()):
                seen.add(int(codes[0]))
            else:
                seen.update(np.unique(codes).tolist())

    def require(self, walk: Walk) -> None:
        """Refuse a column with several levels.

        Raises:
            RegisterError: `mixed`, with the column and its values.
        """
        for name, seen in self._seen.items():
            if len(seen) > 1:
                labels = [walk.scan.levels[name].labels[code] for code in seen]
                raise RegisterError(
                    f"the selected rows mix several values of {name}: {listing(labels)}",
                    where=Place(file=walk.rows.files[0], field=name),
                    expected=f"one {name}, since rows of different {name} are never averaged together",
                    found=[text_of(label) for label in labels][:5],
                    next_step=f"Name one in the endpoint's `where`; or list several there to average over them; or, if "
                    f"{name} does not identify a row, declare the register's `key` without it.",
                    code="mixed",
                )

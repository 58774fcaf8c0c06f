"""The run that each arm and seed came from: a second one is a defect, unless the rule names it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.labels import text_of
from prereg_kit.registers.cells.packed_keys import Field
from prereg_kit.registers.cells.source import Ints, Rows, Where
from prereg_kit.registers.cells.walk import Part, Walk

RUN = "run_id"


def names_runs(rows: Rows, where: Where, key: Sequence[str]) -> bool:
    """Whether rows say which run made them and the rule does not: then one run per arm and seed is required."""
    return RUN in rows.columns and RUN not in rows.lacking and RUN not in where and RUN not in key


class RunOwners:
    """One run for each (arm, seed).

    Args:
        active: whether runs are watched at all.
        arm: the arms' field.
        unit: the pairing column's field.
    """

    def __init__(self, active: bool, arm: Field, unit: Field) -> None:
        self.active = active
        self._fields = (arm, unit)
        self._runs: npt.NDArray[np.int64] = np.full((1, 1), -1, dtype=np.int64)
        self._second: tuple[int, int, int, int] | None = None

    def look(self, part: Part, arm: Ints | int, unit: Ints | int) -> None:
        """Note the runs of a part's rows, whose arms and units are given as local codes."""
        if not self.active or self._second is not None:
            return
        self._fit(*(each.size for each in self._fields))
        run = part.codes(RUN)
        if isinstance(arm, int) and isinstance(unit, int) and isinstance(run, int):
            self._note(np.array([arm * self._runs.shape[1] + unit]), np.array([run], dtype=np.int64))
            return
        cell = np.broadcast_to(arm * self._runs.shape[1] + unit, (part.size,))
        self._note(cell, np.broadcast_to(np.asarray(run, dtype=np.int64), (part.size,)))

    def _note(self, cell: Ints, run: Ints) -> None:
        flat = self._runs.reshape(-1)
        before = flat[cell]
        wrong = (before >= 0) & (before != run)
        if not wrong.any():
            flat[cell] = run
            before = flat[cell]  # two runs of one cell in one block: the later has overwritten the earlier
            wrong = before != run
        if wrong.any():
            i = int(np.argmax(wrong))
            arm, unit = divmod(int(cell[i]), self._runs.shape[1])
            self._second = (arm, unit, int(before[i]), int(run[i]))

    def _fit(self, arms: int, units: int) -> None:
        if arms > self._runs.shape[0] or units > self._runs.shape[1]:
            grown = np.full((arms, max(units, 2 * self._runs.shape[1])), -1, dtype=np.int64)
            grown[: self._runs.shape[0], : self._runs.shape[1]] = self._runs
            self._runs = grown

    def require(self, walk: Walk) -> None:
        """Refuse a second run of one arm and seed.

        Raises:
            RegisterError: `second-run`, with both runs.
        """
        if self._second is None:
            return
        arm, unit, *both = self._second
        labels = walk.scan.levels[RUN].labels
        named = {
            part.column: text_of(walk.labels(part)[i])
            for part, i in zip(self._fields, (arm, unit), strict=True)
            if part.column
        }
        first, second = sorted(text_of(labels[run]) for run in both)
        raise RegisterError(
            f"two runs for one cell: {first} and {second}",
            where=Place(
                file=walk.rows.files[0],
                field=RUN,
                key=", ".join(f"{name}={label}" for name, label in named.items()),
            ),
            expected="one run for each arm and seed",
            found=[first, second],
            next_step="Exclude one by a reason that the plan lists, or name the run_id in the endpoint's `where`.",
            code="second-run",
        )

    def names(self, walk: Walk) -> dict[tuple[str, str], str]:
        """(arm, seed) -> run, as texts; empty where runs are not watched."""
        if not self.active:
            return {}
        arms, units = (walk.labels(part) for part in self._fields)
        labels = walk.scan.levels[RUN].labels
        return {
            (text_of(arm), text_of(unit)): text_of(labels[self._runs[a, u]])
            for a, arm in enumerate(arms[: self._runs.shape[0]])
            for u, unit in enumerate(units[: self._runs.shape[1]])
            if self._runs[a, u] >= 0
        }

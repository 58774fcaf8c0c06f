"""Rows with the same key: counted, told apart as repeats and conflicts, and dropped only where the plan says so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.keys import Field, Keys, Packer
from prereg_kit.registers.cells.labels import key_text
from prereg_kit.registers.cells.locate import located
from prereg_kit.registers.cells.source import Label, Usage
from prereg_kit.registers.cells.sums import Sums
from prereg_kit.registers.cells.walk import Walk
from prereg_kit.registers.formats import REPEATS


@dataclass(frozen=True)
class Repeats:
    """Exact repeats to be taken out again: how often each cell's value was counted too often."""

    keys: Keys
    extra: npt.NDArray[np.int64]
    values: dict[str, list[Fraction]]
    dropped: int
    note: str

    def apply(self, target: Sums, below: tuple[Field, ...], column: str | None) -> None:
        """Subtract the repeats from sums over cells; `below` are the key's fields that do not number a cell."""
        numbers = self.values[column] if column else [Fraction(1)] * len(self.keys)
        flat = target.totals.reshape(-1)
        cells = self.keys >> sum(part.bits for part in below)
        for cell, extra, number in zip(cells.tolist(), self.extra.tolist(), numbers, strict=True):
            flat[cell] -= int(number * target.denominator) * extra


def settle(
    walk: Walk,
    packer: Packer,
    repeated: Keys,
    values: tuple[str, ...],
    policy: Literal["refuse", "drop_exact"],
) -> Repeats:
    """Read the register once more for the rows whose key occurs more than once.

    Raises:
        RegisterError: `repeated-rows`, or `conflicting-rows` where rows of one key differ in a value.
    """
    names: list[tuple[str, int]] = []
    usages: list[Usage | None] = []
    keys: list[Keys] = []
    numbers: list[dict[str, npt.NDArray[Any]]] = []
    for part in walk:
        part, locals_ = located(part, packer.fields, walk)  # noqa: PLW2901 - as in the first pass
        if not part.size:
            continue
        packed = packer.repack(locals_, part.size)
        hits = np.flatnonzero(np.isin(packed, repeated))
        if not len(hits):
            continue
        keys.append(packed[hits])
        numbers.append({
            name: np.array([Fraction(int(n), part.block.values[name].denominator)
                            for n in part.numerators(name)[hits].tolist()], dtype=object)
            for name in values
        })  # fmt: skip
        for i in hits.tolist():
            names.append((part.block.file, part.block.first_row + part.position(i) + 1))
            usages.append(part.block.usage)
    found = np.concatenate(keys)
    columns = {name: np.concatenate([each[name] for each in numbers]) for name in values}
    order = np.argsort(found, kind="stable")
    starts = np.flatnonzero(np.diff(found[order], prepend=-1))
    groups = np.split(order, starts[1:])
    extra = len(found) - len(groups)
    conflicts = [g for g in groups if any(len({columns[name][i] for i in g}) > 1 for name in values)]
    first = min(conflicts or groups, key=lambda group: int(group[0]))
    shown = _key(packer, walk, int(found[first[0]]))
    lines = [f"{names[i][0]} row {names[i][1]}" for i in first[:3]]
    if conflicts:
        said = " and ".join(str(columns[name][i]) for name in values[:1] for i in first[:3])
        raise RegisterError(
            f"rows of one key differ: {len(conflicts)} conflicting key{'s' if len(conflicts) > 1 else ''}"
            f" ({extra} repeated rows in all); the first says {values[0]} = {said}",
            where=Place(file=names[first[0]][0], field=values[0], key=key_text(shown)),
            expected="one row for each key",
            found=lines,
            next_step="Find out which row is right; no policy drops a conflict.",
            code="conflicting-rows",
        )
    if policy == "refuse":
        numbered = any(part.column in REPEATS for part in packer.fields)
        raise RegisterError(
            f"{extra} duplicate row{'s' if extra > 1 else ''}: the same key and the same values again",
            where=Place(file=names[first[0]][0], key=key_text(shown)),
            expected="one row for each key",
            found=lines,
            next_step="Remove the repeats, or let the plan declare `repeats: drop_exact` for this register."
            if numbered
            else "Remove the repeats; or, if they are episodes of their own, number them in a column `schedule`.",
            code="repeated-rows",
        )
    firsts = [int(group[0]) for group in groups]
    for i in (int(each) for group in groups for each in group[1:]):
        if (usage := usages[i]) is not None:
            usage.release(names[i][1] - 1)
    return Repeats(
        keys=found[firsts],
        extra=np.array([len(group) - 1 for group in groups], dtype=np.int64),
        values={name: [columns[name][i] for i in firsts] for name in values},
        dropped=extra,
        note=f"{extra} exact repeats were dropped as the plan declares; the first: {key_text(shown)}",
    )


def _key(packer: Packer, walk: Walk, key: int) -> dict[str, Label]:
    locals_ = packer.unpack(key)
    return {
        part.column: part.labels(walk.scan.levels[part.column])[local]
        for part, local in zip(packer.fields, locals_, strict=True)
        if part.column
    }

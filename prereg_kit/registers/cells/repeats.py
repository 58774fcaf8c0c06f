"""Rows with the same key: counted, told apart as repeats and conflicts, and dropped only where the plan says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.exact_sums import Sums
from prereg_kit.registers.cells.labels import key_text
from prereg_kit.registers.cells.local_codes import located
from prereg_kit.registers.cells.packed_keys import Field, Keys, Packer
from prereg_kit.registers.cells.query import RepeatsPolicy
from prereg_kit.registers.cells.source import Usage
from prereg_kit.registers.cells.walk import Part, Walk
from prereg_kit.registers.formats import REPEATS

_SHOWN = 3


@dataclass(frozen=True)
class Repeats:
    """Exact repeats to be taken out again: how often each cell's value was counted too often.

    Attributes:
        keys: the packed keys that occur more than once.
        extra: by key, how many rows there are beyond the first.
        values: by value column, the value of each key.
        dropped: the sum of `extra`.
        note: what the decision record says.
    """

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


def find_repeats(walk: Walk, packer: Packer, repeated: Keys, policy: RepeatsPolicy) -> Repeats:
    """Read the register once more for the rows whose key occurs more than once.

    Args:
        walk: a fresh pass over the same rows and value columns.
        packer: the keys of the first pass.
        repeated: those that occur more than once.
        policy: what the plan says about exact repeats.

    Raises:
        RegisterError: `repeated-rows`, or `conflicting-rows` where rows of one key differ in a value.
    """
    found = _again(walk, packer, repeated)
    groups = found.groups()
    conflicts = [group for group in groups if found.differ(group)]
    if conflicts:
        raise _conflicting(found, conflicts, len(found) - len(groups))
    if policy == "refuse":
        raise _repeated(found, groups, packer)
    firsts = [int(group[0]) for group in groups]
    for group in groups:
        found.release(group[1:])
    dropped = len(found) - len(groups)
    first = min(groups, key=lambda group: int(group[0]))
    return Repeats(
        keys=found.keys[firsts],
        extra=np.array([len(group) - 1 for group in groups], dtype=np.int64),
        values={name: [column[i] for i in firsts] for name, column in found.values.items()},
        dropped=dropped,
        note=f"{dropped} exact repeats were dropped as the plan declares; the first: {found.shown(first)}",
    )


@dataclass
class _Rows:
    """The rows whose key occurs more than once, in the register's order."""

    walk: Walk
    packer: Packer
    places: list[tuple[str, int]] = field(default_factory=list)
    usages: list[Usage | None] = field(default_factory=list)
    keys: Keys = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    values: dict[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.places)

    def groups(self) -> list[npt.NDArray[np.intp]]:
        """The rows of each key: groups in the order of the keys, rows in the register's order."""
        order = np.argsort(self.keys, kind="stable")
        starts = np.flatnonzero(np.diff(self.keys[order], prepend=-1))
        return np.split(order, starts[1:])

    def differ(self, group: Sequence[int] | npt.NDArray[np.intp]) -> bool:
        """Whether rows of one key have different values."""
        return any(len({column[i] for i in group}) > 1 for column in self.values.values())

    def release(self, rows: npt.NDArray[np.intp]) -> None:
        """Take rows back from those that count as used."""
        for i in rows.tolist():
            usage = self.usages[i]
            if usage is not None:
                usage.release(self.places[i][1] - 1)

    def shown(self, group: npt.NDArray[np.intp]) -> str:
        """The key of a group, for a message."""
        codes = self.packer.unpack(int(self.keys[group[0]]))
        return key_text({
            part.column: self.walk.labels(part)[code]
            for part, code in zip(self.packer.fields, codes, strict=True)
            if part.column
        })  # fmt: skip

    def lines(self, group: npt.NDArray[np.intp]) -> list[str]:
        """Where the first rows of a group stand."""
        return [f"{file} row {row}" for file, row in (self.places[i] for i in group[:_SHOWN].tolist())]


def _again(walk: Walk, packer: Packer, repeated: Keys) -> _Rows:
    found = _Rows(walk, packer)
    keys: list[Keys] = []
    values: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in walk.values}
    for each in walk:
        part, codes = located(each, packer.fields, walk)
        if not part.size:
            continue
        packed = packer.repack(codes, part.size)
        hits = np.flatnonzero(np.isin(packed, repeated))
        if not len(hits):
            continue
        keys.append(packed[hits])
        for name, numbers in values.items():
            numbers.append(_exact(part, name, hits))
        found.places += [
            (part.block.file, part.block.first_row + part.position(i) + 1) for i in hits.tolist()
        ]
        found.usages += [part.block.usage] * len(hits)
    found.keys = np.concatenate(keys)
    found.values = {name: np.concatenate(numbers) for name, numbers in values.items()}
    return found


def _exact(part: Part, name: str, rows: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    denominator = part.block.values[name].denominator
    return np.array(
        [Fraction(int(n), denominator) for n in part.numerators(name)[rows].tolist()], dtype=object
    )


def _conflicting(found: _Rows, conflicts: list[npt.NDArray[np.intp]], extra: int) -> RegisterError:
    first = min(conflicts, key=lambda group: int(group[0]))
    name, column = next(iter(found.values.items()))
    said = " and ".join(str(column[i]) for i in first[:_SHOWN])
    return RegisterError(
        f"rows of one key differ: {len(conflicts)} conflicting key{'s' if len(conflicts) > 1 else ''}"
        f" ({extra} repeated rows in all); the first says {name} = {said}",
        where=Place(file=found.places[first[0]][0], field=name, key=found.shown(first)),
        expected="one row for each key",
        found=found.lines(first),
        next_step="Find out which row is right; no policy drops a conflict.",
        code="conflicting-rows",
    )


def _repeated(found: _Rows, groups: list[npt.NDArray[np.intp]], packer: Packer) -> RegisterError:
    first = min(groups, key=lambda group: int(group[0]))
    extra = len(found) - len(groups)
    numbered = any(part.column in REPEATS for part in packer.fields)
    return RegisterError(
        f"{extra} duplicate row{'s' if extra > 1 else ''}: the same key and the same values again",
        where=Place(file=found.places[first[0]][0], key=found.shown(first)),
        expected="one row for each key",
        found=found.lines(first),
        next_step="Remove the repeats, or let the plan declare `repeats: drop_exact` for this register."
        if numbered
        else "Remove the repeats; or, if they are episodes of their own, number them in a column `schedule`.",
        code="repeated-rows",
    )

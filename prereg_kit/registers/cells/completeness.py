"""Whether every cell is there: seeds in both arms, every step, every task, equal numbers of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.errors import Where as Place
from prereg_kit.registers.cells.labels import key_text, listing, text_of
from prereg_kit.registers.cells.source import Label

_TASK = 3


class Grid:
    """Counts and sums of shape [arm, unit, axis, task, *averaged], checked and then summed over what is averaged.

    Args:
        counts: numbers of episodes.
        sums: sums of values.
        names: the columns of the first four axes; "" where there is none.
        labels: their labels.
        averaged: columns and labels of the other axes.
        place: the register, for messages.
    """

    def __init__(
        self,
        counts: npt.NDArray[np.int64],
        sums: npt.NDArray[Any],
        names: Sequence[str],
        labels: Sequence[Sequence[Label]],
        *,
        averaged: Mapping[str, Sequence[Label]],
        place: Place,
    ) -> None:
        self.counts = counts
        self.sums = sums
        self.names = tuple(names)
        self.labels = [list(each) for each in labels]
        self._averaged = dict(averaged)
        self._place = place

    def pair_up(self, policy: Literal["refuse", "exclude", "allow"]) -> list[str]:
        """Require every unit in every arm; pairing is by label, never by rank.

        Raises:
            RegisterError: `orphan-seeds`, with the units that each arm lacks.
        """
        there = self._there(2)
        orphans = np.flatnonzero(~there.all(axis=0))
        if not len(orphans) or policy == "allow":
            return []
        column = self.names[1]
        only = [
            f"{column} {listing([self.labels[1][u] for u in orphans if there[a, u]])}"
            f" only in {self.names[0]} {text_of(arm)}"
            for a, arm in enumerate(self.labels[0])
            if any(there[a, u] for u in orphans)
        ]
        if policy == "refuse":
            raise RegisterError(
                f"arms do not cover the same {column}s: {'; '.join(only)}",
                where=Place(file=self._place.file, field=column),
                expected=f"every {column} in every arm; runs are paired by {column}, never by rank",
                next_step="Add the missing runs, or exclude the unpaired ones by a reason that the plan lists.",
                code="orphan-seeds",
            )
        if len(orphans) == len(self.labels[1]):
            raise RegisterError(
                f"no {column} is in every arm: {'; '.join(only)}", where=self._place, code="orphan-seeds"
            )
        self._drop(1, orphans)
        return [f"unpaired runs were left out: {'; '.join(only)}"]

    def require_steps(self, policy: Literal["refuse", "exclude_tasks", "allow"]) -> list[str]:
        """Require every point of the axis in every run.

        Raises:
            RegisterError: `missing-step`, with the run and the points that it lacks and has.
        """
        if not self.names[2] or policy == "allow":
            return []
        there = self._there(3)
        gaps = np.argwhere(~there & there.any(axis=2, keepdims=True))
        if not len(gaps):
            return []
        a, u, _ = gaps[0].tolist()
        lacks = [label for x, label in enumerate(self.labels[2]) if not there[a, u, x]]
        has = [label for x, label in enumerate(self.labels[2]) if there[a, u, x]]
        raise RegisterError(
            f"{self.names[2]} {listing(lacks)} is missing",
            where=Place(file=self._place.file, field=self.names[2], key=self._key((a, u))),
            expected=f"every {self.names[2]} that the rule names: {listing(self.labels[2])}",
            found=[text_of(label) for label in has],
            next_step="Add the rows; weights are never renormalised over the points that happen to be there.",
            code="missing-step",
        )

    def fill(self, policy: Literal["refuse", "exclude_tasks", "allow"]) -> list[str]:
        """Require every task in every cell, then sum over the averaged columns.

        Raises:
            RegisterError: `missing-cells`, with the number of missing cells and the first.
        """
        notes: list[str] = []
        expected = self._there(2)
        gaps = (self.counts == 0) & expected.reshape(*expected.shape, *(1,) * (self.counts.ndim - 2))
        if gaps.any() and policy != "allow":
            if policy == "exclude_tasks" and self.names[_TASK]:
                lost = np.flatnonzero(gaps.any(axis=tuple(i for i in range(gaps.ndim) if i != _TASK)))
                named = listing([self.labels[_TASK][t] for t in lost])
                if len(lost) == len(self.labels[_TASK]):
                    raise self._missing(gaps)
                self._drop(_TASK, lost)
                notes.append(f"{len(lost)} {self.names[_TASK]}s that some cell lacks were left out: {named}")
            else:
                raise self._missing(gaps)
        if self._averaged:
            self._require_balance()
        axes = tuple(range(4, self.counts.ndim))
        self.counts, self.sums = self.counts.sum(axis=axes), self.sums.sum(axis=axes)
        self._averaged = {}
        return notes

    def equalise(self, policy: Literal["refuse", "cell_means"]) -> list[str]:
        """Require the same number of episodes in every cell of a point of the axis.

        Raises:
            RegisterError: `unequal-cells`, with a short cell and the usual number.
        """
        notes = []
        for x, label in enumerate(self.labels[2]):
            counts = self.counts[:, :, x]
            real = counts[counts > 0]
            if not len(real) or int(real.min()) == int(real.max()):
                continue
            if policy == "refuse":
                sizes, often = np.unique(real, return_counts=True)
                usual = int(sizes[np.argmax(often)])
                a, u, t = np.argwhere((counts > 0) & (counts != usual))[0].tolist()
                raise RegisterError(
                    f"cells with different numbers of episodes: {counts[a, u, t]} here, {usual} in most cells",
                    where=Place(file=self._place.file, key=self._key((a, u, x, t))),
                    expected="the same number in every cell, since pooling rows would weigh tasks by accident",
                    found=dict(zip(sizes.tolist(), often.tolist(), strict=True)),
                    next_step="Complete the cells, or let the endpoint declare `unequal: cell_means`.",
                    code="unequal-cells",
                )
            at = f" at {self.names[2]} {text_of(label)}" if self.names[2] else ""
            notes.append(
                f"cells have {real.min()} to {real.max()} episodes{at};"
                " each cell's mean counts once, as the plan declares"
            )
        return notes

    def _there(self, axes: int) -> npt.NDArray[np.bool_]:
        """Whether any episode is there, by the first `axes` axes."""
        flat = self.counts.reshape(*self.counts.shape[:axes], -1)
        found: npt.NDArray[np.bool_] = np.any(flat > 0, axis=-1)
        return found

    def _require_balance(self) -> None:
        first = self.counts.reshape(*self.counts.shape[:4], -1)
        uneven = np.argwhere(first != first[..., :1])
        if len(uneven):
            a, u, x, t, _ = uneven[0].tolist()
            raise RegisterError(
                f"a cell has different numbers of episodes over {', '.join(self._averaged)}",
                where=Place(file=self._place.file, key=self._key((a, u, x, t))),
                expected="the same number of each, since the endpoint averages over them",
                found=first[a, u, x, t].tolist(),
                code="unequal-cells",
            )

    def _missing(self, gaps: npt.NDArray[np.bool_]) -> RegisterError:
        first = [int(i) for i in np.unravel_index(int(np.argmax(gaps)), gaps.shape)]
        named = {name: self.labels[i][first[i]] for i, name in enumerate(self.names) if name}
        for (column, labels), i in zip(self._averaged.items(), first[4:], strict=True):
            named[column] = labels[i]
        return missing_cells(int(np.count_nonzero(gaps)), named, self.names[_TASK], self._place)

    def _key(self, at: Sequence[int]) -> str:
        return key_text({name: self.labels[i][at[i]] for i, name in enumerate(self.names[: len(at)]) if name})

    def _drop(self, axis: int, places: npt.NDArray[np.intp]) -> None:
        self.counts = np.delete(self.counts, places, axis=axis)
        self.sums = np.delete(self.sums, places, axis=axis)
        dropped = set(places.tolist())
        self.labels[axis] = [label for i, label in enumerate(self.labels[axis]) if i not in dropped]


def missing_cells(count: int, first: Mapping[str, Label], cluster: str, place: Place) -> RegisterError:
    """The error for cells without a row: how many, and the key of the first."""
    return RegisterError(
        f"{count} missing cell{'s' if count > 1 else ''}; the first has no row",
        where=Place(file=place.file, key=key_text(first)),
        expected=f"every {cluster or 'cell'} in every cell; tasks are matched by name, never by position",
        next_step="Add the rows, or let the plan say how missing cells are treated.",
        code="missing-cells",
    )

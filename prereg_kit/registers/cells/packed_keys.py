"""Keys of rows as packed whole numbers: exact, eight bytes a row, and found repeated by sorting.

Each key column is a field of the packed number. A field's width grows by bits as new levels appear; what was
packed before is then packed again, which happens a handful of times because levels appear early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells.source import Ints, Label, Levels

_CHUNK = 1 << 20
_MOST_BITS = 62
_FEW_DESCENTS = 1000
Keys = npt.NDArray[np.int64]


@dataclass
class Field:
    """One column of a key: scan codes to local codes, in order of appearance or in a fixed order.

    With `fixed` labels (arms, steps that a rule names) other levels have local code -1 and leave the selection.
    """

    column: str
    fixed: tuple[Label, ...] | None = None
    match: Callable[[Label, Label], bool] | None = None
    bits: int = 0
    codes: list[int] = field(default_factory=list)
    _local: Keys = field(default_factory=lambda: np.full(1, -1, dtype=np.int64))

    @property
    def size(self) -> int:
        """Number of local codes."""
        return len(self.fixed) if self.fixed is not None else len(self.codes)

    def local(self, codes: Ints | int, levels: Levels) -> Keys | int:
        """Local codes of the given scan codes; new levels are numbered as they come."""
        self._fit(levels)
        if isinstance(codes, int):
            if self._local[codes] < 0 and self.fixed is None:
                self._number(np.array([codes]))
            return int(self._local[codes])
        found: Keys = self._local[codes]
        if self.fixed is None and len(found) and int(found.min()) < 0:
            self._number(np.unique(codes[found < 0]))
            found = self._local[codes]
        return found

    def labels(self, levels: Levels) -> list[Label]:
        """The labels by local code."""
        return list(self.fixed) if self.fixed is not None else [levels.labels[code] for code in self.codes]

    def _number(self, codes: Ints) -> None:
        for code in codes.tolist():
            self._local[code] = len(self.codes)
            self.codes.append(code)

    def _fit(self, levels: Levels) -> None:
        known = len(self._local) - 1  # the last entry answers code -1
        if known == len(levels.labels):
            return
        grown = np.full(len(levels.labels) + 1, -1, dtype=np.int64)
        grown[:known] = self._local[:known]
        if self.fixed is not None and self.match is not None:
            for code in range(known, len(levels.labels)):
                for place, wanted in enumerate(self.fixed):
                    if self.match(levels.labels[code], wanted):
                        grown[code] = place
        self._local = grown


class Packer:
    """Rows' keys in one buffer of int64.

    Args:
        fields: the key's columns, most significant first.
        capacity: the expected number of keys; more are taken too.
    """

    def __init__(self, fields: Sequence[Field], capacity: int) -> None:
        self.fields = tuple(fields)
        self._keys: Keys = np.empty(capacity, dtype=np.int64)
        self.count = 0

    def pack(self, locals_: Sequence[Keys | int], size: int) -> Keys:
        """Pack one block's local codes (one entry per field), keep the keys and return them."""
        self._grow()
        packed = self.repack(locals_, size)
        if self.count + size > len(self._keys):
            grown: Keys = np.empty(max(2 * len(self._keys), self.count + size), dtype=np.int64)
            grown[: self.count] = self._keys[: self.count]
            self._keys = grown
        self._keys[self.count : self.count + size] = packed
        self.count += size
        return packed

    def repack(self, locals_: Sequence[Keys | int], size: int) -> Keys:
        """Pack local codes that were all met before, without keeping the keys."""
        shift = 0
        packed: Keys | None = None
        base = 0
        for part, local in zip(reversed(self.fields), reversed(locals_), strict=True):
            if isinstance(local, int):
                base |= local << shift
            else:
                shifted = local << shift if shift else local
                packed = shifted if packed is None else packed | shifted
            shift += part.bits
        if packed is None:
            packed = np.full(size, base, dtype=np.int64)
        elif base:
            packed = packed | base
        return packed

    def _grow(self) -> None:
        wanted = [max(part.size - 1, 0).bit_length() for part in self.fields]
        old = [part.bits for part in self.fields]
        if wanted == old:
            return
        if sum(wanted) > _MOST_BITS:
            raise RegisterError(
                "more distinct keys than can be numbered",
                expected=f"at most {_MOST_BITS} bits over the key's columns",
                found={part.column: part.size for part in self.fields},
                next_step="Declare a shorter key for this register in the plan.",
                code="key-too-wide",
            )
        for part, bits in zip(self.fields, wanted, strict=True):
            part.bits = bits
        top_only = old[1:] == wanted[1:]
        for start in range(0, 0 if top_only else self.count, _CHUNK):
            view = self._keys[start : min(start + _CHUNK, self.count)]
            view[:] = self._repacked(view, old)

    def _repacked(self, keys: Keys, old: Sequence[int]) -> Keys:
        result = np.zeros_like(keys)
        from_, to = 0, 0
        for part, bits in zip(reversed(self.fields), reversed(old), strict=True):
            result |= ((keys >> from_) & ((1 << bits) - 1)) << to
            from_, to = from_ + bits, to + part.bits
        return result

    def unpack(self, key: int) -> tuple[int, ...]:
        """The local codes of a packed key."""
        found = []
        for part in reversed(self.fields):
            found.append(key & ((1 << part.bits) - 1))
            key >>= part.bits
        return tuple(reversed(found))

    def kept(self) -> Keys:
        """The keys packed so far, in the order of the rows (until `repeated` sorts them)."""
        return self._keys[: self.count]

    def repeated(self) -> Keys:
        """The keys that occur more than once, ascending and each once. Sorts the buffer in place."""
        keys = self.kept()
        descents = 0
        for start in range(0, max(self.count - 1, 0), _CHUNK):
            window = keys[start : start + _CHUNK + 1]
            descents += int(np.count_nonzero(window[1:] < window[:-1]))
        if descents:
            # Rows mostly come run by run: few descents, which a merging sort uses and quicksort does not.
            keys.sort(kind="stable" if descents < _FEW_DESCENTS else None)
        found = []
        for start in range(0, max(self.count - 1, 0), _CHUNK):
            window = keys[start : start + _CHUNK + 1]
            found.append(window[1:][window[1:] == window[:-1]])
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

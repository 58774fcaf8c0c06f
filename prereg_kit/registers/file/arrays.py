"""Arrow columns to codes and exact numbers. Nothing is cast by its look; what is no number is reported as such."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from prereg_kit.errors import RegisterError, Where
from prereg_kit.plan.fields import exact
from prereg_kit.registers.cells.selection import TRUTH
from prereg_kit.registers.cells.source import (
    BAD,
    MISSING,
    MOST_COMMON,
    OK,
    WIDE,
    Ints,
    Label,
    Levels,
    Lists,
    ValueKind,
    Values,
)
from prereg_kit.registers.file import floats
from prereg_kit.registers.file.buffers import nulls, numbers
from prereg_kit.registers.formats import ColumnType

_NO_VALUE = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})
_TRUTH_WORDS = ("True", "False", "true", "false")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?[0-9]+/0*[1-9][0-9]*")
_DENSE_RANGE = 1 << 22


def type_of(arrow: pa.DataType) -> ColumnType | None:
    """What a plan calls an Arrow type; None for what no register column can be (times, structs, blobs)."""
    if pa.types.is_dictionary(arrow):
        return type_of(arrow.value_type)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return "text"
    if pa.types.is_boolean(arrow):
        return "boolean"
    if pa.types.is_integer(arrow):
        return "integer"
    if pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return "number"
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        inner = type_of(arrow.value_type)
        plural: dict[ColumnType | None, ColumnType] = {
            "text": "texts", "integer": "integers", "boolean": "booleans", "number": "numbers",
        }  # fmt: skip
        return "files" if pa.types.is_struct(arrow.value_type) else plural.get(inner)
    return None


class Coder:
    """Scan codes of one column over many batches: levels in order of appearance, dictionaries read once.

    Args:
        levels: the column's labels; shared by all parts of a scan.
        file: the file's name, for messages.
        name: the column.
    """

    def __init__(self, levels: Levels, file: str, name: str) -> None:
        self.levels = levels
        self._file = file
        self._name = name
        self._dictionary: pa.Array | None = None
        self._table: Ints = np.empty(0, dtype=np.int32)

    def codes(self, column: pa.Array) -> Ints | int:
        """The codes of a batch; an int where all rows agree; -1 for a missing value.

        Raises:
            RegisterError: `column-type`, for a type that can neither identify rows nor be compared.
        """
        if pa.types.is_null(column.type):
            return -1
        if pa.types.is_dictionary(column.type):
            return self._recoded(column)
        if pa.types.is_integer(column.type):
            fast = _integer_codes(column, self.levels)
            if fast is not None:
                return fast
        if type_of(column.type) is None or pa.types.is_nested(column.type):
            raise RegisterError(
                "a column of this type can neither identify rows nor be compared",
                where=Where(file=self._file, field=self._name),
                expected="text, whole numbers, truth values or decimals",
                found=str(column.type),
                code="column-type",
            )
        return self._recoded(column.dictionary_encode())

    def _recoded(self, column: pa.DictionaryArray) -> Ints | int:
        values = column.dictionary
        if self._dictionary is None or not values.equals(self._dictionary):
            labels = [_label(value, self._file, self._name) for value in floats.listed(values)]
            codes = [-1 if label is None else self.levels.code(label) for label in labels]
            self._dictionary, self._table = values, np.array([*codes, -1], dtype=np.int32)
        indices = numbers(column.indices)
        if column.indices.null_count:
            indices = np.where(nulls(column.indices), len(values), indices)
        elif len(values) == 1:
            return int(self._table[0])
        try:
            found: Ints = self._table.take(indices)
        except IndexError as error:
            raise pa.ArrowInvalid("a row points outside the column's dictionary") from error
        if len(found) and int(found.min()) == int(found.max()):
            return int(found[0])
        return found


def _label(value: object, file: str, name: str) -> Label:
    if value is None or value == "":
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, bool | int | str):
        return value
    if hasattr(value, "is_finite"):  # a decimal
        return int(value) if value == int(value) else str(value)  # type: ignore[call-overload]
    raise RegisterError(
        "a key of this type cannot be compared",
        where=Where(file=file, field=name),
        found=value,
        code="column-type",
    )


def _integer_codes(column: pa.Array, levels: Levels) -> Ints | int | None:
    if column.null_count or not len(column) or pa.types.is_uint64(column.type):
        return None
    whole = numbers(column)
    low, high = int(whole.min()), int(whole.max())
    if low == high:
        return levels.code(low)
    if high - low >= _DENSE_RANGE:
        return None
    places = whole.astype(np.int64, copy=False) - low
    there = np.zeros(high - low + 1, dtype=np.bool_)
    there[places] = True
    table = np.full(high - low + 1, -1, dtype=np.int32)
    for place in np.flatnonzero(there).tolist():
        table[place] = levels.code(place + low)
    found: Ints = table.take(places)
    return found


def lists_of(column: pa.Array, coder: Coder) -> Lists:
    """The entries of a list column as codes; a null list counts as empty."""
    if pa.types.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    counted = pc.list_value_length(column)
    lengths = np.where(nulls(counted), 0, numbers(counted))
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = column.flatten()
    codes = coder.codes(flat) if len(flat) else np.empty(0, dtype=np.int32)
    if isinstance(codes, int):
        codes = np.full(len(flat), codes, dtype=np.int32)
    return Lists(offsets, codes)


def values_of(column: pa.Array, kind: ValueKind) -> Values:
    """Exact values of a column: truth values are 1 and 0."""
    if pa.types.is_dictionary(column.type):
        return _through_levels(column, kind)
    if pa.types.is_boolean(column.type):
        return _whole(column, kind)
    if pa.types.is_integer(column.type):
        if pa.types.is_uint64(column.type):
            return _from_objects(column.to_pylist(), kind)
        return _whole(column, kind)
    if pa.types.is_floating(column.type):
        return _from_floats(column, kind)
    if pa.types.is_decimal(column.type):
        return _from_objects(column.to_pylist(), kind)
    if type_of(column.type) == "text":
        return _through_levels(column.dictionary_encode(), kind)
    if pa.types.is_null(column.type):
        return Values(np.zeros(len(column), dtype=np.int64), 1, np.full(len(column), MISSING, dtype=np.int8))
    return Values(np.zeros(len(column), dtype=np.int64), 1, np.full(len(column), BAD, dtype=np.int8))


def _whole(column: pa.Array, kind: ValueKind) -> Values:
    whole = numbers(column).astype(np.int64)
    states = None
    if column.null_count:
        absent = nulls(column)
        states = np.where(absent, MISSING, OK).astype(np.int8)
        whole[absent] = 0
    return _only_truth(whole, states) if kind == "boolean" else Values(whole, 1, states)


def _only_truth(whole: npt.NDArray[np.int64], states: npt.NDArray[np.int8] | None) -> Values:
    if len(whole) and (int(whole.min()) < 0 or int(whole.max()) > 1):
        states = np.zeros(len(whole), dtype=np.int8) if states is None else states
        wrong = (whole != 0) & (whole != 1)
        states[wrong] = BAD
        whole = np.where(wrong, 0, whole)
    return Values(whole, 1, states)


def _from_floats(column: pa.Array, kind: ValueKind) -> Values:
    """Floats as the shortest decimals of the width in which they were stored."""
    raw = numbers(column)
    absent = np.isnan(raw) | nulls(column) if column.null_count else np.isnan(raw)
    states = np.where(absent, MISSING, OK).astype(np.int8) if absent.any() else None
    finite = np.where(absent, raw.dtype.type(0), raw)
    if kind == "boolean":
        whole = np.where((finite == 0) | (finite == 1), finite, 2).astype(np.int64)
        return _only_truth(whole, states)
    if np.isinf(finite).any():
        states = np.zeros(len(finite), dtype=np.int8) if states is None else states
        states[np.isinf(finite)] = BAD
        finite = np.where(np.isinf(finite), raw.dtype.type(0), finite)
    short = floats.decimals(finite)
    if short is not None:
        return Values(*short, states)
    fallback = _from_objects(floats.spelled(finite), kind)
    if fallback.states is not None:  # the two never speak of one row: what is absent or infinite is 0 here
        states = fallback.states if states is None else np.where(states == OK, fallback.states, states)
    return Values(fallback.numerators, fallback.denominator, states)


def _through_levels(column: pa.DictionaryArray, kind: ValueKind) -> Values:
    """Values of a text column, each distinct text read once."""
    distinct = _from_objects(floats.listed(column.dictionary), kind)
    states = (
        distinct.states if distinct.states is not None else np.zeros(len(distinct.numerators), dtype=np.int8)
    )
    indices = numbers(column.indices)
    if column.indices.null_count:
        indices = np.where(nulls(column.indices), len(states), indices)
    row_states = np.append(states, np.int8(MISSING)).astype(np.int8)[indices]
    numerators = np.append(distinct.numerators, np.zeros(1, dtype=distinct.numerators.dtype))[indices]
    return Values(numerators, distinct.denominator, row_states if row_states.any() else None)


def _from_objects(values: list[Any], kind: ValueKind) -> Values:
    states = np.zeros(len(values), dtype=np.int8)
    found: list[Fraction] = []
    common = 1
    for i, value in enumerate(values):
        number, states[i] = _number(value, kind)
        shared = math.lcm(common, number.denominator)
        if shared > MOST_COMMON:
            number, states[i] = Fraction(0), WIDE
        else:
            common = shared
        found.append(number)
    tops = [number.numerator * (common // number.denominator) for number in found]
    small = all(abs(top) < 1 << 62 for top in tops)
    return Values(
        np.array(tops, dtype=np.int64 if small else object), common, states if states.any() else None
    )


def _number(value: object, kind: ValueKind) -> tuple[Fraction, int]:
    none = Fraction(0)
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_VALUE):
        return none, MISSING
    if kind == "boolean":
        if isinstance(value, str):
            return (Fraction(TRUTH[value]), OK) if value in TRUTH else (none, BAD)
        return (Fraction(int(value)), OK) if value in (0, 1) else (none, BAD)
    if isinstance(value, str) and not value.isascii():
        return (
            none,
            BAD,
        )  # digits of other scripts look like numbers to Python, and to nobody else who reads the file
    if isinstance(value, bool) or value in _TRUTH_WORDS:
        return Fraction(TRUTH[str(value)]), OK
    try:
        return exact(value), OK
    except (ValueError, OverflowError):
        return none, WIDE if _is_number(value) else BAD


def _is_number(value: object) -> bool:
    """Whether a value is a number that was refused for its size alone."""
    if isinstance(value, str):
        return bool(_NUMBER.fullmatch(value.strip()))
    return not isinstance(value, float) or math.isfinite(value)

"""Views of Arrow's buffers as NumPy arrays.

The buffers are read directly because pyarrow's own `to_numpy` and `fill_null` import pandas, which costs more than
deciding a study of usual size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_NUMPY = {"halffloat": "float16", "float": "float32", "double": "float64"}


def numbers(column: pa.Array) -> npt.NDArray[Any]:
    """A view of a fixed-width column; what stands under a null is undefined."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    dtype = np.dtype(_NUMPY.get(str(column.type), str(column.type)))
    data = column.buffers()[1]
    if data is None:
        return np.empty(0, dtype=dtype)
    found: npt.NDArray[Any] = np.frombuffer(data, dtype=dtype)[column.offset : column.offset + len(column)]
    return found


def nulls(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a column has no value."""
    return numbers(column.is_null()).astype(np.bool_)

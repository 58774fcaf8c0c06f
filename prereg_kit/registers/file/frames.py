"""Frames of other libraries as Arrow tables, by the interface that they share and without importing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from prereg_kit.errors import RegisterError, UsageError, Where


def table_of(frame: Any, name: str) -> pa.Table:  # noqa: ANN401 - any object that is a table
    """A frame as an Arrow table, its row labels left out.

    Args:
        frame: an Arrow table, a pandas DataFrame, an object with the Arrow PyCapsule interface
            (`__arrow_c_stream__` or `__arrow_c_array__`), or a mapping of columns.
        name: how messages call it.

    Raises:
        RegisterError: `mixed-types` for a column that holds, say, numbers and texts.
        UsageError: no table.
    """
    try:
        if isinstance(frame, pa.Table):
            return frame
        if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "dtypes"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
        if hasattr(frame, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(frame)])
        if isinstance(frame, Mapping):
            return pa.table(dict(frame))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise RegisterError(
            f"a column of mixed types: {str(error).splitlines()[0][:300]}",
            where=Where(file=name),
            expected="one type in each column",
            next_step="Convert the column, for instance with `astype(str)` for task names.",
            code="mixed-types",
        ) from error
    lazy = hasattr(frame, "collect")
    raise UsageError(
        "not a table of rows",
        where=Where(file=name),
        expected="a pandas or polars frame, an Arrow table, an object with `__arrow_c_stream__`, or a dict of columns",
        found=type(frame).__name__,
        next_step="Call `.collect()` on the lazy frame first." if lazy else "Convert it to one of these.",
    )

"""prereg_kit: decide in advance, freeze it, and let anyone check the verdict.

The public surface is listed in `__all__` and loaded on first use (PEP 562): importing the package loads no
pandas, no torch and no plotting.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME: dict[str, str] = {}

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute can be anything
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""prereg_kit: decide in advance, freeze it, and let anyone check the verdict.

The public surface is listed in `__all__` and loaded on first use (PEP 562): importing the package loads no
pandas, no torch and no plotting.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Plan": "prereg_kit.plan",
    "Amendment": "prereg_kit.plan",
    "Decided": "prereg_kit.decision.decide",
    "Verdicts": "prereg_kit.decision.verdict",
    "PreregError": "prereg_kit.errors",
    "load_plan": "prereg_kit.api",
    "check": "prereg_kit.api",
    "decide": "prereg_kit.api",
}

__all__ = [
    "Amendment",
    "Decided",
    "Plan",
    "PreregError",
    "Verdicts",
    "__version__",
    "check",
    "decide",
    "load_plan",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute can be anything
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

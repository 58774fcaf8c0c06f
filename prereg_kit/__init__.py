"""prereg_kit: decide in advance, freeze it, and let anyone check the verdict.

The public surface is listed in `__all__` and loaded on first use (PEP 562): importing the package loads no
pandas, no torch and no plotting. Type checkers and completion read the imports under TYPE_CHECKING.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prereg_kit.api import check, decide, load_plan
    from prereg_kit.decision.decide import Decided
    from prereg_kit.decision.verdict import Verdicts
    from prereg_kit.errors import PreregError
    from prereg_kit.operations.amend import AmendResult, amend
    from prereg_kit.operations.authorities import Authorities
    from prereg_kit.operations.freeze import FreezeResult, freeze
    from prereg_kit.operations.render import render
    from prereg_kit.operations.renew import renew
    from prereg_kit.operations.stamp import stamp
    from prereg_kit.operations.verify import Verification, verify
    from prereg_kit.plan import Amendment, Plan

__version__ = "0.1.0"

_HOME = {
    "AmendResult": "prereg_kit.operations.amend",
    "Amendment": "prereg_kit.plan",
    "Authorities": "prereg_kit.operations.authorities",
    "Decided": "prereg_kit.decision.decide",
    "FreezeResult": "prereg_kit.operations.freeze",
    "Plan": "prereg_kit.plan",
    "PreregError": "prereg_kit.errors",
    "Verdicts": "prereg_kit.decision.verdict",
    "Verification": "prereg_kit.operations.verify",
    "amend": "prereg_kit.operations.amend",
    "check": "prereg_kit.api",
    "decide": "prereg_kit.api",
    "freeze": "prereg_kit.operations.freeze",
    "load_plan": "prereg_kit.api",
    "render": "prereg_kit.operations.render",
    "renew": "prereg_kit.operations.renew",
    "stamp": "prereg_kit.operations.stamp",
    "verify": "prereg_kit.operations.verify",
}

__all__ = [
    "AmendResult",
    "Amendment",
    "Authorities",
    "Decided",
    "FreezeResult",
    "Plan",
    "PreregError",
    "Verdicts",
    "Verification",
    "__version__",
    "amend",
    "check",
    "decide",
    "freeze",
    "load_plan",
    "render",
    "renew",
    "stamp",
    "verify",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

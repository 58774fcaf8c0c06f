"""The names that a run is made of: conditions and arms, closed sets that load nothing.

A further condition needs its noise in `run_config.CONDITIONS` (checked when that module is imported); a further arm
needs its seats in `study.training.arms`.
"""

from __future__ import annotations

from typing import Literal, get_args

ConditionName = Literal["C0", "C1", "C2", "C2r", "C3", "C4"]
Arm = Literal["paired", "independent", "clean", "blocking", "blocking_paired", "blocks"]

CONDITION_NAMES: tuple[ConditionName, ...] = get_args(ConditionName)
ARMS: tuple[Arm, ...] = get_args(Arm)

"""Errors of the study, in the same tree as prereg_kit's, so that one command line reports both.

A StudyError exits 1 and has five kinds: ConfigError (exit 2) for a configuration, a pool or a name that does not
exist; TheoryError (exit 2) for shapes or values outside a formula's conditions; SimulatorError (exit 1) for an
inconsistency inside the simulator, which is a bug and never a zero reward; CannotStartError (exit 3) for a run that
this machine cannot start, which says what to install; DivergedError (exit 1) for a policy whose numbers left every
sensible range.
"""

from __future__ import annotations

from prereg_kit.errors import PreregError


class StudyError(PreregError):
    """Base of the study's errors."""

    code = "study"


class ConfigError(StudyError):
    """A configuration, a pool or a name that does not exist."""

    code = "config"
    exit_code = 2


class TheoryError(StudyError):
    """Shapes or values outside a formula's conditions."""

    code = "theory"
    exit_code = 2


class SimulatorError(StudyError):
    """An inconsistency inside the simulator: a bug to be raised, never scored as a zero reward."""

    code = "simulator"


class CannotStartError(StudyError):
    """A run that cannot start here, with what to install."""

    code = "cannot-start"
    exit_code = 3


class DivergedError(StudyError):
    """A number of a policy that is not finite, or larger than any sensible run has.

    Args:
        quantity: which number, for example "loss" or "gradient norm".
        found: its value, or the name of the tensor that holds it.
        limit: what it must be, in words.
        step: optimiser steps made before the one in which it was seen; None outside a training run.
    """

    code = "diverged"

    def __init__(self, quantity: str, *, found: float | str, limit: str, step: int | None = None) -> None:
        self.quantity = quantity
        self.limit = limit
        self.step = step
        self.value = found
        when = "" if step is None else f" at step {step}"
        super().__init__(
            f"the policy diverged{when}: {quantity}",
            expected=limit,
            found=found,
            next_step="Checkpoints of earlier steps stay. A lower learning rate is another config and another run.",
        )

    def at(self, step: int) -> DivergedError:
        """The same finding with the step at which it was made."""
        return DivergedError(self.quantity, found=self.value, limit=self.limit, step=step)

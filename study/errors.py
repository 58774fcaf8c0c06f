"""Errors of the study, in the same tree as prereg_kit's, so that one command line reports both.

A StudyError exits 1 and has four kinds: ConfigError (exit 2) for a configuration, a pool or a name that does not
exist; TheoryError (exit 2) for shapes or values outside a formula's conditions; SimulatorError (exit 1) for an
inconsistency inside the simulator, which is a bug and never a zero reward; CannotStartError (exit 3) for a run that
this machine cannot start, which says what to install.
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

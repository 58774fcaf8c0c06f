"""The regimes of evaluation and training as noise laws (paper sections 5.2 to 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from study.backoffice.faults import HELDOUT_TYPES, NO_OUTAGE_MIXTURE, NoiseLaw
from study.errors import ConfigError

_LAWS = (
    NoiseLaw("clean"),
    NoiseLaw("faults_p10", rate=Fraction(1, 10)),
    NoiseLaw("faults_p25", rate=Fraction(1, 4)),
    NoiseLaw("no_outage_p25", rate=Fraction(1, 4), weights=NO_OUTAGE_MIXTURE),
    NoiseLaw("heldout_p25", rate=Fraction(1, 4), weights=HELDOUT_TYPES),
    NoiseLaw("challenge", challenge=True),
    NoiseLaw("grader_flips", flip_rate=Fraction(1, 10)),
    NoiseLaw("grader_flips_q05", flip_rate=Fraction(1, 20)),
)

REGIMES: Mapping[str, NoiseLaw] = MappingProxyType({law.name: law for law in _LAWS})


def regime_named(name: str) -> NoiseLaw:
    """The noise law of a regime.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in REGIMES:
        raise ConfigError("no such regime", expected=", ".join(REGIMES), found=name)
    return REGIMES[name]

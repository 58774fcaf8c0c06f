"""What a draw means: fault types, mixtures, and the noise laws that the regimes are made of.

Weights are renormalised per kind of tool over the types that apply to it, statically, so the total rate is p for
every tool (paper section 5.2, Appendix B). Rates and weights are fractions; the compiled thresholds are
integers: a call faults iff lane < floor(p * 2**64).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Literal, get_args

from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from study.backoffice.schedule import LAW, Lanes, Schedule
from study.closed_sets import complete
from study.errors import ConfigError

ToolKind = Literal["list", "record", "write", "control"]

FaultType = Literal[
    "transient",
    "rate_limit",
    "outage",
    "stale_read",
    "truncation",
    "timeout_after_commit",
    "field_dropout",
]
FAULT_TYPES: tuple[FaultType, ...] = get_args(FaultType)
"""The fixed order in which the inverse CDF runs; appending is allowed, reordering needs a new law.

A further type needs an entry in `KINDS_OF` (checked when this module is imported) and its effect in
`Episode._answered` (checked by mypy: the branches end in `assert_never`).
"""

TRANSIENT: Final = "transient"
RATE_LIMIT: Final = "rate_limit"
OUTAGE: Final = "outage"
STALE_READ: Final = "stale_read"
TRUNCATION: Final = "truncation"
TIMEOUT_AFTER_COMMIT: Final = "timeout_after_commit"
FIELD_DROPOUT: Final = "field_dropout"

_READS: frozenset[ToolKind] = frozenset({"record", "list"})
_CALLS: frozenset[ToolKind] = _READS | {"write"}

KINDS_OF: Mapping[FaultType, frozenset[ToolKind]] = complete(
    "the table of tool kinds that a fault can meet",
    FAULT_TYPES,
    {
        TRANSIENT: _CALLS,
        RATE_LIMIT: _CALLS,
        OUTAGE: _CALLS,
        STALE_READ: _READS,
        TRUNCATION: frozenset({"list"}),
        TIMEOUT_AFTER_COMMIT: frozenset({"write"}),
        FIELD_DROPOUT: _READS,
    },
)
"""Fault type -> the kinds of tools that it can meet."""

RETRY_AFTER_SECONDS = (5, 10, 15)

Weights = tuple[tuple[FaultType, Fraction], ...]

DEFAULT_MIXTURE: Weights = (
    (TRANSIENT, Fraction(45, 100)),
    (RATE_LIMIT, Fraction(15, 100)),
    (OUTAGE, Fraction(10, 100)),
    (STALE_READ, Fraction(15, 100)),
    (TRUNCATION, Fraction(15, 100)),
)
NO_OUTAGE_MIXTURE: Weights = (
    (TRANSIENT, Fraction(1, 2)),
    (RATE_LIMIT, Fraction(1, 6)),
    (STALE_READ, Fraction(1, 6)),
    (TRUNCATION, Fraction(1, 6)),
)
HELDOUT_TYPES: Weights = ((TIMEOUT_AFTER_COMMIT, Fraction(1)), (FIELD_DROPOUT, Fraction(1)))

_FULL = 1 << 64


@dataclass(frozen=True)
class NoiseLaw:
    """The noise of a regime.

    Attributes:
        name: the regime's name, a register value.
        rate: probability p that an eligible call faults, 0..1.
        weights: (type, weight) pairs before renormalisation.
        flip_rate: probability q that a correct end state is reported as a failure, 0..1.
        challenge: no randomness: the first eligible attempt of every write key fails as transient.
    """

    name: str
    rate: Fraction = Fraction(0)
    weights: Weights = DEFAULT_MIXTURE
    flip_rate: Fraction = Fraction(0)
    challenge: bool = False

    def __post_init__(self) -> None:
        for label, value in (("rate", self.rate), ("flip_rate", self.flip_rate)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{label} of a noise law", expected="0..1", found=str(value))
        unknown = [kind for kind, weight in self.weights if kind not in FAULT_TYPES or weight < 0]
        if unknown:
            raise ConfigError("fault types of a noise law", expected=", ".join(FAULT_TYPES), found=unknown)

    @cached_property
    def label(self) -> str:
        """Law version, p, q and digest of the weights, as recorded with every episode."""
        return f"{LAW} p={self.rate} q={self.flip_rate} weights={self.weights_digest()}"

    def weights_digest(self) -> str:
        """SHA-256 over the law's version, its weights and the challenge switch."""
        value = {
            "law": LAW,
            "weights": [[kind, str(weight)] for kind, weight in self.weights],
            "challenge": self.challenge,
        }
        return sha256_bytes(canonical_json(value))


@dataclass(frozen=True, slots=True)
class CompiledLaw:
    """A noise law as integer thresholds.

    Attributes:
        law: the source.
        fault_below: a call faults iff its fault lane is below this.
        cuts: per kind of tool, (exclusive upper bound on the kind lane, type) in the fixed order of types.
        flip_below: the grade flips iff the grade lane is below this.
    """

    law: NoiseLaw
    fault_below: int
    cuts: Mapping[ToolKind, tuple[tuple[int, FaultType], ...]]
    flip_below: int

    def fault(self, kind: ToolKind, lanes: Lanes) -> FaultType | None:
        """The fault type that a draw gives a tool of this kind, or None."""
        if lanes.fault >= self.fault_below:
            return None
        lane = lanes.kind
        for bound, fault_type in self.cuts[kind]:
            if lane < bound:
                return fault_type
        raise ConfigError("a fault was drawn for a tool that no type of the mixture applies to", found=kind)

    def drawn(
        self, kind: ToolKind, tool: str, resource: str, repeat: int, schedule: Schedule
    ) -> tuple[FaultType | None, int]:
        """What an eligible call draws: its fault type or None, and the parameter lane.

        Args:
            kind: the tool's kind.
            tool: its name.
            resource: of the event key.
            repeat: earlier draws of the same tool and resource in the episode.
            schedule: the episode's draws; not looked at where nothing is random.
        """
        if self.law.challenge:
            return (TRANSIENT if kind == "write" and repeat == 0 else None), 0
        if self.fault_below == 0:
            return None, 0
        lanes = schedule.draw(tool, resource, repeat)
        return self.fault(kind, lanes), lanes.parameter


def _cuts(law: NoiseLaw, kind: ToolKind) -> tuple[tuple[int, FaultType], ...]:
    weights = dict(law.weights)
    applicable = [name for name in FAULT_TYPES if kind in KINDS_OF[name] and weights.get(name, 0) > 0]
    total = sum((weights[name] for name in applicable), Fraction(0))
    cuts = []
    reached = Fraction(0)
    for name in applicable:
        reached += weights[name]
        cuts.append((int(reached / total * _FULL), name))
    return tuple(cuts)


@lru_cache(maxsize=256)
def compile_law(law: NoiseLaw) -> CompiledLaw:
    """Turn a law into integer thresholds, once per law.

    Raises:
        ConfigError: a positive rate although some kind of tool has no applicable type, so that its rate could not be p.
    """
    kinds: tuple[ToolKind, ...] = ("list", "record", "write")
    cuts: dict[ToolKind, tuple[tuple[int, FaultType], ...]] = {kind: _cuts(law, kind) for kind in kinds}
    bare = [kind for kind, rows in cuts.items() if not rows]
    if law.rate > 0 and bare:
        raise ConfigError(
            "a noise law leaves tools without a fault type", expected="one per kind", found=bare
        )
    return CompiledLaw(law, int(law.rate * _FULL), cuts, int(law.flip_rate * _FULL))


def share(law: NoiseLaw, kind: ToolKind, fault_type: FaultType) -> Fraction:
    """Exact probability that an eligible call of a tool of this kind draws this type."""
    weights = dict(law.weights)
    total = sum(
        (weights.get(name, Fraction(0)) for name in FAULT_TYPES if kind in KINDS_OF[name]), Fraction(0)
    )
    if kind not in KINDS_OF[fault_type] or total == 0:
        return Fraction(0)
    return law.rate * weights.get(fault_type, Fraction(0)) / total

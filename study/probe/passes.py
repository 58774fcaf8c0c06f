"""The pass over the units of a probe: gradients in, evidence out, whatever makes the gradients. No torch.

All levers are known before a unit's gradients are reduced, so a unit is held once and never again. What was done by a
process that was killed is taken from its pieces, and the sums come out the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from study.probe import evidence as files
from study.probe import vectors
from study.probe.estimators import Name, Scale, mean_tokens, sequence_weights
from study.probe.evidence import Checks, Evidence, EvidenceRecord, Vectors
from study.probe.intervals import generator
from study.probe.spec import Spec
from study.probe.stream import Unit, gram_of
from study.probe.units import Pieces
from study.theory.transition import Scheme, regrouped_rows

Array = npt.NDArray[np.float64]
Arrays = Mapping[str, npt.NDArray[Any]]
Told = Callable[[int, int], None]
"""Called with (units done, units in all)."""
Precision = Literal["float64", "float32"]

_SCHEMES: tuple[tuple[str, Scheme], ...] = (
    ("with_replacement", "with-replacement"),
    ("stratified", "stratified"),
)


@dataclass(frozen=True)
class Scored:
    """What a pass over one rollout says besides its score.

    Attributes:
        log_ratio: sum over own tokens of scoring minus sampling log-probability.
        gap: the largest such difference of one token, in absolute value.
    """

    log_ratio: float
    gap: float


class Source(Protocol):
    """Where scores come from: a model, or made-up gradients in tests and benchmarks."""

    @property
    def width(self) -> int:
        """d, coordinates of a score."""
        ...

    def write(self, index: int, row: npt.NDArray[Any]) -> Scored:
        """Write the score of rollout `index` into `row`, shape (d,)."""
        ...

    def unchanged(self) -> None:
        """Raise if what is scored is no longer what it was."""
        ...


@dataclass(frozen=True)
class Origin:
    """What the evidence says of where its scores come from; see `EvidenceRecord`."""

    task_ids: Sequence[str]
    tensors: int
    layout_sha256: str
    parameters_sha256: str
    checks: Checks | None
    kernels: dict[str, str]
    versions: dict[str, str | None]


class Pass:
    """One pass.

    Args:
        spec: what is probed.
        sampled: what was played, see `study.probe.played`.
        source: of scores.
        precision: type of the gradients that are held; products are float64 either way.
        keep: `each` or `running` vectors; by width unless given.
    """

    def __init__(
        self,
        spec: Spec,
        sampled: Arrays,
        source: Source,
        *,
        precision: Precision = "float64",
        keep: Vectors | None = None,
    ) -> None:
        channels = 2 if spec.kind == "outcome" else 6
        self.spec, self.sampled, self.source, self.precision = spec, sampled, source, precision
        self.vectors: Vectors = keep or vectors.kept(spec.tasks, channels, source.width)
        self._divisor = mean_tokens(sampled["own_tokens"], spec.samples)
        self._groups = comparators(spec)

    def run(self, pieces: Pieces, told: Told | None = None) -> int:
        """Do the units that are not done yet; how many were."""
        spec, source = self.spec, self.source
        buffer: Unit | None = None
        running: Array | None = None
        resumed = 0
        for unit in range(spec.tasks):
            if pieces.has(unit):
                resumed += 1
                continue
            if buffer is None:
                buffer = Unit(spec.rows, source.width, self.precision)
                running = self._so_far(pieces, unit)
            first = unit * spec.rows
            scored = [source.write(first + place, row) for place, row in enumerate(buffer.rows)]
            source.unchanged()
            ratios = np.array([one.log_ratio for one in scored])
            levers = self._levers(unit, ratios)
            if self.vectors == "each" or running is None:
                running = np.zeros((len(levers), source.width))
            buffer.add_to(running, levers)
            piece = {
                "gram": buffer.gram(),
                "log_ratios": ratios,
                "gaps": np.array([one.gap for one in scored]),
                "vectors": running,
            }
            pieces.keep(unit, piece, replaces=self.vectors == "running")
            if told is not None:
                told(unit + 1, spec.tasks)
        return resumed

    def _so_far(self, pieces: Pieces, unit: int) -> Array | None:
        """The running totals of an earlier process."""
        return pieces.unit(unit - 1)["vectors"] if unit and self.vectors == "running" else None

    def _levers(self, unit: int, ratios: Array) -> Array:
        spec = self.spec
        tokens, successes = self.sampled["own_tokens"][unit], self.sampled["successes"][unit]
        weights = sequence_weights(ratios, tokens, spec.importance, spec.cap)
        scales: dict[Name, Scale] = {
            "MC": Scale("MC", np.ones((1, spec.rows)), float(spec.samples)),
            "SW": Scale("SW", weights[None, :], self._divisor),
        }
        if spec.kind == "outcome":
            return vectors.outcome_levers(successes, scales, 0, self.vectors, spec.flip_rate)
        groups = {"paired": vectors.paired_rows(spec.schedules, spec.samples)} | {
            name: rows[unit].astype(np.intp) for name, rows in self._groups.items()
        }
        return vectors.transition_levers(successes, groups, scales, 0)

    def evidence(self, pieces: Pieces, origin: Origin) -> Evidence:
        """Join the units; every piece is on the disk by now."""
        spec = self.spec
        done = [pieces.unit(unit) for unit in range(spec.tasks)]
        if self.vectors == "each":
            each = np.stack([one["vectors"] for one in done])  # (units, channels, d)
            total = np.swapaxes(each, 0, 1).reshape(-1, self.source.width)
        else:
            total = done[-1]["vectors"]
        arrays: dict[str, npt.NDArray[Any]] = {
            "gram": np.stack([one["gram"] for one in done]),
            "cross": gram_of(total),
            "log_ratios": np.stack([one["log_ratios"] for one in done]),
            **self._groups,
            **self.sampled,
        }
        record = EvidenceRecord(
            format="study.probe.evidence/1",
            spec=spec,
            spec_sha256=spec.digest,
            task_ids=tuple(origin.task_ids),
            coordinates=self.source.width,
            tensors=origin.tensors,
            layout_sha256=origin.layout_sha256,
            parameters_sha256=origin.parameters_sha256,
            precision=self.precision,
            vectors=self.vectors,
            largest_gap=float(max(one["gaps"].max() for one in done)),
            checks=origin.checks,
            kernels=origin.kernels,
            versions=origin.versions,
            arrays={name: files.array_record(array) for name, array in arrays.items()},
        )
        return Evidence(record, arrays)


def comparators(spec: Spec) -> dict[str, npt.NDArray[Any]]:
    """The fixed comparator groups of every task: rows of its rollouts, shape (tasks, groups, G); none for outcome."""
    if spec.kind == "outcome":
        return {}
    shape = (spec.schedules, spec.samples)
    rng = generator(spec, "fixed comparators")
    drawn: dict[str, list[npt.NDArray[Any]]] = {name: [] for name, _ in _SCHEMES}
    for _ in range(spec.tasks):
        for name, scheme in _SCHEMES:
            drawn[name].append(
                regrouped_rows(shape, spec.samples, spec.comparators, rng, scheme).astype("<i2")
            )
    return {name: np.stack(rows) for name, rows in drawn.items()}

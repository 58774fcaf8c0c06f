"""One checkpoint, measured: played in its own precision, scored in float64, reduced unit by unit to evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from prereg_kit.errors import ArchiveError, Where
from study.backoffice.pools import load_pool
from study.backoffice.profiles import profile_named
from study.probe import evidence as files
from study.probe import played
from study.probe.checks import cross_checks
from study.probe.evidence import Evidence
from study.probe.passes import Origin, Pass, Scored, Told
from study.probe.scores import Scores, Text
from study.probe.spec import Spec
from study.probe.units import Pieces
from study.runs.provenance import versions
from study.trained.checkpoint_policy import Checkpoint, Trained
from study.trained.language_model import policy_model
from study.training import delta_rule
from study.training.train import quiet_process


@dataclass(frozen=True)
class Measured:
    """What a probe left behind.

    Attributes:
        path: the evidence's file. sha256: of its bytes.
        evidence: the same in memory.
        resumed: units that an earlier process had done.
    """

    path: Path
    sha256: str
    evidence: Evidence
    resumed: int


class ModelSource:
    """Scores of what a model played, in order.

    Args:
        scores: of the model; settled here.
        texts: what was played.
    """

    def __init__(self, scores: Scores, texts: list[Text]) -> None:
        self.width = scores.settle(texts[0])
        self._scores, self._texts = scores, texts

    def write(self, index: int, row: npt.NDArray[Any]) -> Scored:
        """Score one rollout."""
        return self._scores.write(self._texts[index], row)

    def unchanged(self) -> None:
        """Hold the parameters to what they were."""
        self._scores.unchanged()


def measure(
    found: Trained,
    checkpoint: Checkpoint,
    spec: Spec,
    out: Path,
    *,
    checked: bool = True,
    first: Callable[[Path, Evidence], object] | None = None,
    told: Told | None = None,
) -> Measured:
    """Probe one checkpoint.

    Args:
        found: the run.
        checkpoint: one of its checkpoints.
        spec: from `spec_of`.
        out: folder of evidence; made if absent.
        checked: also take the other roads to some of the gradients.
        first: called with the evidence's path and value before it is written: it stands for the whole, so it is last.
        told: of the progress.

    Raises:
        ArchiveError: this evidence is there already.
        StudyError: a guard of `scores` or `units`, or weights that are not the recorded ones.
    """
    path = out / f"{spec.name}{files.SUFFIX}"
    if path.exists():
        raise ArchiveError(
            "this checkpoint was probed already",
            where=Where(file=str(path)),
            next_step=f"`study probe recompute {path}` prints its figures.",
            code="exists",
        )
    out.mkdir(parents=True, exist_ok=True)
    pieces = Pieces(out / f"{spec.name}.partial", spec)
    with pieces.held():
        quiet_process(found.run)
        sampled = pieces.samples()
        if sampled is None:
            sampled = played.play(found, policy_model(found, checkpoint), spec)
            pieces.keep_samples(sampled)
        texts = played.texts(sampled)
        scores = Scores(policy_model(found, checkpoint), spec.temperature, spec.coordinates)
        work = Pass(spec, sampled, ModelSource(scores, texts))
        resumed = work.run(pieces, told)
        pool = load_pool(profile_named(found.run.tier.world.profile), spec.pool)
        origin = Origin(
            [task.task_id for task in pool.tasks[: spec.tasks]],
            len(scores.chosen),
            scores.layout,
            scores.parameters_sha256,
            cross_checks(found, checkpoint, scores, texts, sampled, spec) if checked else None,
            delta_rule.bound(),
            versions(),
        )
        evidence = work.evidence(pieces, origin)
        if first is not None:
            first(path, evidence)
        digest = files.write(path, evidence)
        pieces.clear()
    return Measured(path, digest, evidence, resumed)

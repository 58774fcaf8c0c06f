"""What the policy played, as flat arrays: small enough to stand in the evidence, enough to score it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from study.probe.scores import Text
from study.probe.spec import Spec
from study.trained.checkpoint_policy import Trained
from study.trained.samples import Sample, Sampler, slots

Arrays = dict[str, npt.NDArray[Any]]


def play(found: Trained, model: object, spec: Spec) -> Arrays:
    """Play every rollout of a probe with the policy in its own precision.

    Args:
        found: the run.
        model: the PEFT model of the checkpoint.
        spec: what to play; whole units are played together, about as many episodes as an evaluation plays at once.
    """
    sampler = Sampler(found.run, model, spec.checkpoint, spec.pool, spec.regime)
    wanted = slots(spec.tasks, spec.schedules, spec.samples, spec.seed)
    together = max(1, found.run.tier.evaluation.batch // spec.rows) * spec.rows
    samples: list[Sample] = []
    for first in range(0, len(wanted), together):
        samples += sampler.play(wanted[first : first + together])
    return flat(samples, spec.rows)


def flat(samples: Sequence[Sample], rows: int) -> Arrays:
    """Samples as arrays, see `study.probe.evidence`: `lengths` holds (prompt, completion) of each rollout."""
    shape = (-1, rows)
    return {
        "successes": np.array([one.true_success for one in samples], dtype=np.uint8).reshape(shape),
        "own_tokens": np.array([sum(one.mask) for one in samples], dtype="<i4").reshape(shape),
        "tokens": np.concatenate([np.array([*one.prompt, *one.ids], dtype="<i4") for one in samples]),
        "mask": np.concatenate([np.array(one.mask, dtype=np.uint8) for one in samples]),
        "logps": np.concatenate([np.array(one.logps, dtype="<f8") for one in samples]),
        "lengths": np.array([[len(one.prompt), len(one.ids)] for one in samples], dtype="<i4"),
    }


def texts(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Text]:
    """The rollouts in order, back from the arrays."""
    found = []
    token = place = 0
    for prompt, length in arrays["lengths"].tolist():
        tokens = arrays["tokens"][token : token + prompt + length].tolist()
        mask = arrays["mask"][place : place + length].tolist()
        logps = arrays["logps"][place : place + length].tolist()
        found.append(Text(tokens[:prompt], tokens[prompt:], mask, logps))
        token, place = token + prompt + length, place + length
    return found

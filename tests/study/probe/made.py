"""Made-up probes: gradients that a test chooses go through the same pass as a model's scores."""

from __future__ import annotations

import numpy as np

from study.probe.passes import Origin, Pass, Scored
from study.probe.spec import Spec
from study.probe.units import Pieces

SHA = "0" * 64


def spec(kind="outcome", **changes):
    sizes = {"outcome": (5, 1, 8), "transition": (3, 4, 4)}[kind]
    values = {
        "kind": kind, "run_id": "r0", "study": "tests", "plan_sha256": None, "config_digest": SHA, "condition": "C4",
        "arm": "paired", "seed": 0, "tier": "smoke", "checkpoint": 50, "base_sha256": SHA, "adapter_sha256": SHA,
        "pool": "validation", "pool_sha256": SHA, "profile": "compact x", "regime": "clean", "law": "law",
        "noise": ("0", "0", SHA), "tasks": sizes[0], "schedules": sizes[1], "samples": sizes[2], "flip_rate": 0.1,
        "comparators": 16, "temperature": 1.0, "importance": "sequence_mask", "cap": 3.0, "coordinates": "trained",
    }  # fmt: skip
    return Spec.model_validate(values | changes)


class Rows:
    """A source of given scores, shape (units * rows, d), and given log-ratios."""

    def __init__(self, scores, ratios=None):
        self.scores = scores
        self.ratios = np.zeros(len(scores)) if ratios is None else ratios
        self.width = scores.shape[1]
        self.asked = []

    def write(self, index, row):
        self.asked.append(index)
        row[:] = self.scores[index]
        return Scored(float(self.ratios[index]), abs(float(self.ratios[index])))

    def unchanged(self):
        pass


def sampled(successes, own_tokens=None):
    """What was played, for given outcomes (units, rows): one prompt token and `own_tokens` own ones each."""
    outcomes = np.asarray(successes, dtype=np.uint8)
    tokens = np.full(outcomes.shape, 3) if own_tokens is None else np.asarray(own_tokens)
    count = int(tokens.sum())
    return {
        "successes": outcomes,
        "own_tokens": tokens.astype("<i4"),
        "tokens": np.zeros(count + outcomes.size, dtype="<i4"),
        "mask": np.ones(count, dtype=np.uint8),
        "logps": np.zeros(count, dtype="<f8"),
        "lengths": np.array([[1, n] for n in tokens.ravel()], dtype="<i4"),
    }


def probe(
    folder, scores, successes, *, ratios=None, own_tokens=None, keep=None, precision="float64", **changes
):
    """Evidence of made-up scores (units, rows, d) and outcomes (units, rows)."""
    scores = np.asarray(scores, dtype=float)
    asked = spec(tasks=scores.shape[0], **changes)
    ratios = None if ratios is None else np.asarray(ratios).ravel()
    work = Pass(
        asked, sampled(successes, own_tokens), Rows(scores.reshape(-1, scores.shape[2]), ratios), keep=keep,
        precision=precision,
    )  # fmt: skip
    pieces = Pieces(folder / "probe.partial", asked)
    with pieces.held():
        work.run(pieces)
        found = work.evidence(pieces, origin(asked.tasks))
        pieces.clear()
    return found


def origin(tasks):
    return Origin([f"t{i}" for i in range(tasks)], 1, SHA, SHA, None, {}, {})

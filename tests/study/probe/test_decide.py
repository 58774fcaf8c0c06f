"""H1b, amended: the kit decides it from the probe's registers, one trajectory at a time."""

from __future__ import annotations

import numpy as np
import pytest

from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.operations.decide import decide_files
from study.probe import outcome, transition
from study.probe.register import write
from tests.study.probe.made import probe

PLAN = """\
format: prereg.plan/1
id: probed
arms: {treatment: paired, reference: independent}
resampling: {engine: auto}
endpoints:
  outcome_trace_ratio: {kind: series, unit: ratio, register: probe, axis: checkpoint, value: ratio, where: {level: outcome, estimator: MC}}
  transition_trace_ratio: {kind: series, unit: ratio, register: probe, axis: checkpoint, value: ratio, where: {level: transition, estimator: MC}}
  transition_trace_ratio_stratified: {kind: series, unit: ratio, register: probe, axis: checkpoint, value: ratio, where: {level: transition, estimator: MC-stratified}}
hypotheses:
  H1b:
    for_each: {column: trajectory, values: [A, B]}
    passes_if:
      all:
        - at_every: {endpoint: outcome_trace_ratio, over: checkpoint, below: 1}
        - at_majority: {endpoint: transition_trace_ratio, over: checkpoint, below: 1}
    readings:
      stratified:
        statement: The comparator of the frozen text.
        replace: {transition_trace_ratio: transition_trace_ratio_stratified}
"""


def scores(rng, successes, aligned, schedules):
    """Scores along the outcome and the schedule (pairing hurts), or spread over many directions (it helps)."""
    units, rows = successes.shape
    spread = rng.normal(size=(units, rows, 40))
    if aligned:
        spread[:, :, 0] += 40 * (successes - 0.5)
        spread[:, :, 1] += 40 * schedules * (successes - 0.5)
    return spread


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Trajectory A: pairing helps at steps 0, 20, 40. B: it helps at 0 and hurts at 20."""
    rng = np.random.default_rng(8)
    root = tmp_path_factory.mktemp("probes")
    made = []
    for run_id, seed, hurts in (("a", 0, {0: False, 20: False, 40: False}), ("b", 1, {0: False, 20: True})):
        for step, aligned in hurts.items():
            clean = (rng.random((24, 8)) < 0.6).astype(int)
            noisy = (rng.random((8, 16)) < 0.5).astype(int)
            labels = np.repeat(rng.choice([-1, 1], size=4), 4)
            common = {
                "run_id": run_id,
                "seed": seed,
                "checkpoint": step,
                "plan_sha256": sha256_bytes(PLAN.encode()),
            }
            at = root / f"{run_id}{step}"
            made.append(probe(at / "o", scores(rng, clean, aligned, np.zeros(8)), clean, **common))
            made.append(
                probe(at / "t", scores(rng, noisy, aligned, labels), noisy, kind="transition", **common)
            )
    folder = root / "register"
    write(folder, made, {"a": "A", "b": "B"})
    return made, folder


def test_the_verdict_is_that_of_the_ratios(found, tmp_path):
    made, folder = found
    ratios = {
        (one.spec.run_id, one.spec.kind, one.spec.checkpoint): (
            outcome.figures(one).estimators["MC"].ratio
            if one.spec.kind == "outcome"
            else transition.figures(one).estimators["MC"].against["with_replacement"].ratio
        )
        for one in made
    }
    (tmp_path / "plan.yaml").write_text(PLAN)
    verdicts = decide_files([folder / "runs.parquet"], plan=tmp_path / "plan.yaml").verdicts.hypotheses
    for label, run_id in (("A", "a"), ("B", "b")):
        every = [ratio < 1 for (run, kind, _), ratio in ratios.items() if (run, kind) == (run_id, "outcome")]
        most = [
            ratio < 1 for (run, kind, _), ratio in ratios.items() if (run, kind) == (run_id, "transition")
        ]
        expected = "pass" if all(every) and sum(most) > len(most) / 2 else "fail"
        assert verdicts[f"H1b[{label}]"].outcome == expected
    assert ratios["b", "outcome", 20] > 1
    assert verdicts["H1b[B]"].outcome == "fail"

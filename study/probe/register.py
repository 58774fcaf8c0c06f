"""Evidence as registers: rows of `prereg.probe/1` that `prereg decide` reads, and the luck tables of the same rollouts.

| level | estimator | what |
|---|---|---|
| outcome | MC, SW | traces under grader flips over all groups; `left` and `right` are the sides of Eq. 5 |
| transition | MC, SW | pooled traces, comparator with replacement |
| transition | MC-stratified, SW-stratified | pooled traces, one rollout of each schedule |
| transition | MC-fresh | unbiased within-task traces against fresh schedules |

`noise` is the standard error of `ratio` over resampled tasks, absent where none could be formed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from prereg_kit.errors import ArchiveError, Where
from prereg_kit.foundation.durable import write_bytes
from prereg_kit.registers.file import sibling_of, write_register, write_runs
from prereg_kit.registers.file.write import encoded
from prereg_kit.registers.formats import PROBE, RunRow
from study.errors import ConfigError
from study.evaluation.written import NO_PLAN
from study.probe import outcome, transition
from study.probe.evidence import Evidence
from study.probe.spec import Spec


@dataclass(frozen=True)
class ProbeRow:
    """One row of `prereg.probe/1`; see the format's columns."""

    run_id: str
    checkpoint: int
    estimator: str
    condition: str
    arm: str
    seed: int
    trajectory: str | None
    level: str
    left: float | None
    right: float | None
    trace_paired: float
    trace_independent: float
    noise: float | None
    ratio: float | None


def rows_of(evidence: Evidence, trajectory: str | None = None) -> list[ProbeRow]:
    """The register rows of one probe, registered settings.

    Args:
        evidence: of either kind.
        trajectory: the label of the trajectory that its run is.
    """
    spec = evidence.spec
    if spec.kind == "outcome":
        found = outcome.figures(evidence)
        return [
            _row(
                spec,
                name,
                trajectory,
                one.paired.trace,
                one.independent.trace,
                one.standard_error,
                one.left,
                one.right,
            )
            for name, one in found.estimators.items()
        ]
    rows = []
    for name, each in transition.figures(evidence).estimators.items():
        pooled = {design: part.trace for design, part in each.pooled.items()}
        for design, label in (("with_replacement", name), ("stratified", f"{name}-stratified")):
            interval = each.against[design].interval
            error = None if interval is None else interval.standard_error
            rows.append(_row(spec, label, trajectory, pooled["paired"], pooled[design], error))
        if each.fresh_independent is not None:
            rows.append(
                _row(spec, f"{name}-fresh", trajectory, each.fresh_paired, each.fresh_independent, None)
            )
    return rows


def _row(
    spec: Spec,
    estimator: str,
    trajectory: str | None,
    paired: float,
    independent: float,
    noise: float | None,
    left: float | None = None,
    right: float | None = None,
) -> ProbeRow:
    return ProbeRow(
        spec.run_id,
        spec.checkpoint,
        estimator,
        spec.condition,
        spec.arm,
        spec.seed,
        trajectory,
        spec.kind,
        left,
        right,
        float(paired),
        float(independent),
        noise,
        float(paired / independent) if independent > 0 else None,
    )


def luck_columns(evidence: Evidence) -> dict[str, list[Any]]:
    """The diagnostic table of a transition probe as columns of `prereg.luck/1`.

    Raises:
        ConfigError: clean groups are no luck table.
    """
    spec = evidence.spec
    if spec.kind != "transition":
        raise ConfigError("clean groups are no luck table", where=Where(field="kind"), found=spec.kind)
    first = spec.seed * spec.schedules
    places = [
        (unit, schedule, sample)
        for unit in range(spec.tasks)
        for schedule in range(spec.schedules)
        for sample in range(spec.samples)
    ]
    count = len(places)
    return {
        "run_id": [spec.run_id] * count,
        "condition": [spec.condition] * count,
        "arm": [spec.arm] * count,
        "seed": [spec.seed] * count,
        "step": [spec.checkpoint] * count,
        "task": [evidence.record.task_ids[unit] for unit, _, _ in places],
        "schedule": [first + schedule for _, schedule, _ in places],
        "sample": [sample for _, _, sample in places],
        "outcome": evidence.floats("successes").ravel().tolist(),
    }


def columns(rows: Sequence[ProbeRow]) -> dict[str, list[Any]]:
    """Rows as columns; a column of nothing but None is left out."""
    table = {field.name: [getattr(row, field.name) for row in rows] for field in fields(ProbeRow)}
    return {name: values for name, values in table.items() if any(value is not None for value in values)}


def write_beside(path: Path, evidence: Evidence, trajectory: str | None = None) -> Path:
    """Write one probe's rows beside its evidence, NAME.parquet, or find there the very bytes that would be written.

    Raises:
        ArchiveError: another register lies there.
    """
    target = path.with_suffix(".parquet")
    data, _ = encoded(PROBE, columns(rows_of(evidence, trajectory)), {}, str(target))
    if not target.is_file() or target.read_bytes() != data:
        write_bytes(target, data)
    return target


def write(out: Path, found: Sequence[Evidence], trajectories: Mapping[str, str]) -> list[Path]:
    """Write OUT/probe.parquet, OUT/luck.parquet where there is a transition probe, and the index OUT/runs.parquet.

    Args:
        out: a new folder.
        found: at least one piece of evidence; two of one run, checkpoint and kind are refused.
        trajectories: run id -> label.

    Returns:
        What was written.

    Raises:
        ArchiveError: `out` holds something.
        ConfigError: no evidence, the same probe twice, or a trajectory of a run that was not probed.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ArchiveError(
            "the folder holds something",
            where=Where(file=str(out)),
            next_step="Choose another --out.",
            code="exists",
        )
    _require_distinct(found, trajectories)
    ordered = sorted(found, key=lambda one: (one.spec.run_id, one.spec.kind, one.spec.checkpoint))
    out.mkdir(parents=True, exist_ok=True)
    rows = [row for one in ordered for row in rows_of(one, trajectories.get(one.spec.run_id))]
    write_register(out / "probe.parquet", "probe", columns(rows))
    written = [out / "probe.parquet"]
    tables = [luck_columns(one) for one in ordered if one.spec.kind == "transition"]
    if tables:
        write_register(
            out / "luck.parquet",
            "luck",
            {name: [v for table in tables for v in table[name]] for name in tables[0]},
        )
        written.append(out / "luck.parquet")
    index = out / "runs.parquet"
    runs = {one.spec.run_id: one.spec for one in ordered}
    with_luck = {one.spec.run_id for one in ordered if one.spec.kind == "transition"}
    write_runs(index, [_run(index, spec, written, luck=run_id in with_luck) for run_id, spec in runs.items()])
    return [*written, index]


def _run(index: Path, spec: Spec, written: Sequence[Path], *, luck: bool) -> RunRow:
    registers = [sibling_of(index, "probe", written[0])]
    if luck:
        registers.append(sibling_of(index, "luck", written[1]))
    return RunRow(
        run_id=spec.run_id,
        study=spec.study,
        plan_digest=spec.plan_sha256 or NO_PLAN,
        condition=spec.condition,
        arm=spec.arm,
        seed=spec.seed,
        config_digest=spec.config_digest,
        registers=tuple(registers),
    )


def _require_distinct(found: Sequence[Evidence], trajectories: Mapping[str, str]) -> None:
    if not found:
        raise ConfigError("no evidence", expected="at least one file")
    seen: set[tuple[str, str, int]] = set()
    for one in found:
        key = (one.spec.run_id, one.spec.kind, one.spec.checkpoint)
        if key in seen:
            raise ConfigError(
                "two probes of one checkpoint and kind",
                where=Where(key=f"{key[0]}, {key[1]}, checkpoint {key[2]}"),
                expected="one",
                next_step="A register holds one row of each; leave one file out.",
            )
        seen.add(key)
    known = {one.spec.run_id for one in found}
    if strangers := sorted(set(trajectories) - known):
        raise ConfigError(
            "a trajectory of a run that was not probed",
            where=Where(field="trajectory"),
            expected=", ".join(sorted(known)),
            found=strangers[0],
        )

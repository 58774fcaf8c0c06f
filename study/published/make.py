"""Registers of the published study, from its printed figures: counts, reported figures, and the index of runs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from prereg_kit.registers.file import sibling_of, write_register, write_runs
from prereg_kit.registers.formats import RunRow
from study.published import tables
from study.published.tables import PublishedRun

STUDY = "paired-rollouts"
PERIODIC = ("noise", "clean", "challenge")
Row = dict[str, Any]


def count_rows() -> Iterator[Row]:
    """Every published count: Table 9 curves, Table 8 finals, Table 10 groups, Table 11 finals of the uncounted run."""
    for run in tables.RUNS:
        for name, printed in zip(PERIODIC, tables.CURVES[run.run_id], strict=True):
            episodes = 64 if name == "challenge" else 128
            regime = run.noise if name == "noise" else name
            for step, share in zip(tables.STEPS, printed.split(), strict=True):
                successes = tables.counts(share, episodes, 3)
                yield _row(run, step, "validation", regime, "true_success", successes, episodes, "Table 9")
        yield from _finals(run, tables.FINALS[run.run_id], "Table 8")
        correct, spurious = tables.GROUPS[run.run_id]
        yield _row(run, 100, "train", run.noise, "spurious_among_all_correct", spurious, correct, "Table 10")
        if run.arm in ("paired", "independent"):
            shared = tables.GROUPS_PER_RUN if run.arm == "paired" else 0
            yield _row(
                run,
                100,
                "train",
                run.noise,
                "groups_with_one_schedule",
                shared,
                tables.GROUPS_PER_RUN,
                "Section 6.1",
            )
    yield from _finals(tables.UNCOUNTED, tables.UNCOUNTED_FINALS, "Table 11")


def _finals(run: PublishedRun, printed: str, source: str) -> Iterator[Row]:
    for regime, percent in zip(tables.FINAL_REGIMES, printed.split(), strict=False):
        episodes = 200 if regime == "challenge" else 800
        successes = tables.counts(str(Decimal(percent) / 100), episodes, 3)
        yield _row(run, 100, "test", regime, "true_success", successes, episodes, source)


def _row(
    run: PublishedRun,
    step: int,
    split: str,
    regime: str,
    quantity: str,
    successes: int,
    episodes: int,
    source: str,
) -> Row:
    return {
        "run_id": run.run_id, "condition": run.condition, "arm": run.arm, "seed": run.seed, "step": step,
        "split": split, "regime": regime, "quantity": quantity, "successes": successes, "episodes": episodes,
        "source": source,
    }  # fmt: skip


def reported_rows() -> Iterator[Row]:
    """Every figure that was published and cannot be recomputed: intervals, luck shares, probe ratios."""
    for endpoint, level, lower, upper, source in tables.INTERVALS:
        yield _figure(endpoint, "lower", lower, source, level=level)
        yield _figure(endpoint, "upper", upper, source, level=level)
    c2 = [run for run in tables.RUNS if run.condition == "C2"]
    for run, share in zip(c2, tables.LUCK_AT_BASE, strict=True):
        yield _figure(
            "c2_luck_at_base", "estimate", share, "Table 2, H1a luck share",
            run_id=run.run_id, condition="C2", arm=run.arm, seed=run.seed, axis="0",
        )  # fmt: skip
    yield _figure(
        "c2_luck_at_base", "lower", tables.LOWEST_LUCK_BOUND, "Table 2: the lowest of the six lower bounds",
        level="0.95", condition="C2", axis="0",
    )  # fmt: skip
    for environment, share in tables.LUCK_BY_ENVIRONMENT.items():
        yield _figure(
            f"zero_shot_luck_{environment}", "estimate", share, "Table 6, P12", condition=environment
        )
    for trajectory, checkpoint, l_over_r, outcome, transition, stratified in tables.PROBE:
        figures = {
            "l_over_r": l_over_r,
            "outcome_trace_ratio": outcome,
            "transition_trace_ratio": transition,
            "transition_trace_ratio_stratified": stratified,
        }
        for endpoint, value in figures.items():
            yield _figure(
                endpoint, "estimate", value, "Table 5", trajectory=trajectory, checkpoint=checkpoint
            )


def _figure(endpoint: str, statistic: str, value: str, source: str, **unit: Any) -> Row:  # noqa: ANN401
    columns = ("level", "run_id", "condition", "arm", "seed", "trajectory", "checkpoint", "axis")
    return {
        "endpoint": endpoint, "statistic": statistic, **{name: unit.get(name) for name in columns},
        "value": value, "source": source,
    }  # fmt: skip


def write_registers(folder: Path, plan_digest: str) -> Iterator[str]:
    """Write published/counts.parquet, published/reported.parquet and runs.parquet below `folder`.

    Args:
        folder: the registers folder of a repository.
        plan_digest: SHA-256 of the frozen plan that the runs belong to.

    Yields:
        One line per file.

    Raises:
        ArchiveError: a file exists already.
        StudyError: a printed figure that does not stand for one count.
    """
    published = folder / "published"
    published.mkdir(parents=True, exist_ok=True)
    index = folder / "runs.parquet"
    siblings = []
    for kind, rows in (("counts", list(count_rows())), ("reported", list(reported_rows()))):
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        info = write_register(published / f"{kind}.parquet", kind, columns)
        siblings.append(sibling_of(index, kind, info.path))
        yield f"{info.path}: {info.rows} rows, sha256 {info.sha256}"
    runs = [_run(run, plan_digest, tuple(siblings)) for run in tables.RUNS]
    runs.append(_run(tables.UNCOUNTED, plan_digest, (siblings[0],), exclusion="cross-stack-replication"))
    write_runs(index, runs)
    yield f"{index}: {len(runs)} runs"


def _run(
    run: PublishedRun, plan_digest: str, siblings: tuple[Any, ...], exclusion: str | None = None
) -> RunRow:
    torch = "2.11.0 (ROCm)" if run.accelerator == "MI300X" else "2.13.0"
    return RunRow(
        run_id=run.run_id, study=STUDY, plan_digest=plan_digest, condition=run.condition, arm=run.arm, seed=run.seed,
        counted=exclusion is None, exclusion_reason=exclusion, accelerator=run.accelerator, provider=run.provider,
        code_commit=run.commit or None, registers=siblings,
        stack=f"torch {torch}, trl 1.12.0, vllm 0.27.1, transformers 5.16.1, peft 0.20.0, flash-linear-attention 0.5.2",
    )  # fmt: skip

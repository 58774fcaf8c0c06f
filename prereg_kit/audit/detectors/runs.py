"""Runs: planned against found, when they ran, what became of them, and what git knew of the index before."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from prereg_kit.audit.findings import Finding
from prereg_kit.audit.sources import FrozenPlan, Repository
from prereg_kit.audit.times import clearly_before, parse_time
from prereg_kit.decision.ledger import ledger
from prereg_kit.decision.verdict import LedgerRow
from prereg_kit.errors import PreregError
from prereg_kit.registers.file.index import read_runs
from prereg_kit.registers.formats import RunRow


def find(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Findings about the runs of a plan."""
    yield from _before_freeze(plan)
    yield from _ledger(plan)
    yield from _again(plan)
    yield from _clocks(plan, repo)
    yield from _duplicates(plan, repo)
    yield from _stacks(plan)
    yield from _earlier_indexes(plan, repo)


def ledger_of(plan: FrozenPlan) -> tuple[LedgerRow, ...]:
    """Planned and found runs of a plan; empty where the plan does not read or no index names it."""
    if plan.loaded is None or not (plan.runs or plan.loaded.effective.plan.runs.cells()):
        return ()
    return ledger(plan.loaded.effective.plan.runs, plan.rows())


def _before_freeze(plan: FrozenPlan) -> Iterator[Finding]:
    frozen = plan.frozen_at()
    if frozen is None or plan.retrospective:
        return
    told = {run for disclosure in plan.log.disclosures for run in disclosure.runs}
    if plan.loaded is not None:
        told |= {run for each in plan.loaded.effective.original.disclosures for run in each.runs}
    for run in plan.rows():
        if not clearly_before(parse_time(run.started_at), frozen.when):
            continue
        disclosed = run.run_id in told
        yield Finding(
            "run-before-freeze-disclosed" if disclosed else "run-before-freeze",
            f"{plan.id}: {run.run_id}",
            f"Run {run.run_id} started before the plan was frozen"
            + ("; a disclosure names it." if disclosed else ", and no disclosure names it."),
            {"started_at": str(run.started_at), "frozen": f"{frozen.when.isoformat()} ({frozen.grade})"},
        )


def _ledger(plan: FrozenPlan) -> Iterator[Finding]:
    if plan.loaded is None:
        return
    matrix = plan.loaded.effective.plan.runs
    if plan.runs and not matrix.cells():
        yield Finding(
            "guard-off",
            plan.id,
            "The plan names no planned runs, so nobody can tell from it whether a run is missing or was added.",
        )
    explained = {subject for entry in plan.log.deviations for subject in entry.subjects}
    listed = {exclusion.id for exclusion in matrix.exclusions}
    for run in plan.rows():
        if not run.counted and run.exclusion_reason not in listed:
            yield Finding(
                "exclusion-unlisted",
                f"{plan.id}: {run.run_id}",
                f"Run {run.run_id} is left out for a reason that the frozen plan does not list.",
                {"reason": str(run.exclusion_reason), "listed": ", ".join(sorted(listed)) or "none"},
            )
    if not plan.runs:
        return
    for row in ledger_of(plan):
        yield from _row(plan, row, explained)


def _row(plan: FrozenPlan, row: LedgerRow, explained: set[str]) -> Iterator[Finding]:
    cell = " ".join(each for each in (row.condition, row.arm, row.seed) if each)
    subject = f"{plan.id}: {row.run_id}"
    evidence = {"condition, arm, seed": cell} | ({"reason": row.reason} if row.reason else {})
    if row.status == "missing":
        said = row.run_id in explained or cell in explained
        yield Finding(
            "run-missing",
            subject,
            f"The planned run {row.run_id} has no result that counts.",
            evidence,
            "note" if said else None,
        )
    elif row.status == "not_run":
        yield Finding("run-not-run", subject, f"The planned run {row.run_id} was not run.", evidence)
    elif row.status == "extra":
        yield Finding(
            "run-extra",
            subject,
            f"Run {row.run_id} is not in the plan.",
            evidence,
            "note" if row.run_id in explained else None,
        )
    elif row.status == "excluded":
        yield Finding(
            "run-excluded",
            subject,
            f"Run {row.run_id} is left out for a reason of the frozen plan.",
            evidence,
        )


def _again(plan: FrozenPlan) -> Iterator[Finding]:
    """A completed run that was made again: as another attempt, or as another run of the same cell."""
    by_run: dict[str, list[RunRow]] = defaultdict(list)
    by_cell: dict[tuple[str, str, int], list[RunRow]] = defaultdict(list)
    for run in plan.rows():
        by_run[run.run_id].append(run)
    for attempts in by_run.values():
        attempts.sort(key=lambda run: run.attempt)
        by_cell[attempts[-1].condition, attempts[-1].arm, attempts[-1].seed].append(attempts[-1])
        for earlier, later in pairwise(attempts):
            if earlier.status == "completed":
                yield Finding(
                    "rerun-after-completion",
                    f"{plan.id}: {later.run_id}",
                    f"Run {later.run_id} was complete at attempt {earlier.attempt} and was made again.",
                    {"complete": str(earlier.finished_at), "again": str(later.started_at)},
                )
    for cell, runs in by_cell.items():
        complete = [run for run in runs if run.status == "completed"]
        counted = [run for run in complete if run.counted]
        names = ", ".join(run.run_id for run in complete)
        if len(counted) > 1:
            yield Finding(
                "run-repeated",
                f"{plan.id}: {names}",
                f"Two completed runs of one planned cell are counted: {names}.",
                {"cell": " ".join(map(str, cell))},
            )
        elif len(complete) > 1 and counted and _later(counted[0], complete) and not _named(plan, complete):
            yield Finding(
                "rerun-after-completion",
                f"{plan.id}: {counted[0].run_id}",
                f"The cell {' '.join(map(str, cell))} had a completed run that is left out, and a later one counts.",
                {
                    "runs": names,
                    "reasons": ", ".join(str(run.exclusion_reason) for run in complete if not run.counted),
                },
                "warning",  # the frozen plan lists the reason; one that it does not list is a finding of its own
            )


def _later(counted: RunRow, complete: list[RunRow]) -> bool:
    others = [parse_time(run.finished_at) for run in complete if run is not counted]
    start = parse_time(counted.started_at)
    return start is not None and any(each is not None and each <= start for each in others)


def _named(plan: FrozenPlan, runs: list[RunRow]) -> bool:
    """A deviation or a disclosure names one of these runs: the reader is told."""
    told = {subject for entry in plan.log.deviations for subject in entry.subjects}
    return any(run.run_id in told for run in runs)


def _clocks(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    for run in plan.rows():
        start, end = parse_time(run.started_at), parse_time(run.finished_at)
        if start is not None and end is not None and end < start:
            problem = "ended before it started"
        elif clearly_before(repo.at, start) or clearly_before(repo.at, end):
            problem = "has times that lie in the future"
        else:
            continue
        yield Finding(
            "run-times-impossible",
            f"{plan.id}: {run.run_id}",
            f"Run {run.run_id} {problem}.",
            {"started_at": str(run.started_at), "finished_at": str(run.finished_at)},
        )


def _duplicates(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Two runs whose registers hold the same rows, apart from the names of run and seed."""
    from prereg_kit.audit.rows import same_content

    for one, other, kind in same_content(plan.runs):
        yield Finding(
            "run-duplicated",
            f"{plan.id}: {other.run_id}",
            f"The {kind} rows of run {other.run_id} are those of run {one.run_id} under another name.",
            {"first": one.run_id, "second": other.run_id},
        )


def _stacks(plan: FrozenPlan) -> Iterator[Finding]:
    """Arms of one pair on different machines or software, and configurations that differ within an arm."""
    told = {subject for entry in plan.log.deviations for subject in entry.subjects}
    counted = [run for run in plan.rows() if run.counted and run.status == "completed"]
    pairs: dict[tuple[str, int], list[RunRow]] = defaultdict(list)
    arms: dict[tuple[str, str], list[RunRow]] = defaultdict(list)
    for run in counted:
        pairs[run.condition, run.seed].append(run)
        arms[run.condition, run.arm].append(run)
    for (condition, seed), runs in pairs.items():
        for name in ("accelerator", "stack"):
            values = {getattr_of(run, name) for run in runs} - {None}
            if len(values) > 1 and not any(run.run_id in told for run in runs):
                yield Finding(
                    "pair-on-two-stacks",
                    f"{plan.id}: {condition} seed {seed}",
                    f"The arms of pair {seed} of {condition or 'the study'} ran on different {name}s.",
                    {run.run_id: str(getattr_of(run, name)) for run in runs},
                )
    for (condition, arm), runs in arms.items():
        commits = {run.code_commit for run in runs} - {None}
        if len(commits) > 1 and not any(run.run_id in told for run in runs):
            yield Finding(
                "config-differs",
                f"{plan.id}: {condition} {arm}",
                f"Runs of {arm} in {condition or 'the study'} ran different code.",
                {run.run_id: str(run.code_commit) for run in runs},
            )


def getattr_of(run: RunRow, name: str) -> str | None:
    """The accelerator or the software of a run."""
    return run.accelerator if name == "accelerator" else run.stack


def _earlier_indexes(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """What earlier versions of the indexes said of runs: none may vanish, change its times, or stop being complete."""
    now = {(run.run_id, run.attempt): run for run in plan.rows()}
    for path in repo.history.paths():
        if not path.endswith(".parquet"):
            continue
        for change in repo.history.of(path)[:-1]:
            yield from _earlier(plan, repo, path, change.commit.id, repo.history.read(change), now)


def _earlier(
    plan: FrozenPlan,
    repo: Repository,
    path: str,
    commit: str,
    data: bytes,
    now: dict[tuple[str, int], RunRow],
) -> Iterator[Finding]:
    for run in _read(data):
        if run.plan_digest != plan.digest:
            continue
        present = now.get((run.run_id, run.attempt))
        subject, evidence = f"{plan.id}: {run.run_id}", {"index": path, "commit": commit}
        if present is None:
            yield Finding(
                "run-vanished",
                subject,
                f"An earlier index names run {run.run_id}, which stands in none now.",
                {**evidence, "status": run.status, "finished_at": str(run.finished_at)},
            )
            continue
        changed = [
            f"{name} was {old}, now {new}"
            for name, old, new in (
                ("started_at", run.started_at, present.started_at),
                ("finished_at", run.finished_at, present.finished_at),
            )
            if old is not None and old != new
        ]
        if changed:
            yield Finding(
                "run-times-changed",
                subject,
                f"The times of run {run.run_id} were changed in the index.",
                {**evidence, "changed": "; ".join(changed)},
            )
        lost = (
            run.status == "completed"
            and run.counted
            and (present.status != "completed" or not present.counted)
        )
        if lost and not _named(plan, [run]):
            yield Finding(
                "run-status-changed",
                subject,
                f"Run {run.run_id} was complete and counted in an earlier index; now it is "
                + ("left out." if present.status == "completed" else f"{present.status}."),
                {**evidence, "reason": str(present.exclusion_reason)},
            )


def _read(data: bytes) -> tuple[RunRow, ...]:
    """The rows of an index's bytes; none where they are not an index."""
    if b"prereg.runs/" not in data:
        return ()
    with tempfile.TemporaryDirectory(prefix="prereg-audit-") as folder:
        path = Path(folder, "runs.parquet")
        path.write_bytes(data)
        try:
            return read_runs(path)
        except PreregError:
            return ()

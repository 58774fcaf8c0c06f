"""Registers: their digests against the index, rows of runs that count nowhere, schedules that tasks share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from prereg_kit.audit.findings import Finding
from prereg_kit.audit.rows import shared_schedules
from prereg_kit.audit.sources import FrozenPlan, Repository, digest_of
from prereg_kit.errors import PreregError
from prereg_kit.registers.file.content import columns_of


def find(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Findings about the registers of a plan's runs."""
    files: dict[Path, str] = {}
    for run, index in plan.runs:
        for sibling in run.registers:
            path = index.parent / sibling.path
            found = digest_of(path)
            files[path] = sibling.kind
            if found is None:
                yield Finding(
                    "register-absent",
                    f"{plan.id}: {run.run_id}",
                    f"The register {sibling.path} of run {run.run_id} is not here.",
                    {"sha256": sibling.sha256},
                )
            elif found != sibling.sha256:
                yield Finding(
                    "register-altered",
                    f"{plan.id}: {run.run_id}",
                    f"The register {repo.name(path)} is not the one that the index recorded for run {run.run_id}.",
                    {"recorded": sibling.sha256, "found": found},
                )
    yield from _whole_failures(plan)
    yield from _schedules(plan, repo, files)


def _whole_failures(plan: FrozenPlan) -> Iterator[Finding]:
    """A run that is called failed and holds as many rows as the ones that count."""
    rows = Counter(
        {
            (sibling.kind, sibling.rows)
            for run in plan.rows()
            if run.status == "completed"
            for sibling in run.registers
        }
    )
    told = {subject for entry in plan.log.deviations for subject in entry.subjects}
    for run in plan.rows():
        later = any(
            r.run_id == run.run_id and r.attempt > run.attempt and r.status == "completed"
            for r in plan.rows()
        )
        if run.status != "failed" or later or run.run_id in told or not run.registers:
            continue
        if all((sibling.kind, sibling.rows) in rows for sibling in run.registers):
            yield Finding(
                "failed-run-is-whole",
                f"{plan.id}: {run.run_id}",
                f"Run {run.run_id} is called failed, and its registers are as long as those of runs that count.",
                {sibling.path: f"{sibling.rows} rows" for sibling in run.registers},
            )


def _schedules(plan: FrozenPlan, repo: Repository, files: dict[Path, str]) -> Iterator[Finding]:
    for path, kind in files.items():
        shared = shared_schedules(path) if kind == "episodes" and path.is_file() else {}
        if shared:
            seed, tasks = next(iter(shared.items()))
            yield Finding(
                "schedule-shared",
                f"{plan.id}: {repo.name(path)}",
                f"{len(shared)} fault schedules of {repo.name(path)} are shared by several tasks, so chance is not "
                "independent between tasks.",
                {"for instance": f"{seed}: {', '.join(tasks[:4])}"},
            )


def strays(repo: Repository) -> Iterator[Finding]:
    """Findings about the whole repository: registers that no index names, indexes that name no plan here."""
    named = {
        (index.path.parent / sibling.path).resolve()
        for index in repo.indexes
        for run in index.runs
        for sibling in run.registers
    }
    homes = {path.parent for path in named}
    decided = {
        (repo.root / ref.path).resolve()
        for decision in repo.decisions
        if decision.verdicts is not None
        for ref in decision.verdicts.registers
    }
    known = {run.run_id for index in repo.indexes for run in index.runs}
    for register in repo.registers:
        path = register.path.resolve()
        if path in named or path in decided or not homes:
            continue
        runs = _runs_in(register.path)
        if runs and not runs <= known:
            yield Finding(
                "register-unindexed",
                repo.name(register.path),
                f"{repo.name(register.path)} holds rows of runs that stand in no index: "
                f"{', '.join(sorted(runs - known)[:4])}.",
                {"sha256": register.sha256},
            )
    digests = {plan.digest for plan in repo.plans}
    for index in repo.indexes:
        if index.problem:
            yield Finding(
                "unreadable-register",
                repo.name(index.path),
                f"{repo.name(index.path)} cannot be read.",
                {"problem": index.problem},
            )
        lost = sorted({run.run_id for run in index.runs if run.plan_digest not in digests})
        if lost:
            yield Finding(
                "run-names-no-plan",
                repo.name(index.path),
                f"Runs of {repo.name(index.path)} were made under a plan that is not frozen "
                f"here: {', '.join(lost[:4])}.",
                {
                    "plans named": ", ".join(
                        sorted({r.plan_digest for r in index.runs if r.plan_digest not in digests})
                    )
                },
            )


def _runs_in(path: Path) -> set[str]:
    try:
        return {str(value) for value in columns_of(path, None).get("run_id", ()) if value is not None}
    except PreregError:
        return set()

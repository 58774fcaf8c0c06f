"""Frozen plans: their bytes, their stamps, their twins, and what git knew of them before."""

from __future__ import annotations

from collections.abc import Iterator

from prereg_kit.audit.field_diff import changed_fields
from prereg_kit.audit.findings import Finding
from prereg_kit.audit.sources import FrozenPlan, Repository, digest_of
from prereg_kit.audit.times import clearly_before, parse_time
from prereg_kit.foundation.digest import sha256_bytes


def find(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Findings about the frozen document itself."""
    yield from _bytes(plan, repo)
    yield from _stamps(plan)
    yield from _times(plan, repo)
    yield from _replaced(plan, repo)
    yield from _twins(plan, repo)
    yield from _materials(plan, repo)
    if plan.log.withdrawn & {"plan"}:
        yield Finding("plan-withdrawn", plan.id, f"The study {plan.id} was withdrawn by its authors.")


def _bytes(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    if plan.record is None:
        yield Finding(
            "frozen-unreadable",
            plan.id,
            "The frozen folder has no record that can be read.",
            {"problem": plan.problem},
        )
        return
    if plan.report.status != "altered":
        if plan.problem and plan.loaded is None and not _of_amendments(plan):
            yield Finding(
                "frozen-unreadable", plan.id, "The frozen plan cannot be read.", {"problem": plan.problem}
            )
        return
    path = plan.folder / plan.record.document.path
    data = path.read_bytes() if path.is_file() else b""
    endings = data.replace(b"\r\n", b"\n")
    if data and sha256_bytes(data) != plan.digest and sha256_bytes(endings) == plan.digest:
        yield Finding(
            "frozen-line-endings",
            plan.id,
            "The frozen plan differs from its record in line endings only; its text is the one that was frozen.",
            {"file": repo.name(path)},
        )
        return
    if data and sha256_bytes(data) == plan.digest:  # the document stands; something beside it does not
        yield Finding(
            "timestamp-rejected",
            plan.id,
            "A file beside the frozen plan does not match its record.",
            {"problem": "; ".join(plan.report.problems)},
        )
        return
    original = _original(plan, repo)
    evidence = {"file": repo.name(path), "recorded": plan.digest, "found": sha256_bytes(data)}
    if original is not None:
        evidence |= changed_fields(original, data)
    yield Finding(
        "frozen-altered", plan.id, "The frozen plan's bytes are not the ones that its record names.", evidence
    )


def _of_amendments(plan: FrozenPlan) -> bool:
    return bool(plan.amendments) or "amend" in plan.problem


def _original(plan: FrozenPlan, repo: Repository) -> bytes | None:
    """The bytes that the record names, from git, where it has them."""
    assert plan.record is not None
    for change in repo.history.of(repo.name(plan.folder / plan.record.document.path)):
        data = repo.history.read(change)
        if sha256_bytes(data) == plan.digest:
            return data
    return None


def _stamps(plan: FrozenPlan) -> Iterator[Finding]:
    if plan.record is None:
        return
    for stamp in plan.report.stamps:
        if stamp.verdict == "reject" and stamp.reason != "demo-mismatch" and not _demo_hidden(stamp.problem):
            yield Finding(
                "timestamp-rejected",
                plan.id,
                f"The timestamp of {stamp.operator} does not hold for these bytes.",
                {"reason": stamp.reason, "problem": stamp.problem},
            )
        if stamp.demo and not _marked_demo(plan, stamp.operator):
            yield Finding(
                "demo-as-evidence",
                plan.id,
                f"The stamp recorded for {stamp.operator} comes from the demonstration "
                "authority, which proves nothing.",
                {"operator": stamp.operator},
            )
        elif stamp.verdict == "reject" and _demo_hidden(stamp.problem):
            yield Finding(
                "demo-as-evidence",
                plan.id,
                f"The stamp recorded for {stamp.operator} comes from the demonstration "
                "authority, which proves nothing.",
                {"problem": stamp.problem},
            )
    if plan.report.status in ("demo", "not stamped", "below quorum", "not checked"):
        yield Finding(
            "not-anchored",
            plan.id,
            f"No quorum of verified timestamps says when the plan was frozen ({plan.report.status}).",
            {
                "status": plan.report.status,
                "problems": "; ".join((*plan.report.problems, *plan.report.not_checked)),
            },
        )


def _demo_hidden(problem: str) -> bool:
    return "demo" in problem.lower()


def _marked_demo(plan: FrozenPlan, operator: str) -> bool:
    assert plan.record is not None
    return any(stamp.demo for stamp in plan.record.stamps if stamp.operator == operator)


def _times(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """The record's own time against the stamps: it may not lie clearly after them, nor days before."""
    if plan.record is None:
        return
    declared = parse_time(plan.record.frozen_at)
    stamped = [s.claimed for s in plan.report.stamps if s.claimed is not None and s.verdict == "accept"]
    earliest = min(stamped, default=None)
    if declared is None or earliest is None:
        return
    late = clearly_before(earliest, declared)
    early = (earliest - declared).days >= 1
    if late or early:
        yield Finding(
            "frozen-time-contradicted",
            plan.id,
            "The record says that the plan was frozen "
            + ("after its own timestamp." if late else "days before anybody stamped it."),
            {"declared": plan.record.frozen_at, "stamped": earliest.isoformat()},
        )


def _replaced(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Another plan stood in this folder before, with a record of its own."""
    if plan.record is None:
        return
    path = repo.name(plan.folder / plan.record.document.path)
    present = digest_of(plan.folder / plan.record.document.path)
    earlier = {}
    for change in repo.history.of(path):
        data = repo.history.read(change)
        if change.blob is not None and sha256_bytes(data) not in (plan.digest, present):
            earlier[sha256_bytes(data)] = (change, data)
    for digest, (change, data) in earlier.items():
        if sha256_bytes(data.replace(b"\r\n", b"\n")) == plan.digest:
            continue
        started = [row for row in plan.rows() if row.started_at]
        yield Finding(
            "plan-replaced",
            plan.id,
            "Git holds another plan that was frozen in this folder before: the plan was frozen anew.",
            {
                "earlier": digest,
                "commit": change.commit.id,
                "committed_at": change.commit.committed_at.isoformat(),
                "runs that name the present plan": str(len(started)),
                **changed_fields(data, _present(plan)),
            },
            "note" if plan.retrospective else None,
        )


def _present(plan: FrozenPlan) -> bytes:
    assert plan.record is not None
    path = plan.folder / plan.record.document.path
    return path.read_bytes() if path.is_file() else b""


def _twins(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Two frozen plans with hypotheses of one name over the same arms and runs, and different rules."""
    if plan.loaded is None:
        return
    mine = plan.loaded.effective.original
    for other in repo.plans:
        if other.loaded is None or other.digest == plan.digest or other.id <= plan.id:
            continue
        theirs = other.loaded.effective.original
        shared = sorted(set(mine.hypotheses) & set(theirs.hypotheses))
        same_ground = mine.arms == theirs.arms and {e.statement for e in mine.hypotheses.values()} & {
            e.statement for e in theirs.hypotheses.values()
        }
        same_rows = {(r.path, r.sha256) for row in plan.rows() for r in row.registers} & {
            (r.path, r.sha256) for row in other.rows() for r in row.registers
        }
        overlapping = set(mine.runs.cells()) & set(theirs.runs.cells())
        differing = [name for name in shared if mine.hypotheses[name] != theirs.hypotheses[name]]
        differing += [
            f"endpoint {n}"
            for n in sorted(set(mine.endpoints) & set(theirs.endpoints))
            if mine.endpoints[n] != theirs.endpoints[n]
        ]
        if shared and differing and (same_rows or (same_ground and (overlapping or not mine.runs.cells()))):
            yield Finding(
                "plan-twin",
                plan.id,
                f"The plans {plan.id} and {other.id} bind the same runs with different rules: either could be shown.",
                {"differing": ", ".join(differing), "other": repo.name(other.folder)},
            )


def _materials(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    if plan.loaded is None:
        return
    for material in plan.loaded.effective.plan.materials:
        found = digest_of(repo.root / material.path)
        if found is not None and found != material.sha256:
            yield Finding(
                "material-changed",
                plan.id,
                f"{material.path} is not the file that the plan binds.",
                {"bound": material.sha256, "found": found, "what": material.what},
            )

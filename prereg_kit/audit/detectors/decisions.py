"""Decisions: whether each verdicts.json comes out again from the plan and the registers that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prereg_kit import __version__
from prereg_kit.audit.findings import Finding
from prereg_kit.audit.replay import version_of
from prereg_kit.audit.sources import Decision, FrozenPlan, Repository, digest_of
from prereg_kit.decision.verdict import Verdict, Verdicts
from prereg_kit.errors import PreregError
from prereg_kit.evidence.frozen_plans import LoadedPlan
from prereg_kit.operations.decide import decide_loaded
from prereg_kit.registers.file import open_register

_MOST = 8


def find(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Findings about the decisions on a plan."""
    for decision in plan.decisions:
        yield from _one(plan, repo, decision)


def unreadable(repo: Repository) -> Iterator[Finding]:
    """Verdict files that do not read, and those of plans that are not frozen here."""
    known = {plan.digest for plan in repo.plans}
    for decision in repo.decisions:
        name = repo.name(decision.path)
        if decision.verdicts is None:
            yield Finding(
                "decision-unreadable",
                name,
                f"{name} cannot be read as verdicts.",
                {"problem": decision.problem},
            )
        elif decision.verdicts.plan.frozen and decision.verdicts.plan.digest not in known:
            same_id = any(plan.id == decision.verdicts.plan.id for plan in repo.plans)
            yield Finding(
                "decision-does-not-recompute" if same_id else "decision-not-checked",
                name,
                f"{name} decides a plan whose frozen bytes are not here"
                + (", although a plan of that id is." if same_id else "."),
                {"plan": decision.verdicts.plan.digest},
                None if same_id else "note",
            )


def _one(plan: FrozenPlan, repo: Repository, decision: Decision) -> Iterator[Finding]:
    verdicts = decision.verdicts
    assert verdicts is not None
    name = repo.name(decision.path)
    if verdicts.plan.digest != plan.digest:
        return  # it names another digest: `unreadable` says so, once
    if verdicts.evaluator != f"prereg-kit {__version__}":
        yield Finding(
            "decision-by-another-evaluator",
            name,
            f"{name} was made by {verdicts.evaluator}; this is {__version__}.",
        )
    changed = [
        ref
        for ref in verdicts.registers
        if (found := digest_of(repo.root / ref.path)) and found != ref.sha256
    ]
    if changed:
        yield Finding(
            "decision-of-older-registers",
            name,
            f"The registers of {name} have changed since it was made: {', '.join(ref.path for ref in changed[:3])}.",
            {ref.path: f"decided on {ref.sha256}" for ref in changed},
        )
        return
    absent = [ref.path for ref in verdicts.registers if digest_of(repo.root / ref.path) is None]
    loaded = _version(plan, verdicts)
    if absent or loaded is None:
        yield Finding(
            "decision-not-checked",
            name,
            f"{name} cannot be computed again: something that it rests on is not here.",
            {"absent": ", ".join(absent) or "an amendment, or the plan"},
        )
        return
    try:
        again = decide_loaded(
            loaded, open_register(_inputs(plan, repo, verdicts), plan_digest=plan.digest)
        ).verdicts
    except PreregError as error:
        yield Finding(
            "decision-does-not-recompute",
            name,
            f"{name} cannot be computed again: deciding is refused.",
            {"problem": str(error)},
        )
        return
    differing = differences(verdicts, again)
    if differing:
        yield Finding(
            "decision-does-not-recompute",
            name,
            f"{name} does not come out of the frozen plan and the registers that it names.",
            dict(differing[:_MOST]),
        )
    yield from _reports(decision, repo)


def _version(plan: FrozenPlan, verdicts: Verdicts) -> LoadedPlan | None:
    """The plan with the amendments that the decision names, which must be the first ones of the chain."""
    if plan.loaded is None:
        return None
    applied = [each.source.digest for each in plan.loaded.effective.amendments]
    named = [ref.digest for ref in verdicts.plan.amendments]
    return version_of(plan.loaded, len(named)) if applied[: len(named)] == named else None


def _inputs(plan: FrozenPlan, repo: Repository, verdicts: Verdicts) -> list[Path]:
    """The indexes of the plan's runs if the decision used one, and whatever they do not name."""
    files = [repo.root / ref.path for ref in verdicts.registers]
    indexes = list(dict.fromkeys(path for _, path in plan.runs)) if verdicts.ledger else []
    named = (
        {(index.parent / s.path).resolve() for run, index in plan.runs for s in run.registers}
        if indexes
        else set()
    )
    return [*indexes, *(path for path in files if path.resolve() not in named)]


def differences(said: Verdicts, again: Verdicts) -> list[tuple[str, str]]:
    """Place -> "says A, comes out as B", of everything that a verdict states about a hypothesis or a prediction."""
    found: list[tuple[str, str]] = []
    for name in dict.fromkeys((*said.hypotheses, *again.hypotheses)):
        found += _verdict(name, said.hypotheses.get(name), again.hypotheses.get(name))
    for name in dict.fromkeys((*said.predictions, *again.predictions)):
        one, other = said.predictions.get(name), again.predictions.get(name)
        if one is None or other is None or one.outcome != other.outcome or one.confidence != other.confidence:
            found.append((name, f"says {_outcome(one)}, comes out as {_outcome(other)}"))
    for name in dict.fromkeys((*said.gates, *again.gates)):
        mine, theirs = said.gates.get(name), again.gates.get(name)
        if mine is None or theirs is None or (mine.holds, mine.then) != (theirs.holds, theirs.then):
            found.append((name, "the gate comes out otherwise"))
    one_ledger = {(row.run_id, row.status) for row in said.ledger}
    other_ledger = {(row.run_id, row.status) for row in again.ledger}
    for run_id, status in sorted(one_ledger ^ other_ledger)[:_MOST]:
        where = "the decision" if (run_id, status) in one_ledger else "the register"
        found.append((f"ledger {run_id}", f"{status} only in {where}"))
    return found


def _verdict(name: str, one: Verdict | None, other: Verdict | None) -> list[tuple[str, str]]:
    if one is None or other is None:
        where = (
            "is decided, and is not in the plan" if other is None else "is in the plan, and is not decided"
        )
        return [(name, where)]
    found = []
    for field in (
        "outcome",
        "result",
        "rule",
        "rule_from",
        "endpoint",
        "unit",
        "estimate",
        "interval",
        "per_seed",
        "interval_excludes_zero",
        "clauses",
    ):
        mine, theirs = getattr(one, field), getattr(other, field)
        if mine != theirs:
            found.append((f"{name} {field}", f"says {_short(mine)}, comes out as {_short(theirs)}"))
    for reading in dict.fromkeys((*one.readings, *other.readings)):
        found += _verdict(f"{name} ({reading})", one.readings.get(reading), other.readings.get(reading))
    return found


def _outcome(value: object) -> str:
    return "nothing" if value is None else str(getattr(value, "outcome", value))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else text[:120] + "..."


def _reports(decision: Decision, repo: Repository) -> Iterator[Finding]:
    """Reports beside the verdicts, rendered again: CSV and Markdown, which carry every outcome as text."""
    from prereg_kit import report

    assert decision.verdicts is not None
    for suffix in ("md", "csv"):
        for path in sorted(decision.path.parent.glob(f"*.{suffix}")):
            try:
                said = path.read_bytes().decode()
                again = report.render(decision.verdicts, suffix)
            except (OSError, ValueError, PreregError):
                continue
            if _ours(said, again) and said != again:
                line = next(
                    (a for a, b in zip(said.splitlines(), again.splitlines(), strict=False) if a != b), ""
                )
                yield Finding(
                    "report-differs",
                    repo.name(path),
                    f"{repo.name(path)} does not say what the verdicts beside it say.",
                    {"first other line": line[:200]},
                )


def _ours(said: str, again: str) -> bool:
    """Whether a file was made by `prereg render`: it begins like one."""
    return said.splitlines()[:1] == again.splitlines()[:1] and bool(said)

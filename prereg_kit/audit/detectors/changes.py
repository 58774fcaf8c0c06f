"""Amendments and the log of deviations: whether they hold together, and follow what they claim not to know."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from prereg_kit.audit.findings import Finding
from prereg_kit.audit.knowledge import floor_at, of_timing, understates
from prereg_kit.audit.replay import Flip, replay
from prereg_kit.audit.sources import FrozenAmendment, FrozenPlan, Repository, frozen_time
from prereg_kit.audit.times import Moment, clearly_before, parse_time
from prereg_kit.errors import PreregError
from prereg_kit.evidence.deviations import TIMING_IN_WORDS, Disclosure, parse
from prereg_kit.plan.amendment import KNOWN_IN_WORDS


def find(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Findings about amendments and the log."""
    if plan.record is None:
        return
    yield from _chain(plan, repo)
    flips = _flips(plan) if any(_late(plan, repo, each) for each in plan.amendments) else ()
    for amendment in plan.amendments:
        yield from _knowledge(plan, repo, amendment, flips)
        yield from _amendment_times(repo, amendment)
    yield from _log(plan, repo)


def _chain(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    assert plan.record is not None
    parent = plan.digest
    for each in plan.amendments:
        assert each.amendment is not None
        if each.amendment.amends != parent:
            yield Finding(
                "amendment-missing",
                f"{plan.id}: {each.amendment.id}",
                f"Amendment {each.amendment.id} names a parent that is not here: an amendment was removed, or the plan "
                "was changed.",
                {"names": each.amendment.amends, "expected": parent, "folder": repo.name(each.folder)},
            )
        parent = each.digest
    here = {each.digest for each in plan.amendments}
    for decision in plan.decisions:
        assert decision.verdicts is not None
        for ref in decision.verdicts.plan.amendments:
            if ref.digest not in here and decision.verdicts.plan.digest == plan.digest:
                yield Finding(
                    "amendment-missing",
                    f"{plan.id}: {ref.id}",
                    f"The decision {repo.name(decision.path)} rests on amendment {ref.id}, which is not here.",
                    {"digest": ref.digest},
                )
    for path in repo.history.paths():
        parts = path.split("/")
        gone = repo.history.of(path)[-1]
        if (
            parts[0] == "amendments"
            and parts[-1] == "freeze.json"
            and gone.blob is None
            and len(parts) > 1
            and parts[1].startswith(f"{plan.id}-")
        ):
            yield Finding(
                "amendment-missing",
                f"{plan.id}: {parts[1]}",
                f"Git held the amendment {parts[1]}, which was removed.",
                {"commit": gone.commit.id, "committed_at": gone.commit.committed_at.isoformat()},
            )
    refused = plan.loaded is None and plan.problem and plan.report.status != "altered" and plan.amendments
    if refused and not any(each.amendment and each.amendment.amends != p for each, p in _pairs(plan)):
        yield Finding(
            "amendment-does-not-apply",
            plan.id,
            "The amendments do not apply to the frozen plan.",
            {"problem": plan.problem},
        )


def _pairs(plan: FrozenPlan) -> list[tuple[FrozenAmendment, str]]:
    digests = [plan.digest, *(each.digest for each in plan.amendments)]
    return list(zip(plan.amendments, digests, strict=False))


def _flips(plan: FrozenPlan) -> tuple[Flip, ...]:
    if plan.loaded is None or not plan.amendments or not plan.runs:
        return ()
    indexes: list[Path] = list(dict.fromkeys(path for _, path in plan.runs))
    try:
        return replay(plan.loaded, indexes).flips
    except PreregError:
        return ()  # what cannot be decided is the business of the decisions' detector


def decided_at(plan: FrozenPlan, repo: Repository) -> list[tuple[str, datetime]]:
    """The decisions about a plan that git dates: name and the time of the first commit that holds one."""
    found = []
    for path in repo.history.paths():
        if not path.endswith("verdicts.json"):
            continue
        for change in repo.history.of(path):
            if change.blob is not None and plan.digest.encode() in repo.history.read(change):
                found.append((path, change.commit.committed_at))
                break
    return found


def _late(plan: FrozenPlan, repo: Repository, each: FrozenAmendment) -> bool:
    """Whether an amendment came when results existed, by its own word or by the records."""
    at = frozen_time(each.report, each.record)
    if each.amendment is None or at is None:
        return False
    floor = floor_at(at.when, plan.rows(), _seen(plan), decided_at(plan, repo))
    return bool({each.amendment.known, floor.level} & {"results_not_opened", "results_seen"})


def _seen(plan: FrozenPlan) -> list[Disclosure]:
    return list(plan.log.disclosures)


def _knowledge(
    plan: FrozenPlan, repo: Repository, each: FrozenAmendment, flips: tuple[Flip, ...]
) -> Iterator[Finding]:
    amendment = each.amendment
    assert amendment is not None
    at = frozen_time(each.report, each.record)
    if at is None:
        return
    floor = floor_at(at.when, plan.rows(), _seen(plan), decided_at(plan, repo))
    subject = f"{plan.id}: {amendment.id}"
    when = {"amendment": f"{at.when.isoformat()} ({at.grade})", "records": floor.because}
    if understates(amendment.known, floor):
        yield Finding(
            "knowledge-understated",
            subject,
            f"Amendment {amendment.id} says that {KNOWN_IN_WORDS[amendment.known]}; the records show that "
            f"{KNOWN_IN_WORDS[floor.level]}.",
            when,
        )
    level = max((amendment.known, floor.level), key=list(KNOWN_IN_WORDS).index)
    if level in ("results_not_opened", "results_seen"):
        changes = ", ".join(f"{change.op} {change.field}" for change in amendment.changes)
        yield Finding(
            "amendment-follows-results",
            subject,
            f"Amendment {amendment.id} changed the rules when results existed.",
            {**when, "changes": changes},
        )
        for flip in flips:
            if (
                flip.amendment == amendment.id
                and flip.after == "pass"
                and flip.before not in ("pass", "not_run")
            ):
                told = amendment.known == "results_seen"
                yield Finding(
                    "amendment-flips-outcome",
                    subject,
                    f"Amendment {amendment.id}, made when results existed, turns {flip.hypothesis} from "
                    f"{flip.before or 'not registered'} into {flip.after}"
                    + (
                        "; its author says that the results had been seen: known in advance, no new confirmation."
                        if told
                        else "."
                    ),
                    {**when, "changes": changes},
                    "note" if plan.retrospective else "warning" if told else None,
                )


def _amendment_times(repo: Repository, each: FrozenAmendment) -> Iterator[Finding]:
    amendment = each.amendment
    assert amendment is not None
    at: Moment | None = frozen_time(each.report, each.record)
    written = parse_time(amendment.written)
    declared = parse_time(each.record.frozen_at) if each.record else None
    stamped = [s.claimed for s in each.report.stamps if s.claimed is not None and s.verdict == "accept"]
    if written is not None and at is not None and clearly_before(at.when, written):
        yield Finding(
            "amendment-time-contradicted",
            f"{amendment.plan}: {amendment.id}",
            f"Amendment {amendment.id} says that it was written after it was frozen.",
            {"written": str(amendment.written), "frozen": at.when.isoformat()},
        )
    if declared is not None and stamped and (min(stamped) - declared).days >= 1:
        yield Finding(
            "amendment-time-contradicted",
            f"{amendment.plan}: {amendment.id}",
            f"The record says that amendment {amendment.id} was frozen days before anybody stamped it.",
            {
                "declared": str(each.record.frozen_at if each.record else None),
                "stamped": min(stamped).isoformat(),
            },
        )


def _log(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    log = plan.log
    for broken in log.breaks:
        yield Finding(
            "log-broken",
            plan.id,
            f"Line {broken.line} of the log of deviations {broken.problem}.",
            {"file": repo.name(log.path), "line": str(broken.line)},
        )
    yield from _shortened(plan, repo)
    previous: datetime | None = None
    for entry in log.entries:
        at = parse_time(entry.written_at)
        if clearly_before(at, previous):
            yield Finding(
                "log-times-disorder",
                f"{plan.id}: {entry.id}",
                f"Entry {entry.id} says that it was written before the entry above it.",
                {"written_at": entry.written_at},
            )
        previous = at or previous
    for deviation in log.deviations:
        at = parse_time(deviation.written_at)
        if at is None:
            continue
        others = [d for d in log.disclosures if d.number < deviation.number]
        floor = floor_at(at, plan.rows(), others, decided_at(plan, repo))
        claimed = of_timing(deviation.timing)
        # A deviation while data come in is often written up when the first runs are complete: no fault, and no finding.
        certain = deviation.timing == "before-data" or floor.level == "results_seen"
        if certain and understates(claimed, floor):
            yield Finding(
                "deviation-entered-late",
                f"{plan.id}: {deviation.id}",
                f"Deviation {deviation.id} says it was made {TIMING_IN_WORDS[deviation.timing]}, and was entered when "
                f"{KNOWN_IN_WORDS[floor.level]}: nothing but its author's word says that it was decided earlier.",
                {"written_at": deviation.written_at, "records": floor.because},
                "note" if plan.retrospective else None,
            )
        yield Finding(
            "deviation",
            f"{plan.id}: {deviation.id}",
            f"Deviation from {', '.join(deviation.subjects)}: planned was “{deviation.planned}”, "
            f"done was “{deviation.done}”.",
            {
                "reason": deviation.reason,
                "timing": TIMING_IN_WORDS[deviation.timing],
                "severity": deviation.severity,
                "validity": deviation.validity,
                "written_at": deviation.written_at,
            },
        )
    for disclosure in log.disclosures:
        yield Finding(
            "disclosure",
            f"{plan.id}: {disclosure.id}",
            f"{disclosure.who} saw {disclosure.saw} at {disclosure.seen_at}.",
            {"runs": ", ".join(disclosure.runs)},
        )


def _shortened(plan: FrozenPlan, repo: Repository) -> Iterator[Finding]:
    """Entries that git, or a decision, saw and the log no longer holds."""
    present = plan.log.path.read_bytes() if plan.log.path.is_file() else b""
    for change in repo.history.of(repo.name(plan.log.path)):
        data = repo.history.read(change)
        whole = data[: data.rfind(b"\n") + 1]
        if whole and not present.startswith(whole):
            earlier = parse(whole, plan.digest, plan.log.path)
            gone = [e.id for e in earlier.entries if e not in plan.log.entries]
            yield Finding(
                "log-shortened",
                plan.id,
                "Git holds entries of the log of deviations that are no longer there: "
                + (", ".join(gone) or "other bytes")
                + ".",
                {"commit": change.commit.id, "committed_at": change.commit.committed_at.isoformat()},
            )
            return

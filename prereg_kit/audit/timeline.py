"""The timeline of a study from all sources, and the orders that can be claimed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from prereg_kit.audit.detectors.changes import decided_at
from prereg_kit.audit.sources import FrozenPlan, Repository, frozen_time
from prereg_kit.audit.times import Event, Moment, Order, clearly_before, parse_time
from prereg_kit.evidence.deviations import Deviation, Disclosure


def events(plan: FrozenPlan, repo: Repository) -> tuple[Event, ...]:
    """Everything that happened to a study, in the order of its times; what has no time comes last."""
    found = [*_documents(plan, repo), *_log(plan, repo), *_runs(plan, repo), *_decisions(plan, repo)]
    return tuple(
        sorted(found, key=lambda e: (e.at is None, e.at.when.timestamp() if e.at else 0.0, e.subject))
    )


def _documents(plan: FrozenPlan, repo: Repository) -> Iterator[Event]:
    yield Event("freeze", plan.id, plan.frozen_at(), "the plan was frozen", repo.name(plan.folder))
    for each in plan.amendments:
        assert each.amendment is not None
        yield Event(
            "amendment",
            each.amendment.id,
            frozen_time(each.report, each.record),
            f"amendment {each.amendment.id} was frozen: {each.amendment.reason}",
            repo.name(each.folder),
            (plan.id if each.amendment.amends == plan.digest else each.amendment.amends,),
        )


def _log(plan: FrozenPlan, repo: Repository) -> Iterator[Event]:
    for entry in plan.log.entries:
        at = parse_time(entry.seen_at if isinstance(entry, Disclosure) else entry.written_at)
        if isinstance(entry, Deviation):
            text = f"deviation {entry.id}: {entry.done}"
        elif isinstance(entry, Disclosure):
            text = f"{entry.who} saw {entry.saw}"
        else:
            text = f"{entry.of} was withdrawn: {entry.reason}"
        moment = None if at is None else Moment(at, "declared", "the log of deviations")
        yield Event(entry.kind, entry.id, moment, text, repo.name(plan.log.path), (plan.id,))


def _runs(plan: FrozenPlan, repo: Repository) -> Iterator[Event]:
    for run, index in plan.runs:
        name = run.run_id if run.attempt == 1 else f"{run.run_id}, attempt {run.attempt}"
        for kind, text, said in _ends(run.started_at, run.finished_at, run.status):
            at = parse_time(said)
            if at is not None:
                moment = Moment(at, "declared", "the index of runs")
                yield Event(kind, name, moment, f"run {name} {text}", repo.name(index), (plan.id,))


def _ends(
    start: str | None, end: str | None, status: str
) -> tuple[tuple[Literal["run-start", "run-end"], str, str | None], ...]:
    return (("run-start", "started", start), ("run-end", status, end))


def _decisions(plan: FrozenPlan, repo: Repository) -> Iterator[Event]:
    dated = dict(decided_at(plan, repo))
    for decision in plan.decisions:
        name = repo.name(decision.path)
        when = dated.get(name)
        moment = None if when is None else Moment(when, "declared", "the commit that holds it")
        yield Event("decision", name, moment, f"the verdicts {name}", name, (plan.id,))


def orders(plan: FrozenPlan, repo: Repository) -> tuple[Order, ...]:
    """The orders that matter: freeze against first run, each amendment against the runs, runs before decisions."""
    frozen = plan.frozen_at()
    found: list[Order] = []
    starts = [(parse_time(r.started_at), r) for r in plan.rows() if r.started_at]
    known = [(at, run) for at, run in starts if at is not None]
    if plan.runs:
        first = min(known, key=lambda pair: pair[0], default=(None, plan.rows()[0]))
        name = f"the first run ({first[1].run_id})"
        if frozen is None or first[0] is None:
            found.append(
                Order("the freeze", name, "chained", "the index names the plan's digest; no time is recorded")
            )
        elif clearly_before(frozen.when, first[0]):
            why = (
                "the plan's time is anchored; the run's start is declared, and its row names the plan's digest"
                if frozen.grade == "anchored"
                else "the run's row names the plan's digest; both times are declared"
            )
            found.append(Order("the freeze", name, "chained", why))
        else:
            found.append(Order("the freeze", name, None, "the recorded times do not show it"))
    for each in plan.amendments:
        assert each.amendment is not None
        found.append(
            _against_runs(
                each.amendment.id, frozen_time(each.report, each.record), [when for when, _ in known]
            )
        )
    for decision in plan.decisions:
        found.append(
            Order(
                "the registers",
                repo.name(decision.path),
                "chained",
                "the verdicts name the registers' digests",
            )
        )
    return tuple(found)


def _against_runs(name: str, at: Moment | None, times: list[datetime]) -> Order:
    if at is None or not times:
        return Order(f"amendment {name}", "the runs", None, "no time is recorded for one of the two")
    if clearly_before(at.when, min(times)):
        return Order(f"amendment {name}", "the first run", "declared", "by the recorded times")
    return Order("the first run", f"amendment {name}", "declared", "by the recorded times")

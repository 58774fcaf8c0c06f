"""Repositories with one manipulation each. The name of a function is its kind; `@kind(...)` names the codes that find it.

Each starts from the honest study of `standard` and does one dishonest thing. Nothing else in it is wrong.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from prereg_kit.audit.findings import Code
from prereg_kit.evidence.archive.build import update
from prereg_kit.evidence.archive.load import read_record
from prereg_kit.registers.file import write_register
from prereg_kit.registers.file.index import sibling_of
from tests.corpus.lab import DAY, HOUR, Lab, episodes, plan_text, replace_record


@dataclass(frozen=True)
class Kind:
    """One kind of manipulation: how to plant it, and the codes of which at least one must be found."""

    name: str
    plant: Callable[[Lab], None]
    codes: tuple[Code, ...]


KINDS: dict[str, Kind] = {}


def kind(*codes: Code) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
    """Enter a manipulation in the corpus."""

    def enter(function: Callable[[Lab], None]) -> Callable[[Lab], None]:
        name = function.__name__.replace("_", "-")
        KINDS[name] = Kind(name, function, codes)
        return function

    return enter


def frozen(lab: Lab, **plan: str) -> str:
    """A plan frozen and committed; a day passes."""
    digest = lab.freeze(plan_text(**plan))
    lab.commit("freeze the plan").wait(DAY)
    return digest


def standard(lab: Lab, *, gain: float = 0.5, **plan: str) -> str:
    """Freeze, run everything, decide, commit each step: an honest study whose H1 passes."""
    digest = frozen(lab, **plan)
    lab.all_runs(digest, gain=gain)
    lab.index().commit("all runs")
    lab.decide()
    lab.commit("decision")
    return digest


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that must stand there."""
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new))


PLAN_FILE = "frozen/trial/plan.yaml"


# the frozen document


@kind("frozen-altered")
def edited_rule(lab: Lab) -> None:
    standard(lab)
    edit(lab.root / PLAN_FILE, "at_least: 0.2}", "at_least: 0.1}")


@kind("frozen-altered")
def threshold_with_more_digits(lab: Lab) -> None:
    standard(lab)
    edit(lab.root / PLAN_FILE, "at_least: 0.2}", "at_least: 0.1999}")


@kind("plan-replaced")
def restamped_edited_plan(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, gain=0.1)
    lab.index().commit("all runs")
    shutil.rmtree(lab.root / "frozen/trial")
    anew = lab.freeze(plan_text(margin="0.01"))
    lab.runs = {key: replace(run, plan_digest=anew) for key, run in lab.runs.items()}
    lab.index()
    lab.decide()
    lab.commit("decision")


@kind("run-before-freeze")
def restamped_plan_without_history(lab: Lab) -> None:
    lab.git = False
    digest = frozen(lab)
    lab.all_runs(digest, gain=0.1)
    shutil.rmtree(lab.root / "frozen/trial")
    anew = lab.freeze(plan_text(margin="0.01"))
    lab.runs = {key: replace(run, plan_digest=anew) for key, run in lab.runs.items()}
    lab.index().decide()


@kind("frozen-time-contradicted")
def back_dated_record(lab: Lab) -> None:
    standard(lab)
    folder = lab.root / "frozen/trial"
    update(folder, replace_record(read_record(folder), frozen_at="2025-06-01T09:00:00Z"), {})
    lab.commit("tidy")


@kind("timestamp-rejected")
def token_of_another_document(lab: Lab) -> None:
    digest = frozen(lab)
    other = lab.stamps("ab" * 32)
    folder = lab.root / "frozen/trial"
    record = read_record(folder)
    stamp = record.stamps[0]
    response = other.done[0].response
    (folder / stamp.response.path).write_bytes(response)
    from prereg_kit.foundation.digest import sha256_bytes

    ref = stamp.response.model_copy(update={"sha256": sha256_bytes(response), "size": len(response)})
    update(folder, replace_record(record, stamps=(stamp.model_copy(update={"response": ref}),)), {})
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@kind("demo-as-evidence", "timestamp-rejected")
def demo_token_sold_as_evidence(lab: Lab) -> None:
    digest = lab.freeze(plan_text(), demo=True)
    folder = lab.root / "frozen/trial"
    record = read_record(folder)
    stamp = record.stamps[0].model_copy(update={"demo": False, "operator": "corpus-0"})
    pem = (folder / stamp.anchor.path).read_bytes() if stamp.anchor else b""
    lab.trusted.mkdir(exist_ok=True)
    from prereg_kit.evidence import trust

    trust.add("corpus-0", [pem], lab.trusted, url=stamp.url)
    update(folder, replace_record(record, stamps=(stamp,)), {})
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@kind("plan-twin")
def hidden_second_plan(lab: Lab) -> None:
    lab.freeze(plan_text(id="trial-b", margin="0.6"))
    standard(lab)


@kind("plan-twin")
def same_plan_with_two_rules(lab: Lab) -> None:
    lab.freeze(plan_text(id="trial-strict", split="validation"))
    standard(lab)


@kind("material-changed")
def task_pool_changed(lab: Lab) -> None:
    from prereg_kit.foundation.digest import sha256_bytes

    pool = lab.root / "pool.txt"
    pool.write_text("task-0\ntask-1\n")
    bound = f"materials: [{{path: pool.txt, sha256: {sha256_bytes(pool.read_bytes())}}}]\n"
    digest = lab.freeze(plan_text().replace("endpoints:\n", bound + "endpoints:\n", 1))
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    pool.write_text("task-0\ntask-7\n")
    lab.commit("all")


@kind("guard-off")
def plan_without_planned_runs(lab: Lab) -> None:
    text = re.sub(r"  planned:\n.*\n", "", plan_text())
    digest = lab.freeze(text)
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest, seeds=range(3))
    lab.index().decide()
    lab.commit("all")


# amendments

MARGIN = "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.05}"


def _amended(lab: Lab, known: str, *changes: str, gain: float = 0.1, after_runs: bool = True) -> None:
    digest = frozen(lab)
    if after_runs:
        lab.all_runs(digest, gain=gain)
        lab.index().commit("all runs")
    lab.amend("A1", known, *changes, parent=digest)
    if not after_runs:
        lab.all_runs(digest, gain=gain)
        lab.index()
    lab.commit("amendment")
    lab.decide()
    lab.commit("decision")


@kind("knowledge-understated")
def margin_moved_by_an_unknowing_amendment(lab: Lab) -> None:
    _amended(lab, "no_results_seen", MARGIN)


@kind("knowledge-understated")
def amended_before_linking(lab: Lab) -> None:
    """Runs are made, looked at, the plan is amended as if nothing had run, and only then are they entered."""
    digest = frozen(lab)
    lab.all_runs(digest, gain=0.1)
    lab.amend("A1", "nothing_run", MARGIN, parent=digest)
    lab.commit("amendment").wait(DAY)
    lab.index().decide()
    lab.commit("runs and decision")


@kind("amendment-flips-outcome")
def margin_moved_with_results_unopened(lab: Lab) -> None:
    _amended(lab, "results_not_opened", MARGIN, gain=0.12)


@kind("amendment-follows-results")
def hypothesis_added_after_results(lab: Lab) -> None:
    _amended(
        lab, "results_seen",
        "{op: add, field: hypotheses/H3, value: {statement: It helps on the control set., "
        "passes_if: {difference: {endpoint: control, at_least: -1}}}}",
        gain=0.5,
    )  # fmt: skip


@kind("amendment-follows-results")
def gated_set_shrunk(lab: Lab) -> None:
    _amended(lab, "results_seen", "{op: remove, field: hypotheses/H2}", gain=0.1)


@kind("knowledge-understated")
def seen_and_disclosed_then_denied(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(2), gain=0.1)
    lab.log(
        "disclosure",
        who="A. Researcher",
        saw="the results of seeds 0 and 1",
        seen_at=f"{lab.now:%Y-%m-%dT%H:%M:%SZ}",
    )
    lab.wait(HOUR)
    lab.amend("A1", "results_not_opened", MARGIN, parent=digest)
    lab.all_runs(digest, seeds=range(2, 4), gain=0.1)
    lab.index().commit("all")
    lab.decide()
    lab.commit("decision")


@kind("amendment-missing")
def removed_amendment(lab: Lab) -> None:
    digest = frozen(lab)
    first = lab.amend("A1", "nothing_run", "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.6}",
                      parent=digest)  # fmt: skip
    lab.amend("A2", "nothing_run", "{op: replace, field: title, value: A trial}", parent=first)
    lab.all_runs(digest)
    lab.index().commit("all")
    shutil.rmtree(lab.root / "amendments/trial-A1")
    lab.commit("tidy")


@kind("amendment-missing")
def last_amendment_removed_from_git(lab: Lab) -> None:
    digest = frozen(lab)
    lab.amend("A1", "nothing_run", "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.6}",
              parent=digest)  # fmt: skip
    lab.commit("amendment")
    shutil.rmtree(lab.root / "amendments/trial-A1")
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@kind("amendment-missing")
def decided_with_an_amendment_that_is_gone(lab: Lab) -> None:
    lab.git = False
    digest = frozen(lab)
    lab.amend("A1", "nothing_run", "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.01}",
              parent=digest)  # fmt: skip
    lab.all_runs(digest, gain=0.1)
    lab.index().decide()
    shutil.rmtree(lab.root / "amendments/trial-A1")


@kind("amendment-altered", "frozen-altered", "amendment-missing")
def edited_amendment(lab: Lab) -> None:
    digest = frozen(lab)
    lab.amend("A1", "nothing_run", MARGIN, parent=digest)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")
    edit(lab.root / "amendments/trial-A1/A1.yaml", "value: 0.05", "value: 0.01")


@kind("amendment-time-contradicted")
def back_dated_amendment(lab: Lab) -> None:
    digest = frozen(lab)
    lab.amend("A1", "nothing_run", MARGIN, parent=digest)
    folder = lab.root / "amendments/trial-A1"
    update(folder, replace_record(read_record(folder), frozen_at="2025-12-24T09:00:00Z"), {})
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


# the log


@kind("log-broken")
def deviation_deleted_from_the_middle(lab: Lab) -> None:
    standard(lab)
    for number in range(3):
        lab.deviation(f"c1-t-{number}")
    lab.commit("log")
    path = lab.root / "frozen/trial/deviations.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[2]]))


@kind("log-shortened")
def last_deviation_deleted(lab: Lab) -> None:
    standard(lab)
    lab.deviation("c1-t-0")
    lab.deviation("c1-t-1", done="the run was watched and stopped early")
    lab.commit("log")
    path = lab.root / "frozen/trial/deviations.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    lab.commit("tidy")


@kind("log-broken")
def deviation_reworded(lab: Lab) -> None:
    standard(lab)
    lab.deviation("c1-t-0", done="two runs were dropped")
    lab.deviation("c1-t-1")
    edit(lab.root / "frozen/trial/deviations.jsonl", "two runs were dropped", "one run was dropped")


@kind("deviation-entered-late")
def deviation_said_to_precede_the_data(lab: Lab) -> None:
    standard(lab)
    lab.deviation("H1", timing="before-data")
    lab.commit("log")


# runs


@kind("run-missing")
def bad_seed_dropped(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest)
    for arm in ("t", "r"):
        del lab.runs[f"c1-{arm}-3", 1]
        (lab.root / f"registers/c1-{arm}-3-1.parquet").unlink()
    lab.index().decide()
    lab.commit("all")


@kind("run-vanished")
def bad_seed_dropped_after_it_was_entered(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest)
    lab.index().commit("all runs")
    for arm in ("t", "r"):
        del lab.runs[f"c1-{arm}-3", 1]
    lab.index().decide()
    lab.commit("decision")


@kind("register-unindexed")
def seeds_picked_from_more(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    for seed in (4, 5, 6):
        for arm in ("t", "r"):
            lab.run(digest, arm, seed)
            del lab.runs[f"c1-{arm}-{seed}", 1]
    lab.index().decide()
    lab.commit("all")


@kind("run-extra")
def extra_seed_kept(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(5))
    lab.index().decide()
    lab.commit("all")


@kind("rerun-after-completion")
def rerun_until_positive(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, gain=0.1)
    for seed in range(4):
        lab.runs[f"c1-t-{seed}", 1] = replace(lab.runs[f"c1-t-{seed}", 1], registers=())
        lab.run(digest, "t", seed, attempt=2, rows_from=f"again-{seed}")
    lab.index().decide()
    lab.commit("all")


@kind("rerun-after-completion")
def rerun_under_another_id(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    lab.runs["c1-t-2", 1] = replace(lab.runs["c1-t-2", 1], counted=False, exclusion_reason="hardware")
    lab.wait(HOUR)
    lab.run(digest, "t", 2, id="c1-t-2-new", rows_from="lucky")
    lab.index().decide()
    lab.commit("all")


@kind("run-status-changed")
def excluded_after_it_was_seen(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest)
    lab.index().commit("all runs")
    for arm in ("t", "r"):
        lab.runs[f"c1-{arm}-1", 1] = replace(
            lab.runs[f"c1-{arm}-1", 1], counted=False, exclusion_reason="hardware"
        )
    lab.index().decide()
    lab.commit("decision")


@kind("exclusion-unlisted")
def excluded_for_an_unlisted_reason(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest)
    lab.runs["c1-t-1", 1] = replace(lab.runs["c1-t-1", 1], counted=False, exclusion_reason="outlier")
    lab.index().commit("all")


@kind("failed-run-is-whole")
def unwanted_run_called_failed(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest)
    for arm in ("t", "r"):
        lab.runs[f"c1-{arm}-2", 1] = replace(lab.runs[f"c1-{arm}-2", 1], status="failed")
    lab.index().decide()
    lab.commit("all")


@kind("run-before-freeze")
def imported_late_runs(lab: Lab) -> None:
    lab.wait(-3 * DAY)
    text = plan_text()
    from prereg_kit.foundation.digest import sha256_bytes

    digest = sha256_bytes(text.encode())
    lab.all_runs(digest)
    lab.wait(3 * DAY)
    lab.freeze(text)
    lab.commit("freeze").wait(DAY)
    lab.index().decide()
    lab.commit("all")


@kind("run-before-freeze")
def one_run_looked_at_before_the_freeze(lab: Lab) -> None:
    from prereg_kit.foundation.digest import sha256_bytes

    text = plan_text()
    digest = sha256_bytes(text.encode())
    lab.wait(-DAY)
    lab.run(digest, "t", 0)
    lab.wait(DAY)
    lab.freeze(text)
    lab.commit("freeze").wait(HOUR)
    for seed in range(4):
        for arm in ("t", "r"):
            if (arm, seed) != ("t", 0):
                lab.run(digest, arm, seed)
    lab.index().decide()
    lab.commit("all")


@kind("run-times-changed")
def run_times_edited(lab: Lab) -> None:
    lab.wait(-2 * DAY)
    from prereg_kit.foundation.digest import sha256_bytes

    text = plan_text()
    digest = sha256_bytes(text.encode())
    lab.all_runs(digest)
    lab.index().commit("runs")
    lab.wait(DAY)
    lab.freeze(text)
    lab.runs = {
        key: replace(run, started_at="2026-01-09T08:00:00Z", finished_at="2026-01-09T09:00:00Z")
        for key, run in lab.runs.items()
    }
    lab.wait(5 * DAY)
    lab.index().decide()
    lab.commit("all")


@kind("run-times-impossible")
def run_ends_before_it_starts(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    lab.runs["c1-t-0", 1] = replace(lab.runs["c1-t-0", 1], finished_at="2026-01-05T12:00:00Z")
    lab.index().decide()
    lab.commit("all")


@kind("run-duplicated")
def run_duplicated_under_a_new_id(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(3))
    lab.run(digest, "t", 3, rows_from="c1-t-1")
    lab.run(digest, "r", 3)
    lab.index().decide()
    lab.commit("all")


@kind("run-names-no-plan")
def runs_of_a_plan_that_is_not_here(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    lab.runs["c1-t-3", 1] = replace(lab.runs["c1-t-3", 1], plan_digest="ab" * 32)
    lab.runs["c1-r-3", 1] = replace(lab.runs["c1-r-3", 1], plan_digest="ab" * 32)
    lab.index().commit("all")


@kind("pair-on-two-stacks")
def arms_on_two_machines(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        lab.run(digest, "t", seed, accelerator="H100")
        lab.run(digest, "r", seed)
    lab.index().decide()
    lab.commit("all")


@kind("config-differs")
def code_changed_between_seeds(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        for arm in ("t", "r"):
            lab.run(digest, arm, seed, code_commit="c0ffee" if seed < 2 else "decaf0")
    lab.index().decide()
    lab.commit("all")


# registers


@kind("register-altered")
def swapped_register(lab: Lab) -> None:
    standard(lab)
    path = lab.root / "registers/c1-t-1-1.parquet"
    path.unlink()
    write_register(path, "episodes", episodes("c1-t-1", "t", 1, 0.7, None, "test"))


@kind("decision-of-older-registers")
def register_improved_after_the_decision(lab: Lab) -> None:
    digest = standard(lab, gain=0.1)
    path = lab.root / "registers/c1-t-1-1.parquet"
    path.unlink()
    write_register(path, "episodes", episodes("c1-t-1", "t", 1, 0.7, None, "test"))
    key = ("c1-t-1", 1)
    lab.runs[key] = replace(lab.runs[key], registers=(sibling_of(lab.index_path, "episodes", path),))
    assert digest
    lab.index().commit("registers")


@kind("register-absent")
def register_withheld(lab: Lab) -> None:
    standard(lab)
    (lab.root / "registers/c1-r-2-1.parquet").unlink()
    lab.commit("tidy")


@kind("schedule-shared")
def schedule_shared_between_tasks(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        for arm in ("t", "r"):
            row = lab.run(digest, arm, seed)
            path = lab.root / f"registers/{row.run_id}-1.parquet"
            path.unlink()
            columns = episodes(row.run_id, arm, seed, 0.5 if arm == "t" else 0.0, None, "test")
            columns["schedule_seed"] = ["f" * 32] * len(columns["schedule_seed"])
            write_register(path, "episodes", columns)
            lab.runs[row.run_id, 1] = replace(row, registers=(sibling_of(lab.index_path, "episodes", path),))
    lab.index().decide()
    lab.commit("all")


# decisions


def _edit_verdicts(lab: Lab, change: Callable[[dict[str, object]], None]) -> None:
    path = lab.root / "reports/verdicts.json"
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    lab.commit("decision")


@kind("decision-does-not-recompute")
def outcome_edited(lab: Lab) -> None:
    standard(lab, gain=0.1)
    _edit_verdicts(lab, lambda v: v["hypotheses"]["H1"].update(outcome="pass"))


@kind("decision-does-not-recompute")
def hypothesis_left_out(lab: Lab) -> None:
    standard(lab, gain=0.1)
    _edit_verdicts(lab, lambda v: v["hypotheses"].pop("H2"))


@kind("decision-does-not-recompute")
def post_hoc_subgroup_as_confirmatory(lab: Lab) -> None:
    standard(lab, gain=0.1)
    _edit_verdicts(
        lab,
        lambda v: v["hypotheses"].update(H9={**v["hypotheses"]["C0"], "statement": "It helps on task 3."}),
    )


@kind("decision-does-not-recompute")
def endpoint_switched_between_sets(lab: Lab) -> None:
    """The decision on another split, sold as the one that was planned."""
    standard(lab)
    other = lab.root / "other.yaml"
    other.write_text(plan_text(split="control"))
    from prereg_kit.operations.decide import decide_files

    found = decide_files([lab.root / "registers" / f"{r.run_id}-1.parquet" for r in lab.runs.values()], plan=other,
                         root=lab.root).verdicts  # fmt: skip
    h1 = found.to_json()["hypotheses"]["H1"]
    other.unlink()
    _edit_verdicts(lab, lambda v: v["hypotheses"].update(H1=h1))


@kind("decision-does-not-recompute")
def interval_of_another_level(lab: Lab) -> None:
    standard(lab)
    _edit_verdicts(lab, lambda v: v["hypotheses"]["H1"]["interval"].update(level=0.8))


@kind("decision-does-not-recompute")
def failed_control_ignored(lab: Lab) -> None:
    digest = lab.freeze(plan_text().replace("at_least: -0.5}", "at_least: 0.9}"))
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    _edit_verdicts(lab, lambda v: v["hypotheses"]["H1"].update(outcome="pass"))


@kind("decision-does-not-recompute")
def confidence_of_a_prediction_raised(lab: Lab) -> None:
    standard(lab)
    _edit_verdicts(lab, lambda v: v["predictions"]["P1"].update(confidence=0.99))


@kind("decision-does-not-recompute")
def evaluator_swapped(lab: Lab) -> None:
    """Verdicts of an evaluator that rounds up, with its name on them."""
    standard(lab, gain=0.1)

    def change(v: dict[str, object]) -> None:
        v["evaluator"] = "prereg-kit 0.0.9"
        v["hypotheses"]["H1"].update(outcome="pass")

    _edit_verdicts(lab, change)


@kind("decision-does-not-recompute")
def excluded_run_shown_as_planned(lab: Lab) -> None:
    standard(lab, missing="exclude_pair")
    _edit_verdicts(lab, lambda v: v["ledger"].pop(0))


@kind("report-differs")
def report_says_more_than_the_verdicts(lab: Lab) -> None:
    standard(lab, gain=0.1)
    path = lab.root / "reports/outcomes.md"
    path.write_text(path.read_text().replace("fail", "pass"))
    lab.commit("report")


@kind("decision-does-not-recompute")
def unit_switched(lab: Lab) -> None:
    standard(lab)
    _edit_verdicts(lab, lambda v: v["hypotheses"]["H1"].update(unit="percent"))

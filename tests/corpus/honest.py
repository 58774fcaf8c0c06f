"""Honest repositories with the noise of real work. None of them may raise a violation."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace

from prereg_kit.evidence.archive.build import update
from prereg_kit.evidence.archive.load import read_record
from tests.corpus.lab import DAY, HOUR, Lab, plan_text, replace_record
from tests.corpus.planted import frozen, standard

HONEST: dict[str, Callable[[Lab], None]] = {}


def honest(function: Callable[[Lab], None]) -> Callable[[Lab], None]:
    """Enter an honest repository in the corpus."""
    HONEST[function.__name__.replace("_", "-")] = function
    return function


@honest
def plain_study(lab: Lab) -> None:
    standard(lab)


@honest
def plain_study_that_fails(lab: Lab) -> None:
    standard(lab, gain=0.0)


@honest
def no_git(lab: Lab) -> None:
    lab.git = False
    standard(lab)


@honest
def not_stamped(lab: Lab) -> None:
    digest = lab.freeze(plan_text(), stamped=False)
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def demo_stamp_called_demo(lab: Lab) -> None:
    digest = lab.freeze(plan_text(), demo=True)
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def frozen_and_not_run_yet(lab: Lab) -> None:
    frozen(lab)


@honest
def study_under_way(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(2))
    lab.index().commit("first seeds")


@honest
def index_that_grows_run_by_run(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        for arm in ("t", "r"):
            lab.run(digest, arm, seed)
            lab.index().commit(f"run {arm} {seed}")
    lab.decide()
    lab.commit("decision")


@honest
def running_then_completed(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    done = lab.runs["c1-r-3", 1]
    lab.runs["c1-r-3", 1] = replace(done, status="running", finished_at=None, registers=())
    lab.index().commit("one is running")
    lab.runs["c1-r-3", 1] = done
    lab.index().decide()
    lab.commit("decision")


@honest
def crashed_and_resumed(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(3))
    lab.run(digest, "t", 3, status="failed", registers=())
    lab.run(digest, "t", 3, attempt=2)
    lab.run(digest, "r", 3)
    lab.index().decide()
    lab.commit("all")


@honest
def crashed_three_times(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(3))
    for attempt in (1, 2, 3):
        lab.run(digest, "r", 3, attempt=attempt, status="failed", registers=())
        lab.index().commit("another crash")
    lab.run(digest, "r", 3, attempt=4)
    lab.run(digest, "t", 3)
    lab.index().decide()
    lab.commit("all")


@honest
def failed_run_replaced_by_another(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(3))
    lab.run(
        digest,
        "t",
        3,
        id="c1-t-3-dead",
        status="failed",
        registers=(),
        counted=False,
        exclusion_reason="hardware",
    )
    lab.run(digest, "t", 3)
    lab.run(digest, "r", 3)
    lab.index().decide()
    lab.commit("all")


@honest
def excluded_for_a_listed_reason(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest)
    lab.runs["c1-t-3", 1] = replace(lab.runs["c1-t-3", 1], status="failed", counted=False, exclusion_reason="hardware",
                                    registers=())  # fmt: skip
    (lab.root / "registers/c1-t-3-1.parquet").unlink()
    lab.index().decide()
    lab.commit("all")


@honest
def missing_run_with_its_deviation(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest, seeds=range(3))
    lab.deviation("C1/t/3", "C1/r/3", done="seed 3 was not run: the machine was given back")
    lab.index().decide()
    lab.commit("all")


@honest
def disclosed_pilot(lab: Lab) -> None:
    """A pilot with a plan of nobody, disclosed in the plan; its registers lie apart."""
    note = "disclosures:\n  - {id: D1, kind: pilot, runs: [pilot-0], text: one pilot run, known: its learning curve}\n"
    digest = lab.freeze(plan_text(disclosures=note))
    lab.commit("freeze").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def run_before_freeze_disclosed_in_the_plan(lab: Lab) -> None:
    from prereg_kit.foundation.digest import sha256_bytes

    text = plan_text(
        disclosures="disclosures:\n  - {id: D1, kind: completed-run, runs: [c1-t-0], text: seen}\n"
    )
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


@honest
def late_but_disclosed_deviation(lab: Lab) -> None:
    standard(lab)
    lab.wait(5 * DAY)
    lab.deviation(
        "H1", timing="data-seen", done="the interval was read at 90 % as well, and both are reported"
    )
    lab.commit("log")


@honest
def several_deviations_in_time(lab: Lab) -> None:
    digest = frozen(lab)
    lab.deviation("runs", timing="before-data", done="another provider")
    lab.all_runs(digest, seeds=range(2))
    lab.deviation("runs", timing="during-data", done="a larger machine for the rest, the same for both arms")
    lab.all_runs(digest, seeds=range(2, 4))
    lab.index().decide()
    lab.commit("all")


@honest
def disclosure_of_a_look(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(2))
    lab.log(
        "disclosure",
        who="B. Helper",
        saw="training curves of seeds 0 and 1",
        seen_at=f"{lab.now:%Y-%m-%dT%H:%M:%SZ}",
    )
    lab.all_runs(digest, seeds=range(2, 4))
    lab.index().decide()
    lab.commit("all")


@honest
def entry_taken_back(lab: Lab) -> None:
    standard(lab)
    lab.deviation("H1")
    lab.log("withdrawal", of="D1", reason="entered for the wrong study")
    lab.commit("log")


@honest
def amendment_before_any_run(lab: Lab) -> None:
    digest = frozen(lab)
    lab.amend("A1", "nothing_run", "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.1}",
              parent=digest)  # fmt: skip
    lab.commit("amendment").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def two_amendments_before_any_run(lab: Lab) -> None:
    digest = frozen(lab)
    first = lab.amend("A1", "nothing_run", "{op: replace, field: title, value: A trial}", parent=digest)
    lab.wait(DAY).commit("A1")
    lab.amend(
        "A2", "nothing_run", "{op: replace, field: predictions/P1/confidence, value: 0.6}", parent=first
    )
    lab.commit("A2").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def amendment_while_runs_were_going(lab: Lab) -> None:
    digest = frozen(lab)
    lab.run(digest, "t", 0)
    lab.wait(-HOUR / 2)
    lab.amend("A1", "no_results_seen", "{op: replace, field: title, value: A trial}", parent=digest)
    lab.wait(HOUR)
    for seed in range(4):
        for arm in ("t", "r"):
            if (arm, seed) != ("t", 0):
                lab.run(digest, arm, seed)
    lab.index().decide()
    lab.commit("all")


@honest
def amendment_that_says_more_was_known(lab: Lab) -> None:
    digest = frozen(lab)
    lab.amend("A1", "results_seen", "{op: replace, field: title, value: A trial}", parent=digest,
              detail="a colleague's pilot of the same idea")  # fmt: skip
    lab.commit("amendment").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def late_amendment_that_says_so(lab: Lab) -> None:
    digest = standard(lab)
    lab.wait(DAY)
    lab.amend("A1", "results_seen", "{op: replace, field: hypotheses/C0/statement, value: The control set stays.}",
              parent=digest)  # fmt: skip
    lab.commit("amendment")


@honest
def stricter_rule_after_results(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    lab.index().commit("runs")
    lab.amend("A1", "results_seen", "{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: 0.9}",
              parent=digest)  # fmt: skip
    lab.decide()
    lab.commit("decision")


@honest
def unstamped_amendment_before_any_run(lab: Lab) -> None:
    digest = frozen(lab)
    lab.amend(
        "A1", "nothing_run", "{op: replace, field: title, value: A trial}", parent=digest, stamped=False
    )
    lab.commit("amendment").wait(DAY)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def rebased_history(lab: Lab) -> None:
    standard(lab)
    at = (lab.now + 3 * DAY).isoformat()
    subprocess.run(
        ["git", "-c", "user.name=Lab", "-c", "user.email=l@e.org", "commit", "-q", "--amend", "--no-edit"], cwd=lab.root,
        check=True, env={"PATH": __import__("os").environ["PATH"], "GIT_COMMITTER_DATE": at},
    )  # fmt: skip


@honest
def shallow_clone(lab: Lab) -> None:
    standard(lab)
    origin = lab.root.parent / f"{lab.root.name}-origin"
    lab.root.rename(origin)
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", origin.as_uri(), str(lab.root)],
        check=True,
        capture_output=True,
    )


@honest
def fresh_clone(lab: Lab) -> None:
    standard(lab)
    origin = lab.root.parent / f"{lab.root.name}-origin"
    lab.root.rename(origin)
    subprocess.run(["git", "clone", "-q", str(origin), str(lab.root)], check=True, capture_output=True)


@honest
def checkout_with_carriage_returns(lab: Lab) -> None:
    standard(lab)
    path = lab.root / "frozen/trial/plan.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


@honest
def two_machines_with_a_reason(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        for arm in ("t", "r"):
            lab.run(digest, arm, seed, accelerator="H100" if seed == 3 and arm == "t" else "A100")
    lab.deviation("c1-t-3", done="run on an H100; the A100 was gone")
    lab.index().decide()
    lab.commit("all")


@honest
def pairs_on_different_machines(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        for arm in ("t", "r"):
            lab.run(digest, arm, seed, accelerator="H100" if seed > 1 else "A100")
    lab.index().decide()
    lab.commit("all")


@honest
def clocks_that_differ_by_minutes(lab: Lab) -> None:
    digest = lab.freeze(plan_text())
    lab.commit("freeze")
    lab.wait(-HOUR / 3)
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def runs_in_parallel(lab: Lab) -> None:
    digest = frozen(lab)
    for seed in range(4):
        for arm in ("t", "r"):
            lab.run(digest, arm, seed)
            lab.wait(-HOUR)
    lab.wait(2 * HOUR)
    lab.index().decide()
    lab.commit("all")


@honest
def runs_without_times(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest)
    lab.runs = {key: replace(run, started_at=None, finished_at=None) for key, run in lab.runs.items()}
    lab.index().decide()
    lab.commit("all")


@honest
def decided_twice_as_data_came_in(lab: Lab) -> None:
    digest = frozen(lab, missing="exclude_pair")
    lab.all_runs(digest, seeds=range(2))
    lab.index().decide(folder="reports/first")
    lab.commit("a first look, registered as such")
    lab.log(
        "disclosure", who="A. Researcher", saw="the first two seeds", seen_at=f"{lab.now:%Y-%m-%dT%H:%M:%SZ}"
    )
    lab.all_runs(digest, seeds=range(2, 4))
    lab.index()
    import shutil

    shutil.rmtree(lab.root / "reports/first")
    lab.decide()
    lab.commit("decision")


@honest
def two_studies_side_by_side(lab: Lab) -> None:
    other = (
        plan_text(id="second").replace("arm: [t, r]", "arm: [u, r]").replace("treatment: t", "treatment: u")
    )
    other = other.replace("The treatment raises success.", "Another treatment raises success.")
    other = other.replace("Every seed gains.", "Every seed gains from another treatment.")
    lab.freeze(
        other.replace("The control set is not made worse.", "Another treatment leaves the control set.")
    )
    standard(lab)


@honest
def same_protocol_for_another_data_set(lab: Lab) -> None:
    other = (
        plan_text(id="replication")
        .replace("condition: C1", "condition: C2")
        .replace("split: test", "split: replication")
    )
    lab.freeze(other)
    standard(lab)


@honest
def frozen_documents_beside_the_plan(lab: Lab) -> None:
    from prereg_kit.evidence import archive

    archive.freeze(b"# Protocol\n", "protocol.md", lab.root / "frozen/protocol", None, kind="document")
    standard(lab)


@honest
def repetition_of_the_decision(lab: Lab) -> None:
    standard(lab)
    lab.wait(30 * DAY)
    lab.decide(folder="reports/again")
    lab.commit("again")


@honest
def frozen_at_minutes_before_its_stamp(lab: Lab) -> None:
    digest = frozen(lab)
    folder = lab.root / "frozen/trial"
    update(folder, replace_record(read_record(folder), frozen_at="2026-01-05T09:20:00Z"), {})
    lab.all_runs(digest)
    lab.index().decide()
    lab.commit("all")


@honest
def withdrawn_study(lab: Lab) -> None:
    digest = frozen(lab)
    lab.all_runs(digest, seeds=range(1))
    lab.log("withdrawal", of="plan", reason="the grant ended")
    lab.index().commit("withdrawn")

"""What chance may depend on, and what it must not: the coupling of siblings, replay, isolation, exact laws."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

from study.backoffice.episode import Episode
from study.backoffice.faults import FAULT_TYPES, KINDS_OF, compile_law, share
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import evaluation_seed, luck_seed, slot_seed, train_seed
from study.evaluation.rollout import play
from study.policies.scripted import SCRIPTED

P25 = compile_law(REGIMES["faults_p25"])
HELD = compile_law(REGIMES["heldout_p25"])
ALPHA = 1e-3 / 20


def drawn(episode):
    """Event -> fault type, for all draws of an episode."""
    return {(r.tool, r.resource, r.repeat): r.drawn for r in episode.records if r.repeat is not None}


def replay(task, calls, law=P25, seed="s"):
    episode = Episode(task, law, seed)
    replies = [episode.step(name, arguments) for name, arguments in calls]
    return episode, [reply.text for reply in replies]


def plan_calls(task):
    return [(call.name, dict(call.arguments)) for call in task.plan]


def shared_agreement(pairs):
    """Share of events met by both siblings on which they drew the same."""
    same = total = 0
    for one, other in pairs:
        first, second = drawn(one), drawn(other)
        for event in first.keys() & second.keys():
            total += 1
            same += first[event] == second[event]
    assert total > 500
    return same / total


def padded(task):
    """The plan with unrelated calls, waits, bad calls and repeats in between."""
    calls = []
    for number, call in enumerate(plan_calls(task)):
        calls += [("wait", {"seconds": 20}), ("nope", {}), call]
        if number % 2:
            calls.append(("get_customer", {"customer_id": "C-0"}))
    return calls


@pytest.mark.parametrize("law", [P25, HELD])
def test_alignment_of_siblings_that_behave_differently(tasks, law):
    """Three sibling pairs; events met by both agree always, as keys count draws only."""
    seeds = [(task, evaluation_seed("validation", task.task_id, k)) for task in tasks for k in range(3)]
    agents = {
        name: [play(SCRIPTED[name], task, law, seed) for task, seed in seeds]
        for name in ("naive", "recovering", "grounded")
    }
    padding = [replay(task, padded(task), law, seed)[0] for task, seed in seeds]
    for other in (agents["recovering"], agents["grounded"], padding):
        assert shared_agreement(zip(agents["naive"], other, strict=True)) == 1.0


def test_marginal_law_through_the_simulator_with_an_adaptive_policy(tasks):
    """G-test per kind of tool on the draws that a retrying, waiting, giving-up agent makes."""
    counts = {kind: Counter() for kind in ("list", "record", "write")}
    for task in tasks:
        for k in range(12):
            episode = play(SCRIPTED["recovering"], task, P25, luck_seed(task.task_id, k))
            for (tool, _, _), fault in drawn(episode).items():
                counts[task.tools[tool].kind][fault] += 1
    law = REGIMES["faults_p25"]
    for kind, seen in counts.items():
        types = [fault for fault in FAULT_TYPES if kind in KINDS_OF[fault] and share(law, kind, fault)]
        total = sum(seen.values())
        expected = [total * float(share(law, kind, fault)) for fault in types] + [total * 0.75]
        observed = [seen[fault] for fault in types] + [seen[None]]
        assert stats.power_divergence(observed, expected, lambda_="log-likelihood").pvalue > ALPHA


def first_fault(episode):
    return next(((n, r.drawn) for n, r in enumerate(episode.records) if r.drawn), None)


def test_paired_and_independent_have_one_marginal_and_two_joint_laws(tasks):
    """First fault (position, type) of slots 0 and 1: the same law, equal within a pair only when paired."""
    single = {"paired": [], "independent": []}
    equal = {"paired": 0, "independent": 0}
    rows = 0
    for task in tasks:
        for k in range(20):
            rows += 1
            shared = train_seed(9, rows)
            for arm, seeds in (
                ("paired", (shared, shared)),
                ("independent", (slot_seed(shared, 0), slot_seed(shared, 1))),
            ):
                found = [first_fault(play(SCRIPTED["naive"], task, P25, seed)) for seed in seeds]
                single[arm].append(found[0])
                equal[arm] += found[0] == found[1]
    names = sorted({str(value) for values in single.values() for value in values})
    table = [[sum(str(value) == name for value in single[arm]) for name in names] for arm in single]
    common = [column for column in zip(*table, strict=True) if sum(column) >= 20]
    assert stats.chi2_contingency(list(zip(*common, strict=True))).pvalue > ALPHA
    assert equal["paired"] == rows
    assert equal["independent"] < rows // 2


def test_rewording_spelling_and_argument_order_change_no_fault(tasks):
    for task in tasks[:60]:
        calls = plan_calls(task)
        reworded = []
        for name, arguments in calls:
            other = dict(reversed(arguments.items()))
            for key in ("reason", "summary"):
                if key in other:
                    other[key] = "other words"
            for key in ("order_id", "customer_id", "product_id"):
                if key in other:
                    other[key] = f" {other[key].lower()} "
            if "query" in other:
                other["query"] = other["query"].upper()
            reworded.append((name, other))
        one, texts = replay(task, calls)
        two, others = replay(task, reworded)
        assert drawn(one) == drawn(two)
        assert [record.status for record in one.records] == [record.status for record in two.records]
        assert texts == others


def test_permuted_sub_requests_and_waits_change_no_fault(tasks):
    """Counts per key do not depend on the order of unrelated calls; the search key is shared, so compare others."""
    for task in [task for task in tasks if len(task.parts) == 3][:30]:
        calls = plan_calls(task)
        backwards = [
            call
            for part in (2, 1, 0)
            for call, planned in zip(calls, task.plan, strict=True)
            if planned.part == part
        ]
        first = drawn(replay(task, calls, HELD)[0])
        second = drawn(replay(task, backwards, HELD)[0])
        assert first == second
        waits = [step for call in calls for step in (("wait", {"seconds": 1}), call)]
        third = drawn(replay(task, waits[: task.budget], HELD)[0])
        assert third.items() <= first.items()


def test_interleaved_episodes_equal_the_same_ones_alone(tasks):
    """Eight siblings call by call in one process, and one task played a hundred times."""
    task = max(tasks, key=lambda task: len(task.plan))
    seeds = [train_seed(1, n) for n in range(8)]
    alone = [replay(task, plan_calls(task), P25, seed)[1] for seed in seeds]
    episodes = [Episode(task, P25, seed) for seed in seeds]
    texts = [[] for _ in seeds]
    for name, arguments in plan_calls(task):
        for episode, column in zip(episodes, texts, strict=True):
            column.append(episode.step(name, arguments).text)
    assert texts == alone
    assert all(replay(task, plan_calls(task), P25, seeds[0])[1] == alone[0] for _ in range(100))


def test_global_random_state_is_untouched(tasks):
    random.seed(5)
    before = random.getstate()
    for task in tasks[:10]:
        play(SCRIPTED["recovering"], task, P25, "s").grade()
    assert random.getstate() == before


def test_replay_is_byte_identical_in_other_processes():
    code = (
        "from study.backoffice.generate import generate\n"
        "from study.backoffice.profiles import NATURAL\n"
        "from study.evaluation.transcript import transcribe\n"
        "from study.policies.scripted import SCRIPTED\n"
        "from study.backoffice.regimes import REGIMES\n"
        "for n in range(12):\n"
        "    t = transcribe(SCRIPTED['recovering'], generate(NATURAL, 'train', n), REGIMES['faults_p25'], 0, str(n))\n"
        "    print([line.text for line in t.lines], t.outcome, t.reasons)\n"
    )
    root = str(Path(__file__).resolve().parents[3])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "4242")
    }  # fmt: skip
    assert len(outputs) == 1
    assert "rate_limited" in outputs.pop()


class Clean:
    """A law that plays the same calls without faults, for counterfactuals."""

    law = compile_law(REGIMES["clean"])


@pytest.mark.parametrize("regime", ["faults_p25", "heldout_p25", "challenge"])
def test_effective_iff_the_reply_differs_from_the_clean_counterfactual(tasks, regime):
    """Each drawn call against a clean episode whose world is in the state that the faulted one was in."""
    law = compile_law(REGIMES[regime])
    effective = 0
    for task in tasks[:80]:
        calls = plan_calls(task)
        calls += [
            call for call in calls if task.tools[call[0]].kind != "write"
        ]  # read again after the writes
        episode = Episode(task, law, train_seed(2, task.index))
        for name, arguments in calls[: task.budget]:
            clean = Episode(task, Clean.law, "0")
            clean._state = episode.state
            wanted = clean.step(name, arguments).text
            text = episode.step(name, arguments).text
            record = episode.records[-1]
            if record.repeat is not None:
                assert record.effective == (text != wanted)
                assert not record.effective or record.drawn
                effective += record.effective
    assert effective > 100


def test_stale_data_never_reach_the_graded_state(tasks):
    """Under any faults the end state is what the answered writes alone, replayed cleanly, produce."""
    stale = 0
    for task in tasks:
        for k in range(4):
            episode = play(SCRIPTED["recovering"], task, P25, luck_seed(task.task_id, k))
            stale += any(record.drawn == "stale_read" for record in episode.records)
            again = Episode(task, Clean.law, "0")
            for record in episode.records:
                if record.status == "ok" and task.tools[record.tool].kind == "write":
                    again.step(
                        record.tool,
                        dict(
                            zip(
                                (p.name for p in task.tools[record.tool].params),
                                shown(task, record),
                                strict=True,
                            )
                        ),
                    )
            assert again.grade().differences == episode.grade().differences
    assert stale > 30


def shown(task, record):
    """Canonical values as a call would spell them: cents back to money."""
    kinds = [param.kind for param in task.tools[record.tool].params]
    return [
        value / 100 if kind == "money" else value for kind, value in zip(kinds, record.values, strict=True)
    ]


def test_ids_with_slashes_keep_resources_apart(make_task, make_world):
    """Order A with product B/C, order A/B with product C and a product A/B/C alone are three resources."""
    tool = make_task(make_world()).tools["reserve_stock"]
    ids = ("A", "B", "C", "A/B", "B/C", "A/B/C", "A%2FB", "A%", "%2F", "2F")
    seen = {}
    for order_id in (None, *ids):
        for product_id in ids:
            values = tool.check({"order_id": order_id, "product_id": product_id, "quantity": 1})
            resource = tool.resource(values)
            assert seen.setdefault(resource, (order_id, product_id)) == (order_id, product_id)
    assert tool.resource(("O-1", "P-2", 1)) == "O-1/P-2" and tool.resource((None, "P-2", 1)) == "P-2"

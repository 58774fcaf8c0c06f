"""Why an episode failed: every sentence is held to a played episode whose cause is known."""

from __future__ import annotations

from fractions import Fraction

import pytest

from study.backoffice.calls import Call
from study.backoffice.episode import Episode
from study.backoffice.faults import NoiseLaw, compile_law
from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT, NATURAL
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import evaluation_seed
from study.evaluation.explain import effects, explain
from study.policies.scripted import SCRIPTED

CLEAN = compile_law(REGIMES["clean"])
TIMEOUTS = compile_law(NoiseLaw("t", rate=Fraction(1), weights=REGIMES["heldout_p25"].weights))


def task_with(tool, wanted=lambda arguments: True, profile=NATURAL):
    """The first validation task that plans a fitting call of a tool, and that call."""
    for index in range(300):
        task = generate(profile, "validation", index)
        for call in task.plan:
            if call.name == tool and wanted(call.arguments):
                return task, call
    raise AssertionError(f"no task plans {tool}")


def played(task, calls, law=CLEAN):
    episode = Episode(task, law, "0" * 32)
    for call in calls:
        episode.step(call.name, dict(call.arguments))
    episode.close()
    outcome = episode.grade()
    return outcome, explain(task, episode, outcome)


def with_arguments(task, planned, *changes):
    """The plan with one call replaced by several with other arguments."""
    calls = []
    for call in task.plan:
        if call is planned:
            calls += [Call(call.name, {**call.arguments, **change}) for change in changes]
        else:
            calls.append(call)
    return calls


def test_a_reservation_in_two_calls_is_the_reservation():
    task, call = task_with("reserve_stock", lambda a: a["quantity"] >= 2)
    whole = call.arguments["quantity"]
    outcome, reasons = played(task, with_arguments(task, call, {"quantity": 1}, {"quantity": whole - 1}))
    assert outcome.true_success and reasons == []
    outcome, reasons = played(task, with_arguments(task, call, {"quantity": whole - 1}))
    assert not outcome.true_success and "was made with other values" in " ".join(reasons)


def test_units_reserved_without_the_order_are_another_reservation():
    task, call = task_with("reserve_stock")
    outcome, reasons = played(
        task, [*task.plan, Call(call.name, {**call.arguments, "order_id": None, "quantity": 1})]
    )
    assert not outcome.true_success
    assert any(reason.startswith("A reservation (") and "does not ask" in reason for reason in reasons)


def test_two_halves_of_a_refund_are_not_the_whole_and_the_reason_says_so():
    task, call = task_with("issue_refund")
    amount = call.arguments["amount"]
    outcome, reasons = played(
        task, with_arguments(task, call, {"amount": 1}, {"amount": round(amount - 1, 2)})
    )
    assert not outcome.true_success
    assert any("issue_refund" in reason and "was made with other values" in reason for reason in reasons)
    assert not any("never" in reason for reason in reasons)


def test_a_write_made_twice_is_called_that():
    """A partial refund of less than half of what was paid can be made twice; the free text does not matter."""
    for index in range(300):
        task = generate(NATURAL, "validation", index)
        for call in task.plan:
            paid = call.name == "issue_refund" and task.world.orders[call.arguments["order_id"]].paid
            if paid and paid >= 200 * call.arguments["amount"]:
                _, reasons = played(task, with_arguments(task, call, {"reason": "one"}, {"reason": "two"}))
                assert any("was made 2 times, at calls" in reason for reason in reasons)
                return
    raise AssertionError("no such refund among 300 tasks")


def test_a_ticket_made_twice_is_called_that():
    task, call = task_with("create_ticket")
    outcome, reasons = played(task, with_arguments(task, call, {}, {"summary": "again"}))
    assert not outcome.true_success and outcome.changed
    assert any("although the request does not ask for it" in reason for reason in reasons)


def test_a_refusal_that_a_timeout_hid_is_the_cause_and_not_the_timeout():
    """The plan reserves and then ships; shipping at once is refused, and the reply is a timeout all the same."""
    task, reservation = task_with("reserve_stock")
    order_id = reservation.arguments["order_id"]
    (ship,) = (
        one for one in task.plan if one.name == "schedule_shipment" and one.arguments["order_id"] == order_id
    )
    outcome, reasons = played(task, [ship], TIMEOUTS)
    assert not outcome.true_success and not outcome.changed
    (said,) = [reason for reason in reasons if "schedule_shipment" in reason and order_id in reason]
    assert said == (
        f"The planned write schedule_shipment({order_id}) never took effect: it was refused at call 1 "
        "(not_reserved), which a timeout hid."
    )


def test_a_timeout_that_hid_a_success_is_no_reason():
    task, call = task_with("cancel_order")
    _, reasons = played(task, [call], TIMEOUTS)
    assert not any(f"cancel_order({call.arguments['order_id']})" in reason for reason in reasons)


def test_effects_cover_the_expected_end_state_and_do_not_overlap():
    for profile in (NATURAL, COMPACT):
        for index in range(120):
            task = generate(profile, "validation", index)
            found = effects(task)
            fields = [key for effect in found for key in effect.fields]
            rows = [row for effect in found for row in effect.rows]
            assert len(found) == task.writes and all(effect.fields or effect.rows for effect in found)
            assert sorted(fields) == sorted(
                key for key in task.expected.changes if key[0] in task.world.orders
            )
            assert sorted(rows) == sorted(task.expected.added)


@pytest.mark.parametrize("regime", ["faults_p25", "heldout_p25", "challenge"])
def test_every_sentence_about_a_planned_write_is_true(regime):
    """A write that is said never to have taken effect left no trace in the end state, and the other way round."""
    law = compile_law(REGIMES[regime])
    for policy in ("naive", "recovering", "grounded"):
        for index in range(60):
            task = generate(NATURAL, "test", index)
            episode = Episode(task, law, evaluation_seed("test", task.task_id, 0))
            agent = SCRIPTED[policy].start(task, "")
            call = next(agent)
            try:
                while True:
                    reply = episode.step_call(call)
                    if episode.ended_by:
                        break
                    call = agent.send(reply)
            except StopIteration:
                episode.close()
            outcome = episode.grade()
            text = " ".join(explain(task, episode, outcome))
            for effect in effects(task):
                lost = any(
                    (row.row, row.field) in effect.fields or row.expected in effect.rows
                    for row in outcome.differences
                )
                resource = task.tools[effect.call.name].resource(
                    task.tools[effect.call.name].check(dict(effect.call.arguments))
                )
                assert lost == (f"{effect.call.name}({resource})" in text)

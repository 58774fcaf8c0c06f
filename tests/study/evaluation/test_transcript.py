"""A transcript says, without the code at hand, what happened and why the episode failed."""

from __future__ import annotations

import pytest

from study.backoffice.generate import generate
from study.backoffice.profiles import NATURAL
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import evaluation_seed
from study.evaluation.transcript import transcribe
from study.policies.scripted import SCRIPTED


def transcripts(policy, regime, count=60):
    for index in range(count):
        task = generate(NATURAL, "validation", index)
        yield transcribe(
            SCRIPTED[policy], task, REGIMES[regime], 0, evaluation_seed("validation", task.task_id, 0)
        )


@pytest.mark.parametrize("policy", ["naive", "recovering", "grounded", "finish"])
@pytest.mark.parametrize("regime", ["clean", "faults_p25", "heldout_p25", "challenge"])
def test_every_failure_has_a_reason_and_no_success_has(policy, regime):
    for transcript in transcripts(policy, regime, 30):
        assert bool(transcript.reasons) != transcript.outcome.true_success
        assert bool(transcript.outcome.differences) != transcript.outcome.true_success
        assert bool(transcript.world_changes) == transcript.outcome.changed


def test_reasons_name_the_write_and_the_cause():
    texts = [reason for transcript in transcripts("naive", "challenge", 10) for reason in transcript.reasons]
    assert texts
    assert all("failed temporarily" in text and "not repeated" in text for text in texts)
    texts = [
        reason for transcript in transcripts("recovering", "faults_p25") for reason in transcript.reasons
    ]
    assert any("outage" in text for text in texts)
    texts = [reason for transcript in transcripts("finish", "clean", 5) for reason in transcript.reasons]
    assert any("was never tried" in text for text in texts)
    assert any("No call was made" in text for text in texts)


def test_each_line_has_its_record():
    for transcript in transcripts("recovering", "faults_p25", 40):
        for line in transcript.lines:
            if line.record is None:
                assert transcript.episode.ended_by == "budget"
            else:
                assert line.tool == line.record.tool
                assert line.remaining == transcript.task.budget - line.record.number
        counted = [line.record for line in transcript.lines if line.record]
        assert counted == transcript.episode.records


def test_a_flip_is_explained():
    flipped = [t for t in transcripts("recovering", "grader_flips") if t.outcome.flipped]
    assert flipped
    assert all(
        t.outcome.true_success and t.outcome.observed_reward == 0 and "flip" in t.reasons[0] for t in flipped
    )


def test_changes_show_before_and_after_and_money_as_money():
    lines = [
        change for transcript in transcripts("recovering", "clean") for change in transcript.world_changes
    ]
    refunds = [line for line in lines if " refunded: " in line]
    assert refunds
    assert all(line.split(": ")[1].startswith("0.00 -> ") and line[-3] == "." for line in refunds)
    assert any("status: pending -> cancelled" in line for line in lines)
    assert any(line.startswith("new shipment: O-") for line in lines)
    assert any(" reserved: " in line and " -> " in line for line in lines)

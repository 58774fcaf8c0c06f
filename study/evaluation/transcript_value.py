"""`study.play/1`: a transcript as plain values, for `study play --json`."""

from __future__ import annotations

from typing import Any

from study.evaluation.transcript import Line, Transcript

FORMAT = "study.play/1"


def as_value(transcript: Transcript) -> dict[str, Any]:
    """The transcript as values that JSON can carry.

    Args:
        transcript: from `transcribe`.
    """
    outcome, task, episode = transcript.outcome, transcript.task, transcript.episode
    return {
        "format": FORMAT,
        "profile": task.profile.name,
        "task": task.task_id,
        "request": task.request,
        "policy": transcript.policy,
        "regime": transcript.law.name,
        "schedule": transcript.schedule,
        "schedule_seed": transcript.schedule_seed,
        "calls": [_call(line) for line in transcript.lines],
        "calls_counted": episode.calls,
        "budget": task.budget,
        "clock": episode.clock,
        "ended_by": episode.ended_by,
        "faults": transcript.counts._asdict(),
        "world_changes": list(transcript.world_changes),
        "true_success": outcome.true_success,
        "observed_reward": outcome.observed_reward,
        "flipped": outcome.flipped,
        "changed": outcome.changed,
        "differences": [row._asdict() for row in outcome.differences],
        "reasons": list(transcript.reasons),
    }


def _call(line: Line) -> dict[str, Any]:
    record = line.record
    return {
        "number": record.number if record else None,
        "tool": line.tool,
        "arguments": dict(line.arguments) if line.arguments is not None else None,
        "reply": line.text,
        "status": record.status if record else "refused",
        "resource": record.resource if record else None,
        "repeat": record.repeat if record else None,
        "drawn": record.drawn if record else None,
        "effective": record.effective if record else False,
        "clock": record.clock if record else None,
        "remaining": line.remaining,
    }

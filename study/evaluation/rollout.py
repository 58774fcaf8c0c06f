"""One episode played to its end."""

from __future__ import annotations

from collections.abc import Callable

from study.backoffice.calls import Call, MalformedCall
from study.backoffice.episode import Episode, Reply
from study.backoffice.faults import CompiledLaw
from study.backoffice.tasks import Task
from study.policies.policy import Policy

Observer = Callable[[Call | MalformedCall, Reply], None]
"""Called after every call, for transcripts."""


def play(
    policy: Policy,
    task: Task,
    law: CompiledLaw,
    seed: str,
    key: str = "",
    *,
    observer: Observer | None = None,
) -> Episode:
    """Play one episode.

    Args:
        policy: what plays.
        task: the task.
        law: compiled noise law.
        seed: schedule seed.
        key: for the policy's own sampling, never derived from `seed`.
        observer: sees every call and its reply.

    Returns:
        The ended episode; `ended_by` says how.
    """
    episode = Episode(task, law, seed)
    agent = policy.start(task, key)
    try:
        call = next(agent)
        while True:
            reply = episode.step_call(call)
            if observer is not None:
                observer(call, reply)
            if episode.ended_by:
                break
            call = agent.send(reply)
    except StopIteration:
        episode.close()
    agent.close()
    return episode

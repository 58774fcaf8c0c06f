"""One episode played to its end."""

from __future__ import annotations

from study.backoffice.episode import Episode
from study.backoffice.faults import CompiledLaw
from study.backoffice.tasks import Task
from study.policies.policy import Policy


def play(policy: Policy, task: Task, law: CompiledLaw, seed: str, key: str = "") -> Episode:
    """Play one episode.

    Args:
        policy: what plays.
        task: the task.
        law: compiled noise law.
        seed: schedule seed.
        key: for the policy's own sampling, never derived from `seed`.

    Returns:
        The ended episode; `ended_by` says how.
    """
    episode = Episode(task, law, seed)
    agent = policy.start(task, key)
    try:
        call = next(agent)
        while not episode.ended_by:
            reply = episode.step_call(call)
            if episode.ended_by:
                break
            call = agent.send(reply)
    except StopIteration:
        episode.close()
    agent.close()
    return episode

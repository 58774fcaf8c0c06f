"""The scripted agents as policies; they sample nothing, so their key is ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from study.backoffice import reference
from study.backoffice.tasks import Task
from study.errors import ConfigError
from study.policies.policy import Agent


@dataclass(frozen=True, slots=True)
class ScriptedPolicy:
    """A policy written against the plan.

    Attributes:
        name: register value.
        agent: task -> agent.
    """

    name: str
    agent: Callable[[Task], Agent]

    def start(self, task: Task, key: str) -> Agent:
        """Begin one episode; `key` has no influence."""
        return self.agent(task)


SCRIPTED: Mapping[str, ScriptedPolicy] = MappingProxyType(
    {
        agent.__name__: ScriptedPolicy(agent.__name__, agent)
        for agent in (reference.naive, reference.recovering, reference.grounded, reference.finish)
    }
)


def scripted_policy(name: str) -> ScriptedPolicy:
    """A scripted policy.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in SCRIPTED:
        raise ConfigError(
            "no such policy", expected=f"{', '.join(SCRIPTED)}, or DIR@STEP of a trained run", found=name
        )
    return SCRIPTED[name]

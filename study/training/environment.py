"""The simulator as TRL sees it: one object per batch position, pooled, reset with the dataset's row.

Every public method of an environment becomes a tool, so the object has the thirteen tools, `reset` and nothing
else that is public; what a rollout needs lies in its `_live`. The tools are made from the simulator's own
table, take text and leave coercion to its checkers (trl#5205: a parser's integer is no postal code).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from study.backoffice.episode import Episode, Outcome
from study.backoffice.faults import CompiledLaw, compile_law
from study.backoffice.profile import Profile
from study.backoffice.regimes import regime_named
from study.backoffice.tasks import Task
from study.backoffice.toolset import Tool, toolset
from study.config.run_config import CONDITIONS
from study.errors import ConfigError, StudyError

REGIME_OF: dict[str, str] = {name: one.regime for name, one in CONDITIONS.items()}
"""Condition -> the regime whose law its noisy episodes follow."""


def law_of(condition: str, *, noisy: bool = True) -> CompiledLaw:
    """The noise law of a condition's training episodes.

    Raises:
        ConfigError: no such condition, or a regime that does not say what the condition says.
    """
    said = next((one for name, one in CONDITIONS.items() if name == condition), None)
    if said is None:
        raise ConfigError("no such condition", expected=", ".join(CONDITIONS), found=condition)
    law = regime_named(said.regime)
    if (float(law.rate), float(law.flip_rate)) != (said.fault_rate, said.flip_rate):
        raise ConfigError(
            f"regime {law.name} is not condition {condition}", expected=repr(said), found=repr(law)
        )
    return compile_law(law if noisy else regime_named("clean"))


class LiveEpisode:
    """An episode as a rollout sees it.

    Args:
        episode: a fresh one.
    """

    __slots__ = ("_outcome", "episode")

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self._outcome: Outcome | None = None

    def act(self, name: str, arguments: dict[str, object]) -> str:
        """Answer one call; after the end every call gets the same short refusal and changes nothing."""
        return self.episode.step(name, arguments).text

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self.episode.ended_by)

    def outcome(self) -> Outcome:
        """The grade; an episode that the policy left without finish ends here. Graded once."""
        if self._outcome is None:
            self.episode.close()
            self._outcome = self.episode.grade()
        return self._outcome

    @property
    def exposed(self) -> bool:
        """At least one fault changed a reply."""
        return any(record.effective for record in self.episode.records)

    @property
    def faults_drawn(self) -> int:
        """Faults that the schedule drew for the calls made."""
        return sum(record.drawn is not None for record in self.episode.records)


class _Base:
    """What every environment shares; a subclass adds the tools of its profile."""

    _tasks: Callable[[str], Task]
    _laws: Mapping[bool, CompiledLaw]

    def __init__(self) -> None:
        self._live: LiveEpisode | None = None

    def reset(self, **row: Any) -> None:
        """Begin the episode that a row names.

        Args:
            **row: at least task, schedule_seed and noisy; the trainer adds what it knows besides.

        Raises:
            StudyError: the row has no seat, so its schedule would be anybody's.
        """
        missing = {"task", "schedule_seed", "noisy", "rollout_slot"} - row.keys()
        if missing:
            raise StudyError("a row without a seat", expected=", ".join(sorted(missing)))
        task = type(self)._tasks(row["task"])
        law = type(self)._laws[bool(row["noisy"])]
        self._live = LiveEpisode(Episode(task, law, row["schedule_seed"]))


def live_episode(environment: Any) -> LiveEpisode:
    """The running episode of an environment.

    Raises:
        StudyError: it was never reset.
    """
    live = environment._live
    if not isinstance(live, LiveEpisode):
        raise StudyError("the environment was not reset")
    return live


def _method(tool: Tool) -> Callable[..., str]:
    def call(self: Any, **arguments: object) -> str:
        return live_episode(self).act(tool.name, arguments)

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines = []
    for param in tool.params:
        default = inspect.Parameter.empty if param.required else None
        parameters.append(
            inspect.Parameter(param.name, inspect.Parameter.KEYWORD_ONLY, annotation=str, default=default)
        )
        lines.append(f"        {param.name}: {param.description}")
    arguments = "\n    Args:\n" + "\n".join(lines) + "\n" if lines else "\n"
    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = f"{tool.description}\n{arguments}\n    Returns:\n        The reply.\n    "
    call.__annotations__ = {param.name: str for param in tool.params} | {"return": str}
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return call


def environment_class(profile: Profile, tasks: Callable[[str], Task], condition: str) -> type[_Base]:
    """An environment class for TRL's `environment_factory`.

    Args:
        profile: whose thirteen tools.
        tasks: task id -> task.
        condition: whose law noisy rows follow.
    """
    laws = {True: law_of(condition), False: law_of(condition, noisy=False)}
    members: dict[str, Any] = {name: _method(tool) for name, tool in toolset(profile).items()}
    members |= {"_tasks": staticmethod(tasks), "_laws": laws, "__doc__": _Base.__doc__}
    return type("BackOffice", (_Base,), members)


def observed_rewards(environments: list[Any], **_: Any) -> list[float]:
    """TRL's reward function: what the noisy grader reports."""
    return [float(live_episode(environment).outcome().observed_reward) for environment in environments]

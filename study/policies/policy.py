"""The Policy protocol: how anything that plays is plugged into rollouts and evaluation."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from study.backoffice.calls import Call, MalformedCall
from study.backoffice.episode import Reply
from study.backoffice.tasks import Task

Agent = Generator[Call | MalformedCall, Reply, None]
"""Yields calls and is sent the reply to each; returning means to stop without finish."""


class Policy(Protocol):
    """Something that plays episodes.

    A learned policy reads `task.request` and the schemas of `task.tools` and nothing else of the task; only the
    scripted agents look at the plan. Its sampling must be a function of `key`.
    """

    @property
    def name(self) -> str:
        """The register value that identifies the policy."""
        ...

    def start(self, task: Task, key: str) -> Agent:
        """Begin one episode.

        Args:
            task: the task.
            key: identifies the episode for the policy's own sampling; equal keys play equally. It must not be
                derived from the schedule seed, or the two sources of chance would be dependent.
        """
        ...

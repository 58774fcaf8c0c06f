"""`study.play/1` read back: an episode that was written down, for comparison and for a replay of its calls."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from prereg_kit.errors import DocumentError, Where
from prereg_kit.foundation.strict_json import read_json_object
from study.backoffice.calls import Call, MalformedCall
from study.backoffice.faults import FaultType
from study.backoffice.tasks import Task
from study.errors import ConfigError
from study.policies.policy import Agent

MAX_BYTES = 16_000_000


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class RecordedCall(_Record):
    """One call of a recorded episode; meanings as in `CallRecord` and `Line`."""

    number: int | None
    tool: str
    arguments: dict[str, JsonValue] | None
    reply: str
    status: str
    drawn: FaultType | None
    effective: bool
    clock: int | None
    remaining: int
    resource: str | None = None
    repeat: int | None = None

    @property
    def event(self) -> tuple[str, str, int] | None:
        """The event key, None for a call that drew nothing."""
        return (
            None if self.resource is None or self.repeat is None else (self.tool, self.resource, self.repeat)
        )


class RecordedEpisode(_Record):
    """One recorded episode."""

    format: Literal["study.play/1"]
    profile: str
    task: str
    request: str
    policy: str
    regime: str
    schedule: int
    schedule_seed: str
    calls: tuple[RecordedCall, ...] = Field(max_length=10_000)
    calls_counted: int
    budget: int
    ended_by: str
    world_changes: tuple[str, ...]
    true_success: bool
    observed_reward: int
    reasons: tuple[str, ...]


def read_episode(path: Path) -> RecordedEpisode:
    """An episode from a file that `study play --json` wrote.

    Raises:
        ConfigError: no such file, or one that says something else; the line or field is named.
    """
    where = Where(file=str(path))
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(
                "the file is too large for an episode", where=where, expected=f"{MAX_BYTES} bytes"
            )
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError("the episode cannot be read", where=where, found=error.strerror) from error
    try:
        read_json_object(data, str(path))
        return RecordedEpisode.model_validate_json(data.removeprefix(b"\xef\xbb\xbf"))
    except DocumentError as error:
        raise ConfigError(
            f"not a recorded episode: {error.problem}",
            where=error.where,
            expected="study.play/1, as `study play --json` writes it",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        raise ConfigError(
            f"not a recorded episode: {first['msg'].lower()}",
            where=Where(file=str(path), field=field),
            expected="study.play/1, as `study play --json` writes it",
            found=first["input"] if field else None,
        ) from error


class Replay:
    """A policy that makes the calls of a recorded episode, whatever comes back: a counterfactual's fixed side.

    Args:
        episode: the record.
    """

    def __init__(self, episode: RecordedEpisode) -> None:
        self._episode = episode

    @property
    def name(self) -> str:
        """Says whose calls are replayed."""
        return f"calls of {self._episode.policy}"

    def start(self, task: Task, key: str) -> Agent:
        """Make the calls in order; `key` has no influence.

        Raises:
            ConfigError: the record is of another task.
        """
        if task.task_id != self._episode.task:
            raise ConfigError(
                "the recorded calls belong to another task", expected=task.task_id, found=self._episode.task
            )
        return self._calls()

    def _calls(self) -> Agent:
        for call in self._episode.calls:
            if call.arguments is None:
                yield MalformedCall(call.tool, "arguments", "a JSON object")
            else:
                yield Call(call.tool, dict(call.arguments))

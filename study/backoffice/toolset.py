"""The tools of a profile, ready for calls: parameters with the profile's choices, and their checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from study.backoffice.faults import ToolKind
from study.backoffice.profile import Profile
from study.backoffice.schemas import BadArgument, Param, compile_checker, json_schema
from study.backoffice.tools import DEFINITIONS, Definition, Execute, Values
from study.errors import SimulatorError


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of a profile.

    Attributes:
        definition: its entry in the table of tools.
        params: in call order, with the profile's choices.
        check: arguments -> values, or the reason for refusal.
        name: of the definition, as are the next three; they stand here because every call reads them.
        kind: decides which faults apply.
        resource: canonical argument values -> resource of the event key.
        run: executes a call; raises for `wait` and `finish`, which the episode answers itself.
    """

    definition: Definition
    params: tuple[Param, ...]
    check: Callable[[object], Values | BadArgument] = field(repr=False)
    name: str
    kind: ToolKind
    resource: Callable[[Values], str] = field(repr=False)
    run: Execute = field(repr=False)

    @classmethod
    def of(cls, definition: Definition, params: tuple[Param, ...]) -> Tool:
        """A definition with a profile's parameters."""
        return cls(
            definition,
            params,
            compile_checker(params),
            definition.name,
            definition.kind,
            definition.resource,
            definition.execute or _never,
        )

    @property
    def description(self) -> str:
        """What the tool does, for the model."""
        return self.definition.description

    def schema(self) -> dict[str, Any]:
        """A fresh JSON schema of this tool for a chat template."""
        return json_schema(self.name, self.definition.description, self.params)


def _never(state: object, values: object) -> Any:  # noqa: ANN401 - it returns nothing
    raise SimulatorError("a control tool has nothing to execute", found=values)


@lru_cache(maxsize=16)
def toolset(profile: Profile) -> Mapping[str, Tool]:
    """The thirteen tools of a profile by name, in their fixed order.

    Carriers, topics, priorities and the parts of an address come from the profile's world.
    """
    return MappingProxyType(
        {name: Tool.of(one, one.params(profile.world)) for name, one in DEFINITIONS.items()}
    )


def schemas(profile: Profile) -> list[dict[str, Any]]:
    """Fresh JSON schemas of the thirteen tools, in order, for a chat template."""
    return [tool.schema() for tool in toolset(profile).values()]

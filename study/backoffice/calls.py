"""Model text to a call, strictly: one JSON object {"name": ..., "arguments": {...}} or a structured refusal.

Nothing is guessed: no unwrapping of doubly encoded objects, no trimming of names, no repair of cut JSON, no empty
arguments in place of unreadable ones. A refusal names the tool where one is readable, the field and the position.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

MAX_CALL_CHARACTERS = 20_000


class Call(NamedTuple):
    """A readable call; the name may still be unknown and the arguments may still not fit."""

    name: str
    arguments: dict[str, Any]


class MalformedCall(NamedTuple):
    """A call that could not be read.

    Attributes:
        tool: the name if one was readable, else "".
        field: "call", "name" or "arguments".
        expected: what would have been right, with the position in the text where it is known.
    """

    tool: str
    field: str
    expected: str


class _Unreadable(ValueError):  # noqa: N818 - never leaves this module
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Unreadable("each key once")
    return result


def _constant(name: str) -> Any:  # noqa: ANN401 - the hook's type
    raise _Unreadable(f"JSON numbers, not {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def _decode(text: str) -> object:
    """A strict decoder: RFC 8259, no duplicate keys, no NaN.

    Raises:
        _Unreadable: with what was expected, and where.
    """
    if len(text) > MAX_CALL_CHARACTERS:
        raise _Unreadable(f"at most {MAX_CALL_CHARACTERS} characters")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _Unreadable(f"one JSON object; {error.msg.lower()} at character {error.pos}") from error
    except RecursionError as error:
        raise _Unreadable("a JSON object of modest depth") from error
    except _Unreadable:
        raise
    except ValueError as error:  # an integer literal of thousands of digits
        raise _Unreadable("numbers of modest length") from error


def parse_call(text: str) -> Call | MalformedCall:
    """Read {"name": ..., "arguments": {...}}; outer white space is allowed, further keys are not.

    `arguments` must be a JSON object; a call that omits it is refused, also for tools without required fields.
    """
    try:
        value = _decode(text)
    except _Unreadable as error:
        return MalformedCall("", "call", str(error))
    if not isinstance(value, dict):
        return MalformedCall("", "call", 'a JSON object with "name" and "arguments"')
    name = value.get("name")
    if not isinstance(name, str):
        return MalformedCall("", "name", "the name of a tool, a string")
    strange = [key for key in value if key not in ("name", "arguments")]
    if strange or "arguments" not in value:
        return MalformedCall(name, "arguments" if not strange else "call", 'exactly "name" and "arguments"')
    arguments = value["arguments"]
    if not isinstance(arguments, dict):
        return MalformedCall(name, "arguments", "a JSON object")
    return Call(name, arguments)


def parse_arguments(name: object, arguments: object) -> Call | MalformedCall:
    """Read a call that arrives in two parts, as chat APIs deliver it: a name, and arguments as JSON text or object.

    Args:
        name: should be a string; anything else is refused.
        arguments: JSON text of an object, or the object itself; null and empty text are refused.
    """
    if not isinstance(name, str):
        return MalformedCall("", "name", "the name of a tool, a string")
    if isinstance(arguments, dict):
        return Call(name, arguments)
    if not isinstance(arguments, str):
        return MalformedCall(name, "arguments", "a JSON object")
    try:
        value = _decode(arguments)
    except _Unreadable as error:
        return MalformedCall(name, "arguments", str(error))
    if not isinstance(value, dict):
        return MalformedCall(name, "arguments", "a JSON object")
    return Call(name, value)

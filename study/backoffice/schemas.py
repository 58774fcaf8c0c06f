"""The parameters of the thirteen tools: one source for the JSON schemas shown to a model and for the checkers.

Rules that a stranger might guess differently: an optional parameter given as null counts as absent; an unknown
parameter is refused; a boolean is no number; 33, 33.0, "33" and "33.00" are one amount; 90210, 90210.0 and "90210"
are one postal code, but a number of fewer digits is refused: whether it lost a zero ("04224") or is another country's
code (4224), nobody can tell; choices ignore case and outer spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from study.backoffice.world import canonical_id

ParamKind = Literal["id", "text", "integer", "money", "postal", "choice"]

MAX_ID = 64
MAX_TEXT = 2000
MAX_CENTS = 10**9

_MONEY = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,2}))?", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)
_POSTAL = re.compile(r"[0-9]{5}(?:-[0-9]{4})?", re.ASCII)


class BadArgument(NamedTuple):
    """Why arguments were refused.

    Attributes:
        field: the parameter, or "arguments" for the whole.
        expected: what would have been right.
    """

    field: str
    expected: str


class Unfit(Exception):  # noqa: N818 - a signal inside the checkers, never an error that leaves them
    """A value does not fit its parameter; carries what was expected."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a tool.

    Attributes:
        name: as in the call.
        kind: which checker applies.
        description: one clause for the model.
        required: whether it must be there; an absent optional one becomes `default`.
        choices: the values of a `choice`.
        low: least `integer`.
        high: greatest `integer`.
        default: value of an absent optional parameter.
    """

    name: str
    kind: ParamKind
    description: str
    required: bool = True
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 10**6
    default: object = None


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str):
        raise Unfit("a string")
    if len(value) > limit:
        raise Unfit(f"a string of at most {limit} characters")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unfit("Unicode text without lone surrogates") from None
    return value


def _check_id(value: object) -> str:
    if type(value) is str and value.isascii() and len(value) <= MAX_ID:  # the usual case, in one frame
        key = value.strip().upper()
        if key and key.isprintable():
            return key
    key = canonical_id(_text(value, MAX_ID))
    if not key or len(key) > MAX_ID or not key.isprintable():
        raise Unfit(f"an id of 1 to {MAX_ID} printable characters")
    return key


def _check_text(value: object) -> str:
    return _text(value, MAX_TEXT)


def _check_filled_text(value: object) -> str:
    text = _text(value, MAX_TEXT).strip()
    if not text:
        raise Unfit("a non-empty string")
    return text


def check_money(value: object) -> int:
    """An amount of money as integer cents.

    Raises:
        Unfit: not a number or decimal text, not positive, too large, or finer than a cent.
    """
    expected = "a positive amount with at most two decimals"
    if isinstance(value, bool):
        raise Unfit(expected)
    if isinstance(value, int):
        if not 0 < value <= MAX_CENTS // 100:
            raise Unfit(expected)
        return value * 100
    if isinstance(value, float):
        if not 0 < value <= MAX_CENTS // 100:  # also refuses NaN
            raise Unfit(expected)
        value = repr(value)
    if not isinstance(value, str):
        raise Unfit(expected)
    match = _MONEY.fullmatch(value.strip()) if len(value) <= MAX_ID else None
    if match is None:
        raise Unfit(expected)
    cents = int(match[1]) * 100 + int((match[2] or "0").ljust(2, "0"))
    if not 0 < cents <= MAX_CENTS:
        raise Unfit(expected)
    return cents


def _check_postal(value: object) -> str:
    expected = 'a five-digit postal code such as "02139", as text if it begins with 0'
    if isinstance(value, bool):
        raise Unfit(expected)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        if not 10_000 <= value <= 99_999:
            raise Unfit(expected)
        return str(value)
    if not isinstance(value, str) or len(value) > MAX_ID or not _POSTAL.fullmatch(value.strip()):
        raise Unfit(expected)
    return value.strip()


def _integral(value: object) -> bool:
    """A float without fraction (which excludes NaN and infinities) or a short text of digits."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, str) and len(value) <= MAX_ID and _DIGITS.fullmatch(value.strip()) is not None


def _integer_checker(low: int, high: int) -> Callable[[object], int]:
    expected = f"an integer from {low} to {high}"

    def check(value: object) -> int:
        if _integral(value):
            value = int(value)  # type: ignore[call-overload]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit(expected)
        return value

    return check


def _choice_checker(choices: tuple[str, ...]) -> Callable[[object], str]:
    expected = "one of " + ", ".join(choices)
    by_key = {choice.casefold(): choice for choice in choices}

    def check(value: object) -> str:
        found = (
            by_key.get(value.strip().casefold()) if isinstance(value, str) and len(value) <= MAX_ID else None
        )
        if found is None:
            raise Unfit(expected)
        return found

    return check


def _checker(param: Param) -> Callable[[object], object]:
    if param.kind == "integer":
        return _integer_checker(param.low, param.high)
    if param.kind == "choice":
        return _choice_checker(param.choices)
    if param.kind == "text":
        return _check_filled_text if param.required else _check_text
    simple: Mapping[str, Callable[[object], object]] = {
        "id": _check_id,
        "money": check_money,
        "postal": _check_postal,
    }
    return simple[param.kind]


def compile_checker(params: tuple[Param, ...]) -> Callable[[object], tuple[Any, ...] | BadArgument]:
    """A function from a call's arguments to their values in the order of `params`.

    The function returns a `BadArgument` naming the first offending field (unknown fields first, in the call's
    order; then the parameters in theirs). It keeps no reference to the arguments.
    """
    rows = tuple((param.name, param.required, param.default, _checker(param)) for param in params)
    known = frozenset(param.name for param in params)
    allowed = ", ".join(param.name for param in params) or "none"

    def check(arguments: object) -> tuple[Any, ...] | BadArgument:
        if not isinstance(arguments, dict):
            return BadArgument("arguments", "a JSON object")
        if not arguments.keys() <= known:
            strange = next(key for key in arguments if key not in known)
            shown = strange if isinstance(strange, str) and strange.isprintable() and strange else "arguments"
            return BadArgument(shown[:MAX_ID], f"no such field; fields: {allowed}")
        values: list[object] = []
        for name, required, default, fit in rows:
            value = arguments.get(name)
            if value is None:
                if required:
                    return BadArgument(name, "a value; the field is missing")
                values.append(default)
                continue
            try:
                values.append(fit(value))
            except Unfit as reason:
                return BadArgument(name, str(reason))
        return tuple(values)

    return check


def json_schema(name: str, description: str, params: tuple[Param, ...]) -> dict[str, Any]:
    """The function schema that chat templates take: JSON Schema inside the usual `function` wrapper."""
    properties: dict[str, dict[str, Any]] = {}
    for param in params:
        entry: dict[str, Any] = {"type": "string", "description": param.description}
        if param.kind == "integer":
            entry = {"type": "integer", "description": param.description}
            entry |= {"minimum": param.low, "maximum": param.high}
        elif param.kind == "money":
            entry["type"] = "number"
        elif param.kind == "choice":
            entry["enum"] = list(param.choices)
        properties[param.name] = entry
    required = [param.name for param in params if param.required]
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
    }

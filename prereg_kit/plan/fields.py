"""Field types: each decides how the text in the file becomes a value, so that no scalar changes type by its look."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StringConstraints

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_RATIO = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_MOST_CHARACTERS, _LARGEST = 64, 10**30


class Value(BaseModel):
    """Base of every typed value in a plan: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, str_max_length=100_000)


def exact(value: object) -> Fraction:
    """An exact number from "0.03", "1/3", an int, a Decimal, a Fraction or a float's shortest decimal.

    Raises:
        ValueError: not a finite decimal or ratio. `.nan` and `.inf` are refused like any other text.
    """
    if isinstance(value, bool):
        raise ValueError("a number, not true or false")
    if isinstance(value, Fraction | int):
        return _bounded(Fraction(value))
    if isinstance(value, float | Decimal):
        value = repr(value) if isinstance(value, float) else str(value)
    if isinstance(value, str):
        text = value.strip()
        if len(text) <= _MOST_CHARACTERS and _DECIMAL.fullmatch(text):
            return _bounded(Fraction(text))
        if len(text) <= _MOST_CHARACTERS and (ratio := _RATIO.fullmatch(text)) and int(ratio[2]):
            return _bounded(Fraction(int(ratio[1]), int(ratio[2])))
    raise ValueError("a finite decimal such as 0.03 or a ratio such as 1/3")


def _bounded(number: Fraction) -> Fraction:
    if abs(number) > _LARGEST or number.denominator > _LARGEST**2:
        raise ValueError("a number between -1e30 and 1e30 with at most sixty decimals")
    return number


def decimal_text(number: Fraction) -> str:
    """The shortest exact writing of a number: a decimal where one exists, else a ratio."""
    denominator = number.denominator
    twos = fives = 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    places = max(twos, fives)
    if denominator != 1 or places > 12:
        return str(number)
    sign = "-" if number < 0 else ""
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")


def _whole(value: object) -> int:
    if isinstance(value, bool):
        raise ValueError("a whole number, not true or false")
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
        return int(value)
    raise ValueError("a whole number of at most 18 digits")


def _texts(value: Any) -> Any:  # noqa: ANN401 - checked by the field's own type afterwards
    return (
        [value]
        if isinstance(value, str)
        else [str(v) if isinstance(v, int) else v for v in value]
        if isinstance(value, list | tuple)
        else [str(value)]
        if isinstance(value, int) and not isinstance(value, bool)
        else value
    )


def _text(value: Any) -> Any:  # noqa: ANN401
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _percentile(value: object) -> object:
    if value != "percentile":
        raise ValueError(
            f"the interval method percentile (inverse CDF); {value} is refused: nobody has measured its coverage "
            "on crossed seeds and tasks, and bca is 0/0 where nothing varies"
        )
    return value


Exact = Annotated[Fraction, BeforeValidator(exact), PlainSerializer(decimal_text, return_type=str)]
Whole = Annotated[int, BeforeValidator(_whole)]
Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Name = Annotated[
    str, BeforeValidator(_text), StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,63}$")
]
Column = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]{1,128}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z)?$"),
]
PercentileMethod = Annotated[str, BeforeValidator(_percentile)]


def _level(value: object) -> Fraction:
    number = exact(value)
    if not Fraction(1, 1000) <= number <= Fraction(999_999, 1_000_000):
        raise ValueError("a level between 0.001 and 0.999999, such as 0.95")
    return number


Level = Annotated[Fraction, BeforeValidator(_level), PlainSerializer(decimal_text, return_type=str)]
Listed = Annotated[Texts, Field(min_length=1)]


def is_placeholder(text: str) -> bool:
    """Whether a text is one of those in angle brackets that a draft carries until somebody replaces it."""
    return text.strip().startswith("<") and text.strip().endswith(">")

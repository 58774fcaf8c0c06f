"""How a number is printed: one rule for every format.

The printed number is `Figure.value`; its `exact` fraction is shown beside it where there is room and is never
used to correct it. `value` is rounded half to even on the shortest decimal that names the float (Python's
`repr`, David Gay's algorithm). For a value that came from a fraction with a denominator below 10**9 this gives
the same digits as rounding the fraction itself: a tie has at most one digit more than is printed, so its
shortest decimal is the tie, and any other value is further from a tie than a float's error.

Decimals: 4 for proportions, ratios and figures without a unit; 2 for percentage points and percent; 2 for any
other unit between 0.01 and a million, whole numbers without decimals; outside that four significant digits.
A number that was compared with a bound gets as many more as tell it from that bound. A value that is not zero
keeps its sign when it rounds to zero (`-0.0000`), since rules ask about signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import partial

from prereg_kit.decision.verdict import Figure, Interval

NOTHING = "-"
REPORTED = " (reported)"
RULE = (
    "Figures are rounded half to even, to 4 decimals (proportions, ratios) or 2 (percentage points, percent); "
    "with more where a bound lies so near; a figure that is not zero keeps its sign when it rounds to zero."
)
_BARE_UNITS = frozenset({"", "proportion", "ratio", "fraction", "share", "rate"})
_SUFFIX = {"pp": "pp", "percentage points": "pp", "percent": "%", "%": "%"}
_LARGE = Decimal(10) ** 6
_SMALL = Decimal("0.01")
_MORE = 9  # decimals added at most before the number is written with an exponent
_CONTEXT = Context(prec=400, rounding=ROUND_HALF_EVEN)


def _decimals(number: Decimal, unit: str) -> int | None:
    """Decimals to print, or None for four significant digits."""
    size = abs(number)
    if size >= _LARGE:
        return 0 if number == number.to_integral_value() and size < Decimal(10) ** 15 else None
    if unit in _BARE_UNITS:
        return 4
    if unit in _SUFFIX:
        return 2
    if number == number.to_integral_value():
        return 0
    return None if size < _SMALL else 2


def digits(
    value: float, unit: str | None = None, *, signed: bool = False, beside: Iterable[float] = ()
) -> str:
    """`value` rounded by the rule above, without its unit.

    Args:
        value: a finite number in `unit`.
        unit: the endpoint's unit; None and "proportion" print four decimals.
        signed: print `+` before a positive number.
        beside: finite bounds that `value` was compared with. Decimals are added until the printed value lies
            on its own side of each bound and differs from the bound as rounded.
    """
    number = Decimal(repr(value))
    text = _rounded(number, _decimals(number, unit or ""), [Decimal(repr(bound)) for bound in beside])
    text = text.lstrip("-")
    if number < 0:
        return "-" + text
    return ("+" + text) if signed and number > 0 else text


def _rounded(number: Decimal, places: int | None, bounds: list[Decimal]) -> str:
    """`number` with `places` decimals (None: four significant digits), or more where a bound needs them."""
    if places is not None:
        for more in range(places, places + _MORE):
            if _told(number, bounds, partial(_fixed, places=more)):
                return _fixed(number, more)
    for more in range(3, 17):
        if _told(number, bounds, partial(_scientific, places=more)):
            return _scientific(number, more)
    return format(number, "f")


def _told(number: Decimal, bounds: list[Decimal], written: Callable[[Decimal], str]) -> bool:
    """Whether `number` as written lies on its own side of each bound, and apart from the bound as rounded too."""
    shown = Decimal(written(number))
    return all(
        shown.compare(bound) == number.compare(bound)
        and (number == bound or shown != Decimal(written(bound)))
        for bound in bounds
    )


def _fixed(number: Decimal, places: int) -> str:
    return format(number.quantize(Decimal(1).scaleb(-places), context=_CONTEXT), "f")


def _scientific(number: Decimal, places: int) -> str:
    mantissa, _, exponent = format(_CONTEXT.plus(number), f".{places}e").partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def bound(number: Figure, unit: str | None = None) -> str:
    """A registered bound with every digit it was registered with, and its unit: `3.279106 nats`, `0`."""
    decimal = Decimal(repr(number.value)).normalize()
    plain = format(decimal, "f")
    text = plain if len(plain) <= 20 else _scientific(decimal, max(0, len(decimal.as_tuple().digits) - 1))
    return ("0" if decimal == 0 else text) + suffix(unit)


def suffix(unit: str | None) -> str:
    """What follows a number in `unit`: nothing for proportions and ratios, else a space and the unit."""
    if unit is None or unit in _BARE_UNITS:
        return ""
    return " " + _SUFFIX.get(unit, unit)


def figure(
    number: Figure | None, unit: str | None = None, *, signed: bool = False, beside: Iterable[float] = ()
) -> str:
    """A figure with its unit, `(reported)` after one that was not recomputed, `-` for none."""
    if number is None:
        return NOTHING
    tail = REPORTED if number.evidence == "reported" else ""
    return digits(number.value, unit, signed=signed, beside=beside) + suffix(unit) + tail


def level(value: float) -> str:
    """A confidence level in (0, 1) as percent with the digits it was registered with: 0.95 gives `95 %`."""
    number = Decimal(repr(value)).scaleb(2)
    text = format(number.normalize(), "f")
    return f"{text} %"


def ends(
    value: Interval, unit: str | None = None, *, signed: bool = False, beside: Iterable[float] = ()
) -> str:
    """The two ends with their unit: `[-1.04, +12.15] pp`."""
    near = tuple(beside)
    lower, upper = (digits(end, unit, signed=signed, beside=near) for end in (value.lower, value.upper))
    return f"[{lower}, {upper}]{suffix(unit)}"


def interval(
    value: Interval | None, unit: str | None = None, *, signed: bool = False, beside: Iterable[float] = ()
) -> str:
    """`95 % [-0.0039, +0.0779]`, with `(reported)` or `(degenerate)` where it is, `-` for none."""
    if value is None:
        return NOTHING
    notes = [
        word
        for word, on in (("reported", value.engine == "reported"), ("degenerate", value.degenerate))
        if on
    ]
    tail = f" ({', '.join(notes)})" if notes else ""
    return f"{level(value.level)} {ends(value, unit, signed=signed, beside=beside)}{tail}"

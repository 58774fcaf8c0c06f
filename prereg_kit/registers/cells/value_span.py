"""Between which numbers the values of a column lie, and whether they look like two scales in one column."""

from __future__ import annotations

from fractions import Fraction

from prereg_kit.plan.fields import decimal_text
from prereg_kit.registers.cells.walk import Part

HUNDRED = 100
GAP = 10
"""Values on both sides of 1 that lie at least this factor apart, with nothing between, look like two scales."""
PERCENT_UNITS = ("percent", "%", "percentage points", "pp")


class ValueSpan:
    """The least and the greatest value, and those next to 1 on both sides, over the rows that were looked at.

    Args:
        name: the column.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._least: Fraction | None = None
        self._greatest: Fraction | None = None
        self._greatest_below_one: Fraction | None = None
        self._least_above_one: Fraction | None = None

    def look(self, part: Part) -> None:
        """Note a part's values."""
        if not part.size:
            return
        denominator = part.block.values[self._name].denominator
        numbers = part.numerators(self._name)
        below = numbers[(numbers > 0) & (numbers < denominator)]
        above = numbers[numbers > denominator]
        self._least = _least(self._least, Fraction(int(numbers.min()), denominator))
        self._greatest = _greatest(self._greatest, Fraction(int(numbers.max()), denominator))
        if len(below):
            self._greatest_below_one = _greatest(
                self._greatest_below_one, Fraction(int(below.max()), denominator)
            )
        if len(above):
            self._least_above_one = _least(self._least_above_one, Fraction(int(above.min()), denominator))

    def notes(self, unit: str) -> tuple[str, ...]:
        """What a reader should know before trusting a mean of these values in this unit."""
        if self._least is None or self._greatest is None or self._least < 0 or self._greatest > HUNDRED:
            return ()
        span = f"{decimal_text(self._least)} to {decimal_text(self._greatest)}"
        low, high = self._greatest_below_one, self._least_above_one
        if low is not None and high is not None and high >= GAP * low:
            return (
                f"{self._name} may mix two scales: values run from {span}, with nothing between {decimal_text(low)} "
                f"and {decimal_text(high)}; if fractions and percentages stand in one column, correct the rows, and "
                "declare the endpoint's `range`",
            )
        if unit in PERCENT_UNITS and self._greatest <= 1 and self._greatest > 0:
            written = "proportion" if low is None and high is None else "fraction"
            return (
                f"{self._name} runs from {span} under `unit: {unit}`, so that 0.05 is printed as 0.05 percent; "
                f"for rows of this kind the plan's unit is `{written}`",
            )
        return ()


def _least(one: Fraction | None, other: Fraction) -> Fraction:
    return other if one is None else min(one, other)


def _greatest(one: Fraction | None, other: Fraction) -> Fraction:
    return other if one is None else max(one, other)

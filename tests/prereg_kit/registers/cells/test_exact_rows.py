"""Exact values one by one, in canonical order."""

from __future__ import annotations

from fractions import Fraction

import pytest

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells import value_rows
from tests.prereg_kit.registers.cells.by_hand import registers


def test_value_rows_are_exact_and_in_canonical_order():
    rows = [
        {"endpoint": "e", "statistic": s, "level": level, "value": v, "source": "Table 2", "seed": seed}
        for s, level, v, seed in (
            ("upper", "0.95", "+0.0779", 0), ("estimate", None, "0.0370", 10), ("estimate", None, "-1.04e-2", 2),
        )
    ]  # fmt: skip
    found = value_rows(
        registers(rows, "reported"), "reported", where={"endpoint": "e"}, value="value", columns=("source",)
    )
    assert [row.value for row in found] == [Fraction(-104, 10000), Fraction(37, 1000), Fraction(779, 10000)]
    assert found[0].key["level"] is None
    assert found[0].key["source"] == "Table 2"
    assert found[2].row == 1
    with pytest.raises(RegisterError) as caught:
        value_rows(
            registers([*rows, {**rows[1], "value": "0.0371"}], "reported"),
            "reported",
            where={},
            value="value",
        )
    assert caught.value.code == "conflicting-rows"
    twins = [{**row, "run_id": run} for row in rows for run in ("a", "b")]
    assert len(value_rows(registers(twins, "reported"), "reported", where={}, value="value")) == 6
    rows[0]["value"] = "NaN"
    with pytest.raises(RegisterError, match="missing value"):
        value_rows(registers(rows, "reported"), "reported", where={}, value="value")
    rows[0]["value"] = "0.07(2)"
    with pytest.raises(RegisterError, match="not an exact number"):
        value_rows(registers(rows, "reported"), "reported", where={}, value="value")

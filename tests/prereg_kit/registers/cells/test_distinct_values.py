"""Distinct values inside each group of rows."""

from __future__ import annotations

import pytest

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells import distinct_per_group
from tests.prereg_kit.registers.cells.by_hand import groups, registers


def test_distinct_values_inside_a_list_and_inside_a_group_of_rows():
    found = registers(groups(), "groups")
    key = ("run_id", "row")
    paired = distinct_per_group(found, "groups", where={"arm": "paired"}, value="schedule_seeds", group=key)
    assert (paired.groups, paired.single, paired.several, paired.first_several) == (10, 10, 0, None)
    other = distinct_per_group(
        found, "groups", where={"arm": "independent"}, value="schedule_seeds", group=key
    )
    assert (other.single, other.several, other.most) == (0, 10, 4)
    assert other.first_several == "run_id=independent, row=0"
    rows = groups()
    rows[3]["schedule_seeds"] = ["s", "s", "s", "z"]
    broken = distinct_per_group(registers(rows, "groups"), "groups", where={"arm": "paired"}, value="schedule_seeds",
                                group=key)  # fmt: skip
    assert (broken.several, broken.first_several) == (1, "run_id=paired, row=3")
    scalar = distinct_per_group(found, "groups", where={}, value="spurious", group=("arm",))
    assert (scalar.groups, scalar.single, scalar.several, scalar.first_several) == (
        2,
        1,
        1,
        "arm=independent",
    )
    rows[3]["schedule_seeds"] = ["s", None]
    with pytest.raises(RegisterError, match="missing entry"):
        distinct_per_group(registers(rows, "groups"), "groups", where={}, value="schedule_seeds", group=key)

"""The exact luck share against tables worked by hand and against the independent float implementation."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import DecisionError
from prereg_kit.statistics.luck import lower_and_upper, luck_share, table_share
from prereg_kit.statistics.random_stream import StreamKey
from study.theory.luck import luck_table

KEY = StreamKey(seed=1, plan="0" * 64)


def table(rows: list[list[int]]) -> np.ndarray:
    return np.array(rows, dtype=np.int64)


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([[1, 1, 1, 0], [0, 0, 0, 1]], F(1, 5)),  # MS between 1/2, within 1/4
        ([[1] * 4, [1] * 4], None),
        ([[1] * 4, [0] * 4], F(1)),
        ([[1, 0, 1, 0], [0, 1, 0, 1]], F(0)),  # MS between 0 lies below MS within 1/3: clipped
    ],
)
def test_tables_by_hand(rows: list[list[int]], share: F | None) -> None:
    assert table_share(table(rows)) == share
    assert table_share(table(rows) * 7) == share


def test_a_table_that_cannot_tell_schedules_from_samples_is_refused() -> None:
    for rows in ([[1, 0, 1]], [[1], [0]]):
        with pytest.raises(DecisionError, match="2 x 2"):
            table_share(table(rows))


@given(st.integers(2, 6), st.integers(2, 6), st.randoms(use_true_random=False))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_the_exact_share_is_that_of_the_theory(schedules: int, samples: int, random: object) -> None:
    rows = [[random.randint(0, 1) for _ in range(samples)] for _ in range(schedules)]  # type: ignore[attr-defined]
    exact, other = table_share(table(rows)), luck_table(np.array(rows, dtype=float))
    if exact is None:
        assert other.share is None
    else:
        assert float(exact) == pytest.approx(other.share, abs=1e-12)


def test_undefined_tables_are_left_out_of_the_mean_and_counted() -> None:
    found = luck_share(
        {"a": table([[1, 1, 1, 0], [0, 0, 0, 1]]), "b": table([[1] * 4] * 2), "c": table([[1] * 4, [0] * 4])}
    )
    assert (found.value, found.undefined) == (F(3, 5), 1)


def test_the_interval_of_equal_shares_is_a_point_and_of_unequal_ones_encloses_the_mean() -> None:
    same = luck_share({str(i): table([[1, 1, 1, 0], [0, 0, 0, 1]]) for i in range(4)})
    assert lower_and_upper(same, F(19, 20), 1000, KEY) == (F(1, 5), F(1, 5))
    mixed = luck_share(
        {
            "a": table([[1, 1, 1, 0], [0, 0, 0, 1]]),
            "b": table([[1] * 4, [0] * 4]),
            "c": table([[1, 0], [0, 1]]),
        }
    )
    lower, upper = lower_and_upper(mixed, F(19, 20), 1000, KEY)
    assert mixed.value is not None and lower < mixed.value < upper
    with pytest.raises(DecisionError, match="no table"):
        lower_and_upper(luck_share({"b": table([[1] * 4] * 2)}), F(19, 20), 1000, KEY)

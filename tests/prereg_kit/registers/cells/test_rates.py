"""A count over a count, and what it never pools."""

from __future__ import annotations

from fractions import Fraction

import pytest

from prereg_kit.errors import RegisterError
from tests.prereg_kit.registers.cells.by_hand import ARMS, counts, groups, rate, registers


def test_a_rate_is_a_count_over_a_count():
    found = rate(registers(groups(), "groups"), "groups", where={"arm": "independent"}, numerator="spurious",
                       denominator="all_correct")  # fmt: skip
    assert (found.numerator, found.denominator, found.rate) == (4, 7, Fraction(4, 7))
    both = rate(registers(groups(), "groups"), "groups", where={"arm": ARMS}, numerator="spurious")
    assert both.per == {"independent": (4, 10), "paired": (0, 10)}
    outside = [{**row, "all_correct": not row["all_correct"]} for row in groups()]
    none = rate(
        registers(outside, "groups"),
        "groups",
        where={"arm": ARMS},
        numerator="spurious",
        denominator="all_correct",
    )
    assert (none.numerator, none.denominator, none.rows_outside) == (0, 6, 4)
    with pytest.raises(RegisterError, match="no row has all of"):
        rate(
            registers(groups(), "groups"),
            "groups",
            where={"arm": "paired", "spurious": "true"},
            numerator="spurious",
        )
    empty = rate(registers([{**r, "all_correct": False} for r in groups()], "groups"), "groups", where={"arm": ARMS},
                       numerator="spurious", denominator="all_correct")  # fmt: skip
    assert empty.rate is None


def test_a_rate_refuses_repeated_rows_or_drops_them_as_declared():
    rows = [*groups(), groups()[13]]
    with pytest.raises(RegisterError) as caught:
        rate(
            registers(rows, "groups"),
            "groups",
            where={"arm": ARMS},
            numerator="spurious",
            denominator="all_correct",
        )
    assert caught.value.code == "repeated-rows"
    assert "row=3" in caught.value.where.key
    found = rate(registers(rows, "groups"), "groups", where={"arm": ARMS}, numerator="spurious", denominator="all_correct",
                       repeats="drop_exact")  # fmt: skip
    assert (found.numerator, found.denominator) == (4, 14)


def test_a_rate_of_counts_sums_whole_numbers():
    rows = [
        {
            "run_id": str(s),
            "condition": "C4",
            "arm": "independent",
            "seed": s,
            "step": 0,
            "successes": x,
            "episodes": n,
        }
        for s, (x, n) in enumerate(((700, 1200), (680, 1263), (700, 1263)))
    ]
    found = rate(registers(rows, "counts"), "counts", where={}, numerator="successes")
    assert found.rate == Fraction(2080, 3726)
    assert found.per["1"] == (680, 1263)


@pytest.mark.parametrize(("x", "n"), [(801, 800), (-5, 10), (5, -10), (1, 0), ("1/2", 2), ("0.5", "1.5")])
def test_a_rate_refuses_counts_that_nobody_can_have_counted(x, n):
    as_text = [str] * 2 if isinstance(x, str) else [int] * 2
    found = counts(("a", as_text[0](7), as_text[1](9)), ("a", as_text[0](x), as_text[1](n)))
    with pytest.raises(RegisterError) as caught:
        rate(found, "counts", where={"arm": "a"}, numerator="successes")
    assert caught.value.code == "impossible-count"
    assert caught.value.where.field == "successes"
    assert caught.value.where.key.startswith("2 (")


def test_a_run_without_anything_to_count_counts_nothing():
    found = rate(counts(("a", 0, 0), ("a", 3, 4)), "counts", where={}, numerator="successes")
    assert (found.rate, found.per["a0"]) == (Fraction(3, 4), (0, 0))


@pytest.mark.parametrize("column", ["condition", "arm", "split", "regime", "quantity", "bench"])
def test_a_rate_never_pools_what_tells_measurements_apart_unless_where_lists_it(column):
    rows = [
        {"run_id": "a", "seed": 0, "arm": "t", "condition": "C", "split": "s", "regime": "r", "quantity": "q",
         "bench": "b", "step": step, "successes": 1, "episodes": 4}
        for step in (0, 20)
    ]  # fmt: skip
    assert rate(registers(rows, "counts"), "counts", where={}, numerator="successes").denominator == 8
    rows.append({**rows[0], "run_id": "b", "seed": 1, column: "other", "successes": 4})
    with pytest.raises(RegisterError) as caught:
        rate(registers(rows, "counts"), "counts", where={}, numerator="successes")
    assert (caught.value.code, caught.value.where.field) == ("mixed", column)
    both = {column: (str(rows[0][column]), "other")}
    assert rate(registers(rows, "counts"), "counts", where=both, numerator="successes").numerator == 6
    one = rate(registers(rows, "counts"), "counts", where={column: "other"}, numerator="successes")
    assert (one.numerator, one.denominator) == (4, 4)


def test_columns_of_a_declared_key_number_the_rows_of_a_rate():
    rows = [{"arm": "a", "prompt": f"p{i}", "solved": i < 3} for i in range(5)]
    with pytest.raises(RegisterError, match="several values of prompt"):
        rate(registers(rows), "episodes", where={}, numerator="solved")
    found = rate(registers(rows), "episodes", where={}, numerator="solved", key=("arm", "prompt"))
    assert found.rate == Fraction(3, 5)
    pooled = rate(registers(rows), "episodes", where={}, numerator="solved", pooled=("prompt",))
    assert pooled.rate == found.rate

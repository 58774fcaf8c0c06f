"""Values are exact, or refused with the row."""

from __future__ import annotations

import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prereg_kit.registers.file import open_register
from tests.prereg_kit.registers.cells.by_hand import (
    ARMS,
    FIRST,
    HALF,
    differences,
    episodes,
    frame,
    primes,
    refused,
    table,
)


def test_text_truth_values_are_read_and_nothing_else():
    for true, false in (("True", "False"), ("true", "false"), ("1", "0"), (1, 0), (1.0, 0.0)):
        rows = [{**row, "true_success": true if row["true_success"] else false} for row in episodes(FIRST)]
        assert differences(table(rows)) == differences(table(episodes(FIRST))), (true, false)
    for wrong in ("yes", "TRUE", "t", "2", 2, 0.5, -1):
        rows = [{**row, "true_success": type(wrong)(1)} for row in episodes(FIRST)]
        rows[11]["true_success"] = wrong
        error = refused(rows)
        assert error.code == "bad-value"
        assert "row 12 " in str(error)
        assert error.found == wrong


def test_numbers_are_exact_decimals():
    rows = [{**row, "score": 0.1 if row["true_success"] else 0.3} for row in episodes(FIRST)]
    found = table(rows, value="score", value_kind="number")
    assert found.scale == 10
    assert differences(found) == [[-x / 5 for x in line] for line in differences(table(episodes(FIRST)))]
    texts = [{**row, "score": str(row["score"])} for row in rows]
    assert differences(table(texts, value="score", value_kind="number")) == differences(found)
    long = [{**row, "score": 0.1234567890123456789 * (1 + i)} for i, row in enumerate(rows)]
    exact = sum(Fraction(repr(row["score"])) * (1 if row["arm"] == "paired" else -1) for row in long)
    numerators, denominator = table(long, value="score", value_kind="number").numerators()
    assert Fraction(int(numerators[0].sum() - numerators[1].sum()), denominator) * 2 == exact
    rows[3]["score"] = float("inf")
    assert refused(rows, value="score", value_kind="number").code == "bad-value"


def test_only_ascii_digits_are_numbers():
    good = [{**row, "score": "0" if row["schedule"] else "1"} for row in episodes(FIRST)]
    table(good, value="score", value_kind="number")
    for text in ("１", "٣", "१२", "1２", "²", "\u30001"):
        rows = [{**row, "score": text if i == 4 else row["score"]} for i, row in enumerate(good)]
        error = refused(rows, value="score", value_kind="number")
        assert (error.code, error.found) == ("bad-value", text)
        assert error.where.key.startswith("5 (")
    rows = [{**row, "level": str(row["schedule"] / 4)} for row in good]
    assert refused(rows, where={"level": "０.25"}).code == "absent-value"


def test_truth_words_are_numbers_as_truth_values_are():
    for true, false in (("True", "False"), ("true", "false"), (True, False)):
        rows = [{**row, "true_success": true if row["true_success"] else false} for row in episodes(FIRST)]
        found = table(rows, value_kind="number")
        assert differences(found) == [[0, HALF], [HALF, -HALF], [HALF, 1]]
    assert (
        refused([{**row, "true_success": "TRUE"} for row in episodes(FIRST)], value_kind="number").code
        == "bad-value"
    )


@pytest.mark.parametrize(
    "value",
    [
        "1e31",
        "-1e400",
        "1e-61",
        "1e-4000",
        "9" * 31,
        "1/" + "7" * 61,
        "3" * 4000 + "/7",
        "9" * 5000,
        1e31,
        1e-61,
    ],
)
def test_numbers_beyond_the_bounds_are_refused_with_row_and_column(value):
    rows = [{**row, "score": type(value)(1)} for row in episodes(FIRST)]
    table(rows, value="score", value_kind="number")
    rows[6]["score"] = value
    error = refused(rows, value="score", value_kind="number")
    assert (error.code, error.where.field) == ("bad-value", "score")
    assert error.where.key.startswith("7 (arm=independent, seed=0, task=2")
    assert "too large or too fine" in str(error)
    assert len(str(error)) < 700


def test_numbers_at_the_bounds_are_exact():
    for text in ("1e30", "-1e30", "1e-60", "9" * 30, "1/" + "9" * 60):
        rows = [{**row, "score": text if row["arm"] == "paired" else "0"} for row in episodes(FIRST)]
        assert all(gap == Fraction(text) for line in differences(table(rows, value="score", value_kind="number"))
                   for gap in line)  # fmt: skip


@pytest.mark.parametrize("files", [1, 3])
def test_ratios_without_a_common_denominator_are_refused_and_not_computed(tmp_path, files):
    rows = [
        {"arm": arm, "seed": 0, "task": str(p), "schedule": 0, "score": f"1/{p}"}
        for arm in ARMS
        for p in primes(1500)
    ]
    for i in range(files):
        pq.write_table(pa.table(frame(rows[i::files])), tmp_path / f"{i}.parquet")
    error = refused(open_register([tmp_path]), value="score", value_kind="number")
    assert error.code == "bad-value"
    assert "common denominator" in str(error)
    few = [row for row in rows if int(row["task"]) < 300]  # 62 primes, whose product has 121 digits
    found = table(few, value="score", value_kind="number")
    assert differences(found) == [[0] * 62]
    assert (
        Fraction(int(found.successes[0].sum()), found.scale) == sum(Fraction(row["score"]) for row in few) / 2
    )


def test_floats_of_full_precision_have_exact_differences():
    source = random.Random(3)
    rows = [{**row, "score": source.random()} for row in episodes(FIRST)]
    found = differences(table(rows, value="score", value_kind="number"))
    wanted = [
        [
            sum(Fraction(repr(row["score"])) * (1 if row["arm"] == "paired" else -1)
                for row in rows if (row["seed"], row["task"]) == (seed, task)) / 2
            for task in ("2", "10")
        ]
        for seed in (0, 1, 2)
    ]  # fmt: skip
    assert found == wanted
    zeros = [{**row, "score": 0.0 if row["seed"] else 1e-50} for row in rows]
    assert differences(table(zeros, value="score", value_kind="number")) == [[0, 0]] * 3

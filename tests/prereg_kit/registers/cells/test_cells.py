"""Cell tables of small registers whose right answers were worked out by hand; each defect is refused with its key."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import RegisterError, UsageError
from prereg_kit.registers.cells import (
    CellTable,
    Policy,
    cell_table,
    count_rate,
    distinct_per_group,
    keys,
    outcome_tables,
    value_rows,
)
from prereg_kit.registers.cells.keys import Field, Packer
from prereg_kit.registers.cells.source import Levels
from prereg_kit.registers.file import Registers, open_register

ARMS = ("paired", "independent")


def frame(rows: list[dict]) -> dict[str, list]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def registers(rows: list[dict], kind: str = "episodes") -> Registers:
    return Registers.from_frames({kind: frame(rows)})


def episodes(cells: dict[tuple, list[int]], **more) -> list[dict]:
    """Rows from (arm, seed, task) -> outcomes by schedule."""
    return [
        {
            "run_id": f"{arm}-{seed}",
            "arm": arm,
            "seed": seed,
            "task": task,
            "schedule": k,
            **more,
            "true_success": bool(x),
        }
        for (arm, seed, task), outcomes in cells.items()
        for k, x in enumerate(outcomes)
    ]


def table(rows: list[dict] | Registers, **changes) -> CellTable:
    asked = {
        "where": {}, "value": "true_success", "arm": "arm", "arms": ARMS, "pairs": "seed", "cluster": "task", **changes
    }  # fmt: skip
    return cell_table(rows if isinstance(rows, Registers) else registers(rows), "episodes", **asked)


def differences(found: CellTable) -> list[list[Fraction]]:
    numerators, denominator = found.numerators()
    gaps = (numerators[0] - numerators[1]).sum(axis=1)  # [seed, task]
    return [[Fraction(int(gap), denominator) for gap in line] for line in gaps]


def refused(rows: list[dict] | Registers, **changes) -> RegisterError:
    with pytest.raises(RegisterError) as caught:
        table(rows, **changes)
    return caught.value


HALF = Fraction(1, 2)
# D[seed][task] = 1/2, 0 / -1/2, 1/2 / 1, 1/2 with two schedules in each cell; task 10 is the first column
FIRST = {
    ("paired", 0, "10"): [1, 0], ("independent", 0, "10"): [0, 0],
    ("paired", 0, "2"): [1, 0], ("independent", 0, "2"): [0, 1],
    ("paired", 1, "10"): [0, 0], ("independent", 1, "10"): [0, 1],
    ("paired", 1, "2"): [1, 1], ("independent", 1, "2"): [1, 0],
    ("paired", 2, "10"): [1, 1], ("independent", 2, "10"): [0, 0],
    ("paired", 2, "2"): [1, 0], ("independent", 2, "2"): [0, 0],
}  # fmt: skip


def test_the_three_by_two_register_gives_its_differences():
    found = table(episodes(FIRST))
    assert found.tasks == ("2", "10")  # by number, though both are text
    assert found.seeds == ("0", "1", "2")
    assert found.arms == ARMS
    assert differences(found) == [[0, HALF], [HALF, -HALF], [HALF, 1]]
    per_seed = [sum(line) / 2 for line in differences(found)]
    assert per_seed == [Fraction(1, 4), 0, Fraction(3, 4)]
    assert (found.rows_used, found.rows_unused) == (24, 0)
    assert found.runs["paired", "2"] == "paired-2"


@pytest.mark.parametrize("order", range(5))
def test_the_order_of_rows_changes_nothing(order):
    rows = episodes(FIRST)
    random.Random(order).shuffle(rows)
    one, other = table(episodes(FIRST)), table(rows)
    assert (one.successes == other.successes).all()
    assert (one.episodes == other.episodes).all()
    assert (one.tasks, one.seeds, one.runs) == (other.tasks, other.seeds, other.runs)


def test_tasks_that_are_whole_numbers_come_in_the_same_order_as_text():
    rows = [{**row, "task": int(row["task"])} for row in episodes(FIRST)]
    assert differences(table(rows)) == differences(table(episodes(FIRST)))


def test_a_row_twice_is_refused_with_its_key():
    rows = episodes(FIRST)
    error = refused([*rows, rows[0]])
    assert error.code == "repeated-rows"
    assert "1 duplicate row" in str(error)
    assert "arm=paired, seed=0, task=10, schedule=0" in str(error)


def test_twenty_repeats_are_counted_and_dropped_only_on_request():
    rows = episodes(FIRST)
    error = refused([*rows, *rows[:20]])
    assert "20 duplicate rows" in str(error)
    kept = table([*rows, *rows[:20]], policy=Policy(repeats="drop_exact"))
    assert differences(kept) == differences(table(rows))
    assert kept.rows_used == 24
    assert kept.rows_unused == 20
    assert "20 exact repeats were dropped" in kept.notes[0]


def test_a_conflict_is_named_and_no_policy_drops_it():
    rows = episodes(FIRST)
    other = {**rows[5], "true_success": not rows[5]["true_success"]}
    for policy in (Policy(), Policy(repeats="drop_exact")):
        error = refused([*rows, other, rows[0]], policy=policy)
        assert error.code == "conflicting-rows"
        assert "1 conflicting key" in str(error)
        assert "arm=paired, seed=0, task=2, schedule=1" in error.where.key
        assert "row 25" in str(error)


def test_a_short_cell_is_refused_or_counts_as_its_mean():
    cells = {
        ("paired", 0, "A"): [1, 1, 1, 1], ("independent", 0, "A"): [0, 0, 0, 0],
        ("paired", 0, "B"): [0], ("independent", 0, "B"): [1, 1, 1, 1],
    }  # fmt: skip
    error = refused(episodes(cells))
    assert error.code == "unequal-cells"
    assert "arm=paired, seed=0, task=B" in str(error)
    assert "1 here, 4 in most cells" in str(error)
    means = table(episodes(cells), policy=Policy(unequal="cell_means"))
    assert sum(differences(means)[0]) == 0  # pooled rows would say +3/10
    assert any("1 to 4 episodes" in note for note in means.notes)


def test_tasks_are_matched_by_name_never_by_position():
    cells = {("paired", 0, t): [x] for t, x in zip("abc", (1, 0, 1), strict=True)}
    cells |= {("independent", 0, t): [x] for t, x in zip("acd", (1, 0, 1), strict=True)}
    error = refused(episodes(cells))
    assert error.code == "missing-cells"
    assert "2 missing cells" in str(error)
    assert "arm=paired, seed=0, task=d" in str(error)
    common = table(episodes(cells), policy=Policy(missing="exclude_tasks"))
    assert sum(differences(common)[0]) / 2 == HALF
    assert any("b, d" in note for note in common.notes)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_outcome_is_refused_with_row_and_key(missing):
    rows = episodes({("paired", 0, t): [x] for t, x in zip("abcd", (1, 1, 0, 0), strict=True)}
                    | {("independent", 0, t): [0] for t in "abcd"})  # fmt: skip
    rows = [{**row, "true_success": float(row["true_success"])} for row in rows]
    rows[2]["true_success"] = missing
    error = refused(rows)
    assert error.code == "missing-value"
    assert "row 3 (arm=paired, seed=0, task=c" in str(error)
    left = table(rows, policy=Policy(missing_values="exclude", missing="exclude_tasks"))
    assert sum(differences(left)[0]) / 3 == Fraction(2, 3)
    assert left.tasks == ("a", "b", "d")
    assert left.notes[0] == "1 rows without a true_success were left out"


def test_unequal_rows_do_not_change_the_sign():
    cells = {
        ("paired", 0, "easy"): [1] * 36 + [0] * 4, ("paired", 0, "hard"): [1] + [0] * 9,
        ("independent", 0, "easy"): [1] * 10, ("independent", 0, "hard"): [1] * 8 + [0] * 32,
    }  # fmt: skip
    found = table(episodes(cells), policy=Policy(unequal="cell_means"))
    assert sum(differences(found)[0]) / 2 == Fraction(-1, 10)  # pooled rows would say +19/50


def test_counts_without_rows_are_exact():
    rows = [
        {
            "run_id": f"{arm}{seed}",
            "condition": "C2",
            "arm": arm,
            "seed": seed,
            "step": 100,
            "successes": x,
            "episodes": 800,
        }
        for arm, line in (("paired", (700, 369, 456)), ("independent", (691, 332, 430)))
        for seed, x in enumerate(line)
    ]
    found = cell_table(registers(rows, "counts"), "counts", where={"condition": "C2"}, value="successes",
                       episodes="episodes", arm="arm", arms=ARMS, pairs="seed", cluster="task")  # fmt: skip
    assert not found.has_tasks
    assert found.tasks == ("",)
    assert sum(line[0] for line in differences(found)) / 3 == Fraction(3, 100)
    rows[0]["successes"] = 801
    with pytest.raises(RegisterError, match="impossible count: 801 of 800"):
        cell_table(registers(rows, "counts"), "counts", where={}, value="successes", episodes="episodes", arm="arm",
                   arms=ARMS, pairs="seed")  # fmt: skip


def test_one_seed_gives_one_unit():
    d = [Fraction(1, 4), Fraction(3, 4), HALF, Fraction(1, 4)]
    cells = {("paired", 0, str(t)): [1] * int(4 * x) + [0] * int(4 - 4 * x) for t, x in enumerate(d)}
    cells |= {("independent", 0, str(t)): [0] * 4 for t in range(4)}
    found = table(episodes(cells))
    assert found.seeds == ("0",)
    assert differences(found) == [d]


STEPS = {"0": 1, "20": 2, "40": 2, "60": 2, "80": 2, "100": 1}


def curve(points: dict[int, int], out_of: int = 100, arms: tuple[str, ...] = ARMS) -> list[dict]:
    return [
        {
            "run_id": arm,
            "arm": arm,
            "seed": 0,
            "step": step,
            "task": str(t),
            "schedule": 0,
            "true_success": t < x,
        }
        for arm in arms
        for step, x in points.items()
        for t in range(out_of)
    ]


def test_a_step_that_the_weights_name_must_be_there():
    rows = curve({0: 50, 20: 60, 40: 64, 80: 70, 100: 72})
    error = refused(rows, axis="step", axis_values=tuple(STEPS))
    assert error.code == "absent-value"
    assert error.where.field == "step"
    assert "step = 60" in str(error)
    assert "0, 20, 40, 80, 100" in str(error)
    whole = curve({0: 50, 20: 60, 40: 64, 60: 66, 80: 70, 100: 72})
    lacking = [row for row in whole if not (row["arm"] == "independent" and row["step"] == 60)]
    error = refused(lacking, axis="step", axis_values=tuple(STEPS))
    assert error.code == "missing-step"
    assert "arm=independent, seed=0" in str(error)
    assert "step 60 is missing" in str(error)


def test_steps_keep_the_order_of_the_rule_and_other_steps_are_counted_not_used():
    rows = curve({0: 50, 20: 60, 40: 64, 60: 66, 80: 70, 100: 72, 10: 1})
    found = table(rows, axis="step", axis_values=("100", "0", "20", "40", "60", "80"))
    assert found.axis == ("100", "0", "20", "40", "60", "80")
    assert found.successes[0, 0].sum(axis=1).tolist() == [72, 50, 60, 64, 66, 70]
    assert found.rows_unused == 200
    free = table(rows, axis="step")
    assert free.axis == ("0", "10", "20", "40", "60", "80", "100")


def test_orphan_seeds_are_listed_by_arm_and_never_paired_by_rank():
    cells = {("paired", s, "t"): [1] for s in (0, 1, 2)} | {("independent", s, "t"): [0] for s in (0, 1, 3)}
    error = refused(episodes(cells))
    assert error.code == "orphan-seeds"
    assert "seed 2 only in arm paired" in str(error)
    assert "seed 3 only in arm independent" in str(error)
    left = table(episodes(cells), policy=Policy(orphans="exclude"))
    assert left.seeds == ("0", "1")
    assert "seed 3 only in arm independent" in left.notes[0]
    kept = table(episodes(cells), policy=Policy(orphans="allow", missing="allow"))
    assert kept.seeds == ("0", "1", "2", "3")
    assert kept.episodes[:, :, 0, 0].tolist() == [[1, 1, 1, 0], [1, 1, 0, 1]]


def test_a_second_run_of_a_cell_is_refused_unless_the_rule_names_the_run():
    rows = [{**row, "condition": "C4", "stack": "a"} for row in episodes(FIRST)]
    again = [
        {**row, "run_id": "paired-1-again"} for row in rows if (row["arm"], row["seed"]) == ("paired", 1)
    ]
    error = refused(rows + again)
    assert error.code == "second-run"
    assert "paired-1 and paired-1-again" in str(error)
    assert "arm=paired, seed=1" in str(error)
    named = tuple(sorted({row["run_id"] for row in rows}))
    assert differences(table(rows + again, where={"run_id": named})) == differences(table(rows))
    # a run that continues at other steps under another name is a second run all the same
    apart = [{**row, "step": 0} for row in rows] + [{**row, "step": 20} for row in again]
    assert refused(apart, axis="step").code == "second-run"


def test_splits_and_regimes_are_never_averaged_together():
    cells = {(arm, 0, "7"): [arm == "paired"] * 4 for arm in ARMS}
    rows = episodes(cells, split="validation", regime="p25") + episodes(cells, split="test", regime="p25")
    error = refused(rows)
    assert error.code == "mixed"
    assert error.where.field == "split"
    assert "test, validation" in str(error)
    assert table(rows, where={"split": "test"}).rows_unused == 8
    challenge = episodes({(arm, 0, "7"): [0] for arm in ARMS}, split="test", regime="challenge")
    rows = episodes(cells, split="test", regime="p25") + challenge
    assert refused(rows, where={"split": "test"}).where.field == "regime"
    # averaged over on purpose, both must be complete
    error = refused(rows, where={"split": "test", "regime": ("p25", "challenge")})
    assert error.code == "unequal-cells"
    both = table(episodes(cells, split="test", regime="p25") + episodes(cells, split="validation", regime="p25"),
                 where={"split": ("test", "validation")})  # fmt: skip
    assert both.episodes.tolist() == [[[[8]]], [[[8]]]]


def test_a_declared_key_says_which_columns_number_repetitions():
    rows = [
        {"arm": arm, "patient": f"p{p}", "site": "x", "visit": v, "nurse": f"{arm}{v}", "healed": arm == "paired"}
        for arm in ARMS for p in range(3) for v in range(2)
    ]  # fmt: skip
    asked = {"value": "healed", "pairs": None, "cluster": "patient"}
    assert refused(rows, **asked).where.field in ("visit", "nurse")
    found = table(rows, **asked, key=("arm", "patient", "visit"))
    assert found.episodes.tolist() == [[[[2, 2, 2]]], [[[2, 2, 2]]]]
    assert found.seeds == ("",)


@pytest.mark.parametrize(
    ("where", "code", "field"),
    [
        ({"eval_set": "challenge"}, "absent-column", "eval_set"),
        ({"split": "challenge"}, "absent-value", "split"),
        ({"seed": "zero"}, "where-type", "seed"),
        ({"seed": "7"}, "absent-value", "seed"),
    ],
)
def test_a_condition_that_nothing_meets_is_named_with_what_is_there(where, code, field):
    error = refused(episodes(FIRST, split="test"), where=where)
    assert (error.code, error.where.field) == (code, field)
    if code == "absent-value":
        assert "present" in str(error)


def test_values_that_occur_but_never_together():
    rows = episodes(FIRST, split="test", regime="a") + episodes(FIRST, split="validation", regime="b")
    error = refused(rows, where={"split": "test", "regime": "b"})
    assert error.code == "no-rows-selected"
    assert "split = test; regime = b" in str(error)


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


def test_sums_beyond_sixty_two_bits_stay_exact():
    rows = [{**row, "score": 2**61 + i} for i, row in enumerate(episodes(FIRST))]
    found = table(rows, value="score", value_kind="number")
    assert int(found.successes.sum()) == sum(row["score"] for row in rows)


def test_parts_with_other_numbers_of_places_add_up(tmp_path):
    rows = [{**row, "score": 0.25 if row["seed"] else 3.0} for row in episodes(FIRST)]
    for i, part in enumerate(([rows[0]], rows[1:9], rows[9:])):
        pq.write_table(pa.table(frame(part)), tmp_path / f"{i}.parquet")
    found = table(open_register([tmp_path]), value="score", value_kind="number")
    assert found.scale == 100
    assert found.successes.sum() == sum(row["score"] for row in rows) * 100


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    blocks=st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), min_size=1, max_size=12), max_size=8
    ),
    chunk=st.sampled_from([1, 2, 3, 100]),
)
def test_repeated_keys_are_found_whatever_the_order_and_the_chunks(blocks, chunk):
    fields = (Field("a"), Field("b"))
    levels = (Levels(), Levels())
    packer = Packer(fields, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "_CHUNK", chunk)
        patch.setattr(keys, "_FEW_DESCENTS", 3)
        for block in blocks:
            codes = [np.array([level.code(pair[i]) for pair in block]) for i, level in enumerate(levels)]
            packer.pack(
                [part.local(code, level) for part, code, level in zip(fields, codes, levels, strict=True)],
                len(block),
            )
        found = packer.repeated()
    flat = [pair for block in blocks for pair in block]
    labels = [part.labels(level) for part, level in zip(fields, levels, strict=True)]
    decoded = [tuple(labels[i][code] for i, code in enumerate(packer.unpack(int(key)))) for key in found]
    assert sorted(decoded) == sorted(pair for pair in set(flat) if flat.count(pair) > 1)


def test_a_key_without_a_value_is_refused():
    rows = episodes(FIRST)
    rows[4]["task"] = None
    error = refused(rows)
    assert error.code == "missing-key"
    assert error.where.field == "task"
    assert "5 (" in error.where.key


def test_a_row_that_names_no_run_is_refused():
    rows = episodes(FIRST)
    rows[2]["run_id"] = None
    error = refused(rows)
    assert (error.code, error.where.field) == ("missing-key", "run_id")


def test_rows_without_a_number_are_told_apart_by_nothing():
    rows = [{name: value for name, value in row.items() if name != "schedule"} for row in episodes(FIRST)]
    error = refused([row for row in rows if row["task"] == "10" and row["seed"] == 2])
    assert error.code == "repeated-rows"
    assert "number them in a column `schedule`" in str(error)


def test_hostile_names_reach_no_terminal():
    cells = {(arm, 0, "\x1b[31mred\n" + "x" * 500): [1] for arm in ARMS} | {("paired", 0, "b"): [1]}
    error = refused(episodes(cells, regime="a") + episodes({("paired", 1, "\x07"): [1]}, regime="a"))
    assert str(error).isprintable()
    rows = episodes({(arm, 0, "\x1b[31mred\n" + "x" * 500): [1] for arm in ARMS})
    error = refused([*rows, rows[0]])
    assert str(error).isprintable()
    assert len(str(error)) < 600


def test_row_numbers_of_data_frames_identify_nothing():
    rows = [{**row, "__index_level_0__": i, "Unnamed: 0": i} for i, row in enumerate(episodes(FIRST))]
    assert differences(table(rows)) == differences(table(episodes(FIRST)))
    assert refused([*rows, {**rows[0], "__index_level_0__": 99}]).code == "repeated-rows"


def test_arguments_that_contradict_each_other():
    with pytest.raises(UsageError):
        table(episodes(FIRST), arm=None)
    with pytest.raises(UsageError):
        table(episodes(FIRST), pairs="task")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_complete_register_aggregates_to_its_sums(data):
    seeds = data.draw(st.lists(st.integers(-3, 10**6), min_size=1, max_size=4, unique=True))
    tasks = data.draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=5, unique=True))
    k = data.draw(st.integers(1, 3))
    cells = {
        (arm, seed, task): data.draw(st.lists(st.integers(0, 1), min_size=k, max_size=k))
        for arm in ARMS for seed in seeds for task in tasks
    }  # fmt: skip
    rows = data.draw(st.permutations(episodes(cells)))
    found = table(list(rows))
    assert sorted(found.tasks) == sorted(tasks)
    assert found.seeds == tuple(str(seed) for seed in sorted(seeds))
    for (arm, seed, task), outcomes in cells.items():
        at = ARMS.index(arm), found.seeds.index(str(seed)), 0, found.tasks.index(task)
        assert (found.successes[at], found.episodes[at]) == (sum(outcomes), k)
    broken = [row for row in rows if row != rows[0]]
    if k > 1 or len(tasks) > 1 or len(seeds) > 1:
        assert refused(broken).code in ("missing-cells", "unequal-cells", "orphan-seeds")
    assert refused([*rows, rows[-1]]).code == "repeated-rows"


def groups() -> list[dict]:
    return [
        {
            "run_id": arm, "condition": "C4", "arm": arm, "seed": 0, "step": 0, "row": i, "task": "t",
            "schedule_seeds": ["s"] * 4 if arm == "paired" else ["a", "b", "c", "d"],
            "slots": [0, 1, 2, 3], "true_outcomes": [True] * 4, "observed_rewards": [1.0] * 4,
            "all_correct": i < 7, "zero_variance": False, "spurious": arm == "independent" and i < 4,
        }
        for arm in ARMS for i in range(10)
    ]  # fmt: skip


def test_a_rate_is_a_count_over_a_count():
    found = count_rate(registers(groups(), "groups"), "groups", where={"arm": "independent"}, numerator="spurious",
                       denominator="all_correct")  # fmt: skip
    assert (found.numerator, found.denominator, found.rate) == (4, 7, Fraction(4, 7))
    both = count_rate(registers(groups(), "groups"), "groups", where={"arm": ARMS}, numerator="spurious")
    assert both.per == {"independent": (4, 10), "paired": (0, 10)}
    outside = [{**row, "all_correct": not row["all_correct"]} for row in groups()]
    none = count_rate(
        registers(outside, "groups"),
        "groups",
        where={"arm": ARMS},
        numerator="spurious",
        denominator="all_correct",
    )
    assert (none.numerator, none.denominator, none.rows_outside) == (0, 6, 4)
    with pytest.raises(RegisterError, match="no row has all of"):
        count_rate(
            registers(groups(), "groups"),
            "groups",
            where={"arm": "paired", "spurious": "true"},
            numerator="spurious",
        )
    empty = count_rate(registers([{**r, "all_correct": False} for r in groups()], "groups"), "groups", where={"arm": ARMS},
                       numerator="spurious", denominator="all_correct")  # fmt: skip
    assert empty.rate is None


def test_a_rate_refuses_repeated_rows_or_drops_them_as_declared():
    rows = [*groups(), groups()[13]]
    with pytest.raises(RegisterError) as caught:
        count_rate(
            registers(rows, "groups"),
            "groups",
            where={"arm": ARMS},
            numerator="spurious",
            denominator="all_correct",
        )
    assert caught.value.code == "repeated-rows"
    assert "row=3" in caught.value.where.key
    found = count_rate(registers(rows, "groups"), "groups", where={"arm": ARMS}, numerator="spurious", denominator="all_correct",
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
    found = count_rate(registers(rows, "counts"), "counts", where={}, numerator="successes")
    assert found.rate == Fraction(2080, 3726)
    assert found.per["1"] == (680, 1263)


def counts(*rows: tuple[str, object, object], **more) -> Registers:
    return registers([
        {"run_id": f"{arm}{i}", "condition": "C4", "arm": arm, "seed": i, "step": 0, **more, "successes": x, "episodes": n}
        for i, (arm, x, n) in enumerate(rows)
    ], "counts")  # fmt: skip


@pytest.mark.parametrize(("x", "n"), [(801, 800), (-5, 10), (5, -10), (1, 0), ("1/2", 2), ("0.5", "1.5")])
def test_a_rate_refuses_counts_that_nobody_can_have_counted(x, n):
    as_text = [str] * 2 if isinstance(x, str) else [int] * 2
    found = counts(("a", as_text[0](7), as_text[1](9)), ("a", as_text[0](x), as_text[1](n)))
    with pytest.raises(RegisterError) as caught:
        count_rate(found, "counts", where={"arm": "a"}, numerator="successes")
    assert caught.value.code == "impossible-count"
    assert caught.value.where.field == "successes"
    assert caught.value.where.key.startswith("2 (")


def test_a_run_without_anything_to_count_counts_nothing():
    found = count_rate(counts(("a", 0, 0), ("a", 3, 4)), "counts", where={}, numerator="successes")
    assert (found.rate, found.per["a0"]) == (Fraction(3, 4), (0, 0))


@pytest.mark.parametrize("column", ["condition", "arm", "split", "regime", "quantity", "bench"])
def test_a_rate_never_pools_what_tells_measurements_apart_unless_where_lists_it(column):
    rows = [
        {"run_id": "a", "seed": 0, "arm": "t", "condition": "C", "split": "s", "regime": "r", "quantity": "q",
         "bench": "b", "step": step, "successes": 1, "episodes": 4}
        for step in (0, 20)
    ]  # fmt: skip
    assert count_rate(registers(rows, "counts"), "counts", where={}, numerator="successes").denominator == 8
    rows.append({**rows[0], "run_id": "b", "seed": 1, column: "other", "successes": 4})
    with pytest.raises(RegisterError) as caught:
        count_rate(registers(rows, "counts"), "counts", where={}, numerator="successes")
    assert (caught.value.code, caught.value.where.field) == ("mixed", column)
    both = {column: (str(rows[0][column]), "other")}
    assert count_rate(registers(rows, "counts"), "counts", where=both, numerator="successes").numerator == 6
    one = count_rate(registers(rows, "counts"), "counts", where={column: "other"}, numerator="successes")
    assert (one.numerator, one.denominator) == (4, 4)


def test_columns_of_a_declared_key_number_the_rows_of_a_rate():
    rows = [{"arm": "a", "prompt": f"p{i}", "solved": i < 3} for i in range(5)]
    with pytest.raises(RegisterError, match="several values of prompt"):
        count_rate(registers(rows), "episodes", where={}, numerator="solved")
    found = count_rate(registers(rows), "episodes", where={}, numerator="solved", key=("arm", "prompt"))
    assert found.rate == Fraction(3, 5)
    pooled = count_rate(registers(rows), "episodes", where={}, numerator="solved", pooled=("prompt",))
    assert pooled.rate == found.rate


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


def primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
        number += 1
    return found


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


def test_large_outcomes_stay_exact():
    rows = [
        {"run_id": "r", "arm": "a", "seed": 0, "step": 0, "task": "t", "schedule": i, "sample": j, "outcome": f"{i + j}e29"}
        for i in range(2) for j in range(2)
    ]  # fmt: skip
    grid = outcome_tables(registers(rows, "luck"), "luck", where={})["r"]["t"]
    assert grid.numerators.tolist() == [[0, 10**29], [10**29, 2 * 10**29]]
    assert grid.denominator == 1


def diagonal(count: int, arms=ARMS) -> list[dict]:
    return [
        {"arm": arm, "seed": i, "task": f"t{i:05d}", "schedule": 0, "true_success": True}
        for arm in arms
        for i in range(count)
    ]


def test_far_too_few_rows_are_refused_as_a_small_table_is():
    for count in (3, 4096):  # 2 x 4096 x 4096 cells would take gigabytes
        error = refused(diagonal(count))
        assert error.code == "missing-cells"
        assert f"{2 * count * (count - 1)} missing cells" in str(error)
        assert error.where.key == "arm=paired, seed=0, task=t00001"
        rows = [row for row in diagonal(count) if (row["arm"], row["seed"]) != ("independent", 1)]
        error = refused(rows)
        assert error.code == "orphan-seeds"
        assert "seed 1 only in arm paired" in str(error)
        rows = [{**row, "step": row["seed"] % 3} for row in diagonal(count)]
        error = refused(rows, axis="step")
        assert error.code == "missing-step"
        assert (error.where.key, "step 1, 2 is missing" in str(error)) == ("arm=paired, seed=0", True)


def test_a_where_without_values_selects_nothing_and_says_so():
    error = refused(episodes(FIRST), where={"task": ()})
    assert error.code == "no-rows-selected"
    assert "lists no value of 'task'" in str(error)


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


def test_outcome_tables_are_schedules_by_samples():
    outcomes = {"a": [[1, 1, 1, 0], [0, 0, 0, 1]], "b": [[1, 1], [1, 1]]}
    rows = [
        {"run_id": run, "condition": "C2", "arm": run, "seed": 0, "step": 0, "task": task, "schedule": i, "sample": j,
         "outcome": float(x)}
        for run in ARMS for task, grid in outcomes.items() for i, line in enumerate(grid) for j, x in enumerate(line)
    ]  # fmt: skip
    random.Random(1).shuffle(rows)
    found = outcome_tables(registers(rows, "luck"), "luck", where={})
    assert list(found) == ["independent", "paired"]
    assert found["paired"]["a"].numerators.tolist() == outcomes["a"]
    assert found["paired"]["b"].numerators.tolist() == outcomes["b"]
    with pytest.raises(RegisterError) as caught:
        outcome_tables(registers([*rows, {**rows[0], "step": 20, "sample": 9}], "luck"), "luck", where={})
    assert caught.value.code == "mixed"
    with pytest.raises(RegisterError) as caught:
        outcome_tables(registers(rows[1:], "luck"), "luck", where={})
    assert caught.value.code == "unequal-cells"

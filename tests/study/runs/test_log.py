import json

import pytest

from prereg_kit.errors import RegisterError
from study.errors import ConfigError
from study.runs.json_file import read_json
from study.runs.log import Log, attempts, merged, read_log

pytestmark = pytest.mark.torch


def group(step, who):
    return {"step": step, "row": step, "who": who}


def run_until(folder, resumed, steps, evaluations, who):
    """One attempt: groups of steps, evaluations at steps, as training writes them."""
    log = Log.begin(folder, resumed)
    for step in steps:
        log.append("groups", [group(step, who)])
        if step + 1 in evaluations:
            log.append("episodes", [group(step + 1, who)])
    return log


def test_a_single_attempt_counts_whole(tmp_path):
    log = Log.begin(tmp_path, None)
    log.append("episodes", [group(0, "a")])
    run_until_log = [log.append("groups", [group(step, "a")]) for step in range(4)]
    assert len(run_until_log) == 4
    assert [row["step"] for row in merged(tmp_path, "groups")] == [0, 1, 2, 3]
    assert [row["step"] for row in merged(tmp_path, "episodes")] == [0]


def test_an_attempt_counts_up_to_where_the_next_resumed(tmp_path):
    run_until(
        tmp_path, None, range(7), {2, 4, 6}, "a"
    )  # killed in step 7; checkpoint 4 is the last complete one
    run_until(tmp_path, 4, range(4, 9), {6, 8}, "b")
    assert [(row["step"], row["who"]) for row in merged(tmp_path, "groups")] == [
        *((step, "a") for step in range(4)),
        *((step, "b") for step in range(4, 9)),
    ]
    assert [(row["step"], row["who"]) for row in merged(tmp_path, "episodes")] == [
        (2, "a"),
        (4, "a"),  # evaluated before checkpoint 4 was saved
        (6, "b"),
        (8, "b"),
    ]


def test_three_attempts_and_one_that_came_to_nothing(tmp_path):
    run_until(tmp_path, None, range(5), {2, 4}, "a")
    Log.begin(tmp_path, 4)  # killed before its first row
    run_until(tmp_path, 4, range(4, 6), {6}, "c")
    run_until(tmp_path, 2, range(2, 4), {4}, "d")
    assert [row["who"] for row in merged(tmp_path, "groups")] == ["a", "a", "d", "d"]
    assert [(row["step"], row["who"]) for row in merged(tmp_path, "episodes")] == [(2, "a"), (4, "d")]


def test_a_start_from_the_beginning_forgets_what_came_before(tmp_path):
    run_until(tmp_path, None, range(3), {2}, "a")
    run_until(tmp_path, None, range(2), {2}, "b")
    assert {row["who"] for row in merged(tmp_path, "groups")} == {"b"}


def test_a_torn_last_line_is_ignored_and_a_damaged_one_is_not(tmp_path):
    log = run_until(tmp_path, None, range(2), set(), "a")
    path = log.attempt.folder / "groups.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step": 2, "ro')
    assert len(read_log(path)) == 2
    path.write_bytes(b"{broken\n" + whole)
    with pytest.raises(RegisterError, match="damaged"):
        merged(tmp_path, "groups")
    path.write_bytes(b"[1]\n")
    with pytest.raises(RegisterError, match="without a step"):
        read_log(path)


@pytest.mark.parametrize(
    "line", [b'{"step": 0, "step": 1}', b'{"step": 0, "x": NaN}', b'{"step": 0, "x": 1e999}', b"\xff"]
)
def test_a_row_that_two_readers_could_take_differently_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "groups.jsonl"
    path.write_bytes(b'{"step": 0}\n' + line + b"\n")
    with pytest.raises(RegisterError, match=r"groups.jsonl:2.*damaged row"):
        read_log(path)


@pytest.mark.parametrize(
    "text", ['{"attempt": "1", "resumed_from": null}', '{"attempt": 1}', '{"attempt": 1, "attempt": 2}', "[]"]
)
def test_an_attempts_record_is_held_to_its_types(tmp_path, text):
    log = Log.begin(tmp_path, None)
    (log.attempt.folder / "attempt.json").write_text(text)
    with pytest.raises(RegisterError, match="not an attempt's record"):
        attempts(tmp_path)


def test_a_record_with_a_repeated_key_or_nan_is_refused(tmp_path):
    path = tmp_path / "run.json"
    for text, problem in (
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a": NaN}', "not finite"),
        ("[]", "object"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=f"run.json.*a run's record cannot be used.*{problem}"):
            read_json(path, "a run's record")


def test_a_gap_in_the_lineage_is_raised(tmp_path):
    run_until(tmp_path, None, range(3), set(), "a")
    run_until(tmp_path, 6, range(6, 8), set(), "b")
    with pytest.raises(RegisterError, match="no earlier attempt recorded"):
        merged(tmp_path, "groups")


def test_a_folder_killed_before_its_record_is_no_attempt_and_its_number_is_not_reused(tmp_path):
    (tmp_path / "attempts" / "001").mkdir(parents=True)
    log = Log.begin(tmp_path, None)
    assert log.attempt.number == 2
    assert [one.number for one in attempts(tmp_path)] == [2]
    (log.attempt.folder / "attempt.json").write_text(json.dumps({"no": 1}))
    with pytest.raises(RegisterError, match="attempt's record"):
        attempts(tmp_path)


def test_rows_up_to_a_checkpoint(tmp_path):
    run_until(tmp_path, None, range(6), {2, 4, 6}, "a")
    assert [row["step"] for row in merged(tmp_path, "groups", until=4)] == [0, 1, 2, 3]
    assert [row["step"] for row in merged(tmp_path, "episodes", until=4)] == [2, 4]

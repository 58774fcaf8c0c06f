"""Recorded episodes read back, replayed under other noise, and put side by side."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from study.backoffice.generate import generate
from study.backoffice.profiles import COMPACT, NATURAL
from study.backoffice.regimes import REGIMES
from study.backoffice.schedule import evaluation_seed
from study.cli.compare import command as compare_command
from study.cli.play import command as play_command
from study.errors import ConfigError
from study.evaluation.comparison import compare
from study.evaluation.comparison_page import page
from study.evaluation.recorded import RecordedEpisode, Replay, read_episode
from study.evaluation.transcript import transcribe
from study.evaluation.transcript_value import as_value
from study.policies.scripted import SCRIPTED


def recorded(policy, index, regime="faults_p25", k=0, profile=NATURAL, seed=None):
    task = generate(profile, "test", index)
    player = SCRIPTED[policy] if isinstance(policy, str) else policy
    seed = seed or evaluation_seed("test", task.task_id, k)
    value = as_value(transcribe(player, task, REGIMES[regime], k, seed))
    return RecordedEpisode.model_validate_json(json.dumps(value))


def run(command, *arguments):
    return CliRunner().invoke(command, [str(word) for word in arguments], catch_exceptions=True)


@pytest.mark.parametrize("pair", [("naive", "recovering"), ("recovering", "grounded"), ("naive", "grounded")])
def test_siblings_under_one_schedule_agree_wherever_they_meet(pair):
    shared = 0
    for index in range(80):
        found = compare(recorded(pair[0], index), recorded(pair[1], index))
        assert found.agreeing == found.shared and found.score in (None, 1.0)
        shared += found.shared
    assert shared > 300


def test_siblings_under_two_schedules_do_not():
    pairs = [compare(recorded("recovering", n, k=0), recorded("recovering", n, k=1)) for n in range(80)]
    agreed = sum(one.agreeing for one in pairs) / sum(one.shared for one in pairs)
    assert 0.5 < agreed < 0.75  # .75 ** 2 for two clean draws, and some equal faults


def test_every_call_stands_in_one_row_and_rows_keep_the_order():
    for index in range(40):
        one, other = recorded("naive", index), recorded("recovering", index)
        found = compare(one, other)
        assert [row.left for row in found.rows if row.left] == list(one.calls)
        assert [row.right for row in found.rows if row.right] == list(other.calls)
        for row in found.rows:
            if row.left and row.right:
                assert row.left.event == row.right.event and row.left.tool == row.right.tool
        assert found.first == next((n for n, row in enumerate(found.rows) if row.diverges), None)


def test_an_episode_beside_itself_has_no_divergence():
    found = compare(recorded("recovering", 3), recorded("recovering", 3))
    assert found.first is None and found.score == 1.0 and not any(row.diverges for row in found.rows)


def test_a_replay_under_the_same_schedule_is_the_same_episode():
    for index in range(30):
        one = recorded("recovering", index)
        again = recorded(Replay(one), index)
        assert again.calls == one.calls and again.true_success == one.true_success


def test_a_replay_without_noise_meets_no_fault_and_makes_the_same_calls():
    for index in range(30):
        one = recorded("naive", index)
        clean = recorded(Replay(one), index, "clean")
        assert [(c.tool, c.arguments) for c in clean.calls] == [(c.tool, c.arguments) for c in one.calls]
        assert clean.true_success and all(call.drawn is None for call in clean.calls)


def test_calls_of_another_task_are_not_replayed_and_not_compared():
    one = recorded("naive", 0)
    with pytest.raises(ConfigError, match="another task"):
        Replay(one).start(generate(NATURAL, "test", 1), "")
    with pytest.raises(ConfigError, match="different tasks"):
        compare(one, recorded("naive", 1))
    with pytest.raises(ConfigError, match="different tasks"):
        compare(one, recorded("naive", 0, profile=COMPACT))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"format": "study.play/2"}', "field format"),
        ('{"format": "study.play/1", "format": "study.play/1"}', "stands twice"),
        ('{"format": "study.play/1"}', "field profile"),
    ],
)
def test_a_file_that_is_no_episode_is_refused_by_name(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rf"a\.json.*{said}|{said}"):
        read_episode(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_episode(tmp_path / "none.json")


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_one_file_without_foreign_parts_and_escapes_every_text():
    hostile = "<script>alert(1)</script>\u202e\"'&"
    one = recorded("naive", 2).model_copy(
        update={
            "request": hostile,
            "policy": hostile,
            "reasons": (hostile,),
            "world_changes": (hostile,),
            "ended_by": hostile,
        }
    )
    call = one.calls[0].model_copy(
        update={"tool": hostile, "arguments": {hostile: hostile}, "reply": hostile, "status": hostile}
    )
    one = one.model_copy(update={"calls": (call, *one.calls[1:])})
    text = page(compare(one, recorded("recovering", 2)))
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert [tag for tag, _ in tags.seen].count("script") == 1
    assert "<script>alert" not in text and "\u202e" not in text
    assert not re.search(r"https?://|src=|@import|url\(", text)
    assert text.count('id="first"') == 1 and ".row[hidden]{display:none}" in text
    faults = {name for tag, attrs in tags.seen for name in attrs.get("data-faults", "").split()}
    assert faults == {c.drawn for e in (one, recorded("recovering", 2)) for c in e.calls if c.drawn}


def test_the_command_prints_a_table_json_and_a_page(tmp_path):
    where = (
        "--profile",
        "compact",
        "--pool",
        "test",
        "--task",
        21,
        "--regime",
        "faults_p25",
        "--schedule",
        1,
    )
    for policy in ("naive", "recovering"):
        (tmp_path / f"{policy}.json").write_text(
            run(play_command, *where, "--policy", policy, "--json").stdout
        )
    files = (tmp_path / "naive.json", tmp_path / "recovering.json")
    shown = run(compare_command, *files)
    assert shown.exit_code == 0 and "-- first divergence" in shown.stdout
    assert shown.stdout.endswith("alignment 1.000: 1 of 1 shared events drew the same\n")
    value = json.loads(run(compare_command, *files, "--json").stdout)
    assert (value["format"], value["alignment"], value["first_divergence"]) == ("study.compare/1", 1.0, 1)
    html = tmp_path / "page.html"
    assert run(compare_command, *files, "--html", html).exit_code == 0
    before = html.read_bytes()
    assert run(compare_command, *files, "--html", html).exit_code != 0 and html.read_bytes() == before


def test_play_replays_recorded_calls_under_other_noise(tmp_path):
    where = ("--pool", "test", "--task", 21, "--profile", "compact")
    path = tmp_path / "a.json"
    path.write_text(run(play_command, *where, "--regime", "faults_p25", "--schedule", 1, "--json").stdout)
    again = json.loads(run(play_command, *where, "--calls", path, "--json").stdout)
    assert again["policy"] == "calls of recovering" and again["true_success"] and again["regime"] == "clean"
    inferred = json.loads(run(play_command, "--pool", "test", "--task", 21, "--calls", path, "--json").stdout)
    assert inferred == again

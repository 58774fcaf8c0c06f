"""The log of deviations: chained, append-only, whole after any interruption, safe for two writers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prereg_kit.errors import ArchiveError, NotCheckedError, UsageError
from prereg_kit.evidence import deviations
from prereg_kit.foundation.digest import sha256_bytes

PLAN = "ab" * 32
ENTRY = {
    "kind": "deviation", "written_at": "2026-03-01T10:00:00Z", "subjects": ["H1"], "occasion": "other", "planned": "four",
    "done": "three", "reason": "one broke", "timing": "during-data", "severity": "lower", "validity": "unchanged",
}  # fmt: skip


def add(folder: Path, **fields: object) -> deviations.Entry:
    return deviations.append(folder, PLAN, {**ENTRY, **fields})


def test_each_entry_names_the_line_before_it(tmp_path: Path) -> None:
    first, second = add(tmp_path), add(tmp_path, done="two")
    lines = (tmp_path / "deviations.jsonl").read_bytes().split(b"\n")
    assert (first.previous, first.number, first.id) == (PLAN, 1, "D1")
    assert (second.previous, second.number, second.id) == (sha256_bytes(lines[0]), 2, "D2")
    log = deviations.read_log(tmp_path, PLAN)
    assert log.entries == (first, second)
    assert log.breaks == ()
    assert log.head == sha256_bytes(lines[1])


def test_a_log_of_another_plan_is_a_break(tmp_path: Path) -> None:
    add(tmp_path)
    assert deviations.read_log(tmp_path, "cd" * 32).breaks[0].line == 1


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_changed_entry_breaks_the_chain(tmp_path: Path, index: int) -> None:
    for done in ("a", "b", "c"):
        add(tmp_path, done=done)
    path = tmp_path / "deviations.jsonl"
    lines = path.read_text().splitlines()
    lines[index] = lines[index].replace('"reason":"one broke"', '"reason":"ten broke"')
    path.write_text("\n".join(lines) + "\n")
    found = deviations.read_log(tmp_path, PLAN).breaks
    assert [b.line for b in found] == (
        [index + 2] if index < 2 else []
    )  # the last line has no successor: git's business


def test_a_removed_entry_breaks_the_chain(tmp_path: Path) -> None:
    for done in ("a", "b", "c"):
        add(tmp_path, done=done)
    path = tmp_path / "deviations.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    assert deviations.read_log(tmp_path, PLAN).breaks
    with pytest.raises(ArchiveError, match="not as it was written"):
        add(tmp_path)
    assert path.read_text() == lines[0] + lines[2]


@pytest.mark.parametrize(
    "text", ["{}", "not json", '{"kind": "deviation", "kind": "disclosure"}', "[" * 5000]
)
def test_a_hostile_line_is_a_break_and_no_crash(tmp_path: Path, text: str) -> None:
    (tmp_path / "deviations.jsonl").write_text(text + "\n")
    assert len(deviations.read_log(tmp_path, PLAN).breaks) == 1


def test_a_torn_line_is_not_an_entry_and_the_next_append_goes_on(tmp_path: Path) -> None:
    add(tmp_path)
    path = tmp_path / "deviations.jsonl"
    path.write_bytes(path.read_bytes() + b'{"format":"prereg.dev')
    assert deviations.read_log(tmp_path, PLAN).torn
    add(tmp_path)
    log = deviations.read_log(tmp_path, PLAN)
    assert (len(log.entries), log.breaks, log.torn) == (2, (), b"")


def test_a_link_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    (tmp_path / "deviations.jsonl").symlink_to(tmp_path / "other")
    with pytest.raises(ArchiveError, match="not a plain file"):
        deviations.read_log(tmp_path, PLAN)
    with pytest.raises(OSError):
        add(tmp_path)


def test_what_is_taken_back_stays_and_what_was_seen_cannot_be_unseen(tmp_path: Path) -> None:
    add(tmp_path)
    deviations.append(tmp_path, PLAN, {"kind": "disclosure", "written_at": "2026-03-02", "who": "A", "saw": "x",
                                       "seen_at": "2026-03-01"})  # fmt: skip
    for of in ("D1", "S1"):
        deviations.append(
            tmp_path, PLAN, {"kind": "withdrawal", "written_at": "2026-03-03", "of": of, "reason": "wrong"}
        )
    log = deviations.read_log(tmp_path, PLAN)
    assert (len(log.entries), log.deviations, len(log.disclosures)) == (4, (), 1)
    with pytest.raises(UsageError, match="no such entry"):
        deviations.append(
            tmp_path, PLAN, {"kind": "withdrawal", "written_at": "2026-03-03", "of": "D9", "reason": "x"}
        )


def test_a_wrong_field_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="timing"):
        add(tmp_path, timing="later")
    assert deviations.read_log(tmp_path, PLAN).entries == ()


WRITER = """
import sys
from pathlib import Path
from prereg_kit.evidence import deviations
entry = {entry!r}
for number in range({count}):
    deviations.append(Path(sys.argv[1]), {plan!r}, {{**entry, "id": f"{{sys.argv[2]}}-{{number}}"}})
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    code = WRITER.format(entry=ENTRY, count=count, plan=PLAN)
    return subprocess.Popen([sys.executable, "-c", code, str(folder), name],
                            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])})  # fmt: skip


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    children = [writer(tmp_path, name, 25) for name in ("a", "b")]
    assert [child.wait(60) for child in children] == [0, 0]
    log = deviations.read_log(tmp_path, PLAN)
    assert log.breaks == ()
    assert sorted(e.id for e in log.entries) == sorted(f"{n}-{i}" for n in "ab" for i in range(25))


def test_a_killed_writer_leaves_a_log_that_reads_and_goes_on(tmp_path: Path) -> None:
    child = writer(tmp_path, "k", 2000)
    path = tmp_path / "deviations.jsonl"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and (not path.exists() or path.stat().st_size < 2000):
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    before = deviations.read_log(tmp_path, PLAN)
    assert before.breaks == ()
    assert len(before.entries) > 1
    add(tmp_path)
    after = deviations.read_log(tmp_path, PLAN)
    assert (len(after.entries), after.breaks) == (len(before.entries) + 1, ())


def test_a_refusing_disk_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path)
    before = (tmp_path / "deviations.jsonl").read_bytes()
    real = os.write

    def half(handle: int, data: bytes) -> int:
        real(handle, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(deviations.os, "write", half)
    with pytest.raises(OSError, match="No space"):
        add(tmp_path)
    monkeypatch.undo()
    assert (tmp_path / "deviations.jsonl").read_bytes() == before


def test_the_file_is_plain_json_lines(tmp_path: Path) -> None:
    add(tmp_path, done="zwei — deux")
    value = json.loads((tmp_path / "deviations.jsonl").read_text())
    assert (value["format"], value["done"]) == ("prereg.deviation/1", "zwei — deux")


def test_an_unreadable_log_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path)

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(NotCheckedError, match="cannot be read"):
        deviations.read_log(tmp_path, PLAN)

"""What a user reads when the disk, a pipe, a path or the program itself fails: one line and an exit code."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pandas as pd
import pytest

from prereg_kit.cli import lazy
from prereg_kit.errors import ArchiveError, NotCheckedError
from prereg_kit.foundation import durable
from prereg_kit.operations import decide as deciding
from tests.plans import SMALL
from tests.prereg_kit.decision.test_decision import ONE, cell_rows

ROOT = Path(__file__).parents[3]
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "plan.yaml").write_text(SMALL)
    pd.DataFrame(cell_rows(ONE)).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def command(*arguments: str | bytes) -> list[str | bytes]:
    return [sys.executable, "-m", "prereg_kit", *arguments]


def prereg(study: Path, *arguments: str | bytes, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=study, capture_output="stdout" not in more, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, **more,
    )  # fmt: skip


def decide(study: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return prereg(study, "decide", "--register", "rows.csv", "--plan", "plan.yaml", *arguments)


def one_line(text: str) -> str:
    assert "Traceback" not in text
    (line,) = text.strip().splitlines()
    return line


# --- the net -----------------------------------------------------------------------------------------------------


def ran(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException
) -> tuple[int, str]:
    @click.group(cls=lazy.LazyGroup, verbs={"fail": ("nowhere", "fails")})
    def group() -> None: ...

    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(lazy.LazyGroup, "get_command", lambda *_: fail)
    monkeypatch.setattr(sys, "argv", ["prereg", "fail"])
    with pytest.raises(SystemExit) as caught:
        lazy.run(group, "prereg")
    assert isinstance(caught.value.code, int)
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "out/x"), 1, "out/x: No space left on device"),
        (OSError(errno.ENOENT, "No such file or directory", "gone"), 3, "gone: No such file"),
        (PermissionError(errno.EACCES, "Permission denied", b"\xff"), 3, "Permission denied"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300), 3, "File name too long"),
        (RecursionError("deep"), 1, "nested too deeply"),
        (MemoryError(), 1, "not enough memory"),
        (UnicodeEncodeError("utf-8", "\udcff.csv", 0, 1, "surrogates not allowed"), 1, "not Unicode"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError("nobody thought of this"), 3, "did not foresee: ValueError: nobody thought of this"),
        (NotCheckedError("title \x1b[31m\nred"), 3, "title [U+001B][31m red"),
    ],
)
def test_every_error_is_one_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    says: str,
) -> None:
    monkeypatch.delenv(lazy.DEBUG, raising=False)
    found, text = ran(monkeypatch, capsys, error)
    assert found == code
    assert says in one_line(text)


def test_a_traceback_is_shown_on_request_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(lazy.DEBUG, "1")
    with pytest.raises(ValueError, match="nobody"):
        ran(monkeypatch, capsys, ValueError("nobody"))


@needs_full
@pytest.mark.parametrize("arguments", [("show", "plan.yaml"), ("--help",), ("check", "plan.yaml", "--json")])
def test_a_full_disk_behind_the_output(study: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = prereg(study, *arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "No space left" in one_line(done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [("show", "plan.yaml"), ("--help",), ("decide", "--register", "rows.csv", "--plan", "plan.yaml")],
)
def test_a_reader_that_ends_is_told_as_any_filter_tells_it(study: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = prereg(study, *arguments, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("new", "/proc/x.yaml"), 3), (("new", "x" * 300), 3), (("show", "x" * 300), 3)],
)
def test_paths_that_cannot_be(study: Path, arguments: tuple[str, ...], code: int) -> None:
    done = prereg(study, *arguments)
    assert (done.returncode, one_line(done.stderr)[:8]) == (code, "prereg: ")
    assert ".partial" not in done.stderr


def test_a_register_whose_name_is_not_unicode(study: Path) -> None:
    name = os.fsdecode(b"\xff.csv")
    try:
        (study / "rows.csv").rename(study / name)
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    done = prereg(study, "decide", "--register", b"\xff.csv", "--plan", "plan.yaml", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["registers"][0]["path"] == r"\xff.csv"


@pytest.mark.parametrize("kind", ["pipe", "/dev/null"])
def test_a_device_or_a_pipe_is_no_register(study: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(study / kind)
    done = prereg(study, "decide", "--register", kind, "--plan", "plan.yaml")
    assert done.returncode == 1
    assert "a device or a pipe" in one_line(done.stderr)


@pytest.mark.parametrize("plan_id", ["a # b", "a\ntitle: x", '"a"', "", "../x", "a: b", "x" * 65])
def test_an_id_is_never_more_than_an_id(study: Path, plan_id: str) -> None:
    done = prereg(study, "new", "--id", plan_id, "new.yaml")
    assert done.returncode == 2
    assert not (study / "new.yaml").exists()


def test_the_pattern_of_an_id_is_that_of_the_plan(study: Path) -> None:
    from typing import get_args

    from prereg_kit.cli.new import ID
    from prereg_kit.plan.fields import Name

    assert [each.pattern for each in get_args(Name) if hasattr(each, "pattern")] == [
        f"^{ID.replace('_-', '_' + chr(92) + '-')}$"
    ]
    assert prereg(study, "new", "--id", "null", "new.yaml").returncode == 0
    assert json.loads(prereg(study, "show", "new.yaml", "--json").stdout)["plan"]["id"] == "null"


def test_a_plan_is_shown_and_never_obeyed(study: Path) -> None:
    title = '"a\\e[31m\\a\\u202Eb\\nNOT A LINE"'
    (study / "plan.yaml").write_text(SMALL.replace("id: small", f"id: small\ntitle: {title}\nnote: {title}"))
    shown = prereg(study, "show", "plan.yaml").stdout
    assert shown.splitlines()[0] == "a[U+001B][31m[U+0007][U+202E]b NOT A LINE"
    assert all(line.isprintable() for line in shown.splitlines())


# --- results -------------------------------------------------------------------------------------------------------


def test_out_must_be_a_folder(study: Path) -> None:
    for out in ("plan.yaml", "plan.yaml/x", "/proc/x"):
        done = decide(study, "--out", out)
        assert done.returncode == 1
        assert "the results cannot be written" in one_line(done.stderr)


def test_a_size_limit_leaves_nothing_and_the_next_try_succeeds(study: Path) -> None:
    text = " ".join(
        str(each)
        for each in command("decide", "--register", "rows.csv", "--plan", "plan.yaml", "--out", "o/p")
    )
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; exec {text}"], cwd=study, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "File too large" in one_line(done.stderr)
    assert not (study / "o").exists()
    assert decide(study, "--out", "o/p").returncode == 0
    assert sorted(path.name for path in (study / "o/p").iterdir()) == ["curves.json", "verdicts.json"]


def test_two_files_are_named_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, count = os.link, 0

    def second_fails(*names: object) -> None:
        nonlocal count
        count += 1
        if count == 2:
            raise OSError(errno.EDQUOT, "Disk quota exceeded", *names)
        real(*names)

    monkeypatch.setattr(os, "link", second_fails)
    with pytest.raises(OSError, match="quota") as caught:
        durable.write_together({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert caught.value.filename == str(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_curves_that_a_stopped_run_left_are_replaced_and_nothing_else_is(study: Path) -> None:
    out = study / "out"
    out.mkdir()
    (out / "curves.json").write_text('{"format": "prereg.curves/1", "endpoints": "half"}')
    assert decide(study, "--out", "out").returncode == 0
    assert json.loads((out / "curves.json").read_bytes())["endpoints"] == {}
    before = (out / "curves.json").read_bytes()
    assert decide(study, "--out", "out").returncode == 1
    other = study / "other"
    other.mkdir()
    (other / "curves.json").write_text("mine")
    assert "never overwritten" in one_line(decide(study, "--out", "other").stderr)
    assert (other / "curves.json").read_text() == "mine"
    assert (out / "curves.json").read_bytes() == before
    os.symlink("nowhere", study / "dangling")
    with pytest.raises(ArchiveError):
        deciding.refuse_existing(study / "dangling")

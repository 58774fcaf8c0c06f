"""`prereg render` as a command: what goes to stdout and stderr, files, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "report"
EXAMPLE = str(GOLDEN / "verdicts.json")


def render(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    code = "import sys; from prereg_kit.cli.main import main; sys.argv[0] = 'prereg'; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "render", *arguments],
        cwd=folder or ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("word", "name"), [("markdown", "page.md"), ("tex", "page.tex"), ("csv", "outcomes.csv")]
)
def test_stdout_is_the_document_and_nothing_else(word: str, name: str) -> None:
    done = render(EXAMPLE, "--format", word)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (GOLDEN / name).read_bytes()


def test_a_file_is_written_once_and_never_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    first = render(EXAMPLE, "--format", "html", "--out", str(target))
    assert (first.returncode, first.stdout) == (0, b"")
    assert target.read_bytes() == (GOLDEN / "page.html").read_bytes()
    assert sha256(target.read_bytes()).hexdigest().encode() in first.stderr
    second = render(EXAMPLE, "--format", "md", "--out", str(target))
    assert second.returncode == 1
    assert b"exists" in second.stderr
    assert target.read_bytes() == (GOLDEN / "page.html").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_json_says_what_was_made(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    about = json.loads(render(EXAMPLE, "--out", str(target), "--json").stdout)
    assert next(iter(about)) == "format"
    assert about["format"] == "prereg.render/1"
    assert about["sha256"] == sha256(target.read_bytes()).hexdigest()
    inline = json.loads(render(EXAMPLE, "--json").stdout)
    assert inline["text"].encode() == target.read_bytes()


def test_exit_codes(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"format": "prereg.verdicts/9"}')
    assert render(str(tmp_path / "absent.json")).returncode == 3
    assert render(str(broken)).returncode == 1
    assert render(EXAMPLE, "--format", "pdf").returncode == 2
    assert render(EXAMPLE, "--format", "csv", "--table", "none").returncode == 2
    assert render(EXAMPLE, "--template", str(tmp_path / "absent.j2")).returncode == 3
    assert b"Traceback" not in render(str(broken)).stderr


def test_a_title_and_a_template(tmp_path: Path) -> None:
    template = tmp_path / "mine.j2"
    template.write_text("{{ title }}: {{ rows|length }}\n")
    done = render(EXAMPLE, "--template", str(template), "--title", "a|b")
    assert done.stdout == b"a\\|b: 12\n"

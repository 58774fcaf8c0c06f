"""Pages whose shell and Python blocks run as printed, in order, in an empty folder.

A `text` block under the comment `among what is printed` holds lines that the block before it prints. Other `text`
blocks (real authorities, which need a network) are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?P<printed><!-- among what is printed -->\n)?```(?P<kind>sh|python|text)\n(?P<block>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def run_page(page: Path, work: Path) -> dict[str, int]:
    """Run a page's blocks in `work` and return how many of each kind were run or compared."""
    commands = work.parent / "bin"
    commands.mkdir()
    for name, module in (("prereg", "prereg_kit"), ("study", "study")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (commands / name).chmod(0o755)
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{commands}:{os.environ['PATH']}", "COLUMNS": "100",
        "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8",
    }  # fmt: skip
    said, done = "", {"sh": 0, "python": 0, "text": 0}
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, block = match["kind"], match["block"]
        if kind == "text":
            if match["printed"]:
                done["text"] += 1
                lines = {" ".join(line.split()) for line in said.splitlines()}
                missing = [line for line in block.splitlines() if " ".join(line.split()) not in lines]
                assert not missing, f"{page.name} shows lines that are not printed: {missing}\n{said}"
            continue
        command = ["/bin/sh", "-e"] if kind == "sh" else [sys.executable, "-"]
        ran = subprocess.run(
            command, input=block, cwd=work, env=env, text=True, capture_output=True, timeout=300, check=False
        )
        assert ran.returncode == 0, f"{page.name}:\n{block}\n{ran.stdout}\n{ran.stderr}"
        said = ran.stdout
        done[kind] += 1
    return done


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_from_a_csv_to_an_outcomes_table(work: Path) -> None:
    assert run_page(ROOT / "docs/your-experiment.md", work) == {"sh": 7, "python": 3, "text": 3}
    assert {path.name for path in (work / "decided").iterdir()} == {
        "verdicts.json", "curves.json", "outcomes.html", "outcomes.tex",
    }  # fmt: skip
    about = (work / "frozen/my-experiment/README.md").read_text()
    assert "`check.json` is what `prereg check` said" in about


def test_the_first_look_at_the_simulator(work: Path) -> None:
    (work / "examples").symlink_to(ROOT / "examples")
    done = run_page(ROOT / "docs/simulator.md", work)
    assert done["sh"] == 2
    assert done["text"] == 1

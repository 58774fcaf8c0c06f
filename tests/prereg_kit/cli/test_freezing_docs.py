"""The commands and the Python of docs/freezing.md run as printed; its table of statuses is the program's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from prereg_kit.cli.evidence_table import MEANING, STYLES
from prereg_kit.evidence.folder import Status

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/freezing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_blocks_run_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "prereg").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m prereg_kit "$@"\n')
    (bin_folder / "prereg").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    shell, python = blocks("sh"), blocks("python")
    assert len(shell) >= 2
    assert len(python) == 2
    for block in shell:
        subprocess.run(["/bin/sh", "-e"], input=block, cwd=work, env=env, text=True, check=True)
    for block in python:
        subprocess.run([sys.executable, "-c", block], cwd=work, env=env, check=True)


def test_every_status_is_explained_in_the_docs_and_in_the_table() -> None:
    rows = set(re.findall(r"^\| ([a-z ]+) \| .+ \| .+ \|$", TEXT, re.MULTILINE)) - {"status"}
    assert rows >= set(get_args(Status))
    assert set(MEANING) == set(STYLES) == set(get_args(Status))

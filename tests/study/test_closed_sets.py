"""A member of a closed set without its behaviour is noticed: by a table at import, or by mypy at a branch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from study.closed_sets import complete
from study.errors import StudyError

ROOT = Path(__file__).parents[2]
FAULTS = "study/backoffice/faults.py"
NAMES = "study/config/names.py"


def planted(tmp_path: Path, changes: dict[str, tuple[str, str]]) -> Path:
    """A copy of the packages in which some text is replaced."""
    for package in ("prereg_kit", "study"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in changes.items():
        path = tmp_path / name
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
    return tmp_path


def imported(root: Path, module: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import {module}"], cwd=root, env={"PYTHONPATH": str(root)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_table_is_complete_and_in_the_order_of_its_members():
    assert list(complete("t", ("a", "b"), {"b": 2, "a": 1}).items()) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("table", [{"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_a_missing_and_a_strange_entry_are_errors(table):
    with pytest.raises(StudyError, match="t is not complete; expected one entry for each of a, b"):
        complete("t", ("a", "b"), table)


def test_a_fault_type_without_kinds_stops_the_import(tmp_path):
    root = planted(
        tmp_path, {FAULTS: ('    "field_dropout",\n]', '    "field_dropout",\n    "brownout",\n]')}
    )
    done = imported(root, "study.backoffice.faults")
    assert done.returncode and "missing ['brownout']" in done.stderr
    assert imported(ROOT, "study.backoffice.faults").returncode == 0


def test_a_condition_without_noise_stops_the_import(tmp_path):
    root = planted(tmp_path, {NAMES: ('"C3", "C4"]', '"C3", "C4", "C5"]')})
    done = imported(root, "study.config.run_config")
    assert done.returncode and "the table of conditions is not complete" in done.stderr
    assert "missing ['C5']" in done.stderr


def test_mypy_finds_a_fault_type_without_an_effect(tmp_path):
    """The new type has its kinds, so the table is complete; only the episode does not know what it does."""
    pytest.importorskip("mypy", reason="needs the dev extra")
    root = planted(
        tmp_path, {FAULTS: ('    "field_dropout",\n]', '    "field_dropout",\n    "brownout",\n]')}
    )
    path = root / FAULTS
    path.write_text(
        path.read_text().replace("FIELD_DROPOUT: _READS,", 'FIELD_DROPOUT: _READS, "brownout": _READS,')
    )
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p",
            "study.backoffice", "--cache-dir", str(tmp_path / "cache"),
        ],
        cwd=root, env={"MYPYPATH": str(root), "PATH": ""}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert any(line.startswith("study/backoffice/episode.py") and "brownout" in line for line in lines), lines
    assert all("brownout" in line for line in lines), lines  # the certificate branches over the types as well

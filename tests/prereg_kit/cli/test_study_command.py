"""The launcher of `study` runs this distribution's package or says which other one is in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import study
from prereg_kit.cli import study_command
from prereg_kit.errors import NotCheckedError

ROOT = Path(__file__).parents[3]
LAUNCH = "from prereg_kit.cli.study_command import main; main()"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Both packages in a folder of their own, as an installer puts them."""
    for package in ("prereg_kit", "study"):
        shutil.copytree(
            ROOT / package, tmp_path / "site" / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path / "site"


def launched(*path: Path, module: bool = False) -> subprocess.CompletedProcess[str]:
    start = ["-m", "study"] if module else ["-c", LAUNCH]
    return subprocess.run(
        [sys.executable, "-P", *start, "--version"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("module", [False, True])
def test_our_package_runs(installed, module):
    done = launched(installed, module=module)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("study, version ")


def test_a_foreign_package_first_on_the_path_is_refused_and_never_executed(installed, tmp_path):
    foreign = tmp_path / "elsewhere" / "study"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text('raise SystemExit("foreign code ran")\n')
    done = launched(foreign.parent, installed)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "another package named study would run" in done.stderr
    assert str(foreign) in done.stderr and str(installed / "study") in done.stderr
    assert "prereg-study" in done.stderr and "foreign code ran" not in done.stderr


def test_the_distribution_that_installed_the_other_package_is_named(installed, tmp_path):
    other = tmp_path / "elsewhere"
    (other / "study").mkdir(parents=True)
    (other / "study" / "__init__.py").write_text("")
    info = other / "clinical_study-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clinical-study\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("study\n")
    assert "(installed by clinical-study)" in launched(other, installed).stderr


def test_a_folder_that_lost_its_init_to_another_package_is_refused(installed):
    (installed / "study" / "__init__.py").write_text('DISTRIBUTION = "clinical-study"\n')
    done = launched(installed)
    assert done.returncode == 3 and "does not carry the mark of prereg-kit" in done.stderr


def test_a_missing_room_is_named_also_for_python_m(installed):
    shutil.rmtree(installed / "study" / "policies")
    for module in (False, True):
        done = launched(installed, module=module)
        assert done.returncode == 3 and "incomplete" in done.stderr and "without policies" in done.stderr


def test_modules_of_another_package_among_ours_are_named(installed):
    (installed / "study" / "patients.py").write_text("")
    (installed / "study" / "notes.txt").write_text("no module, no harm")
    done = launched(installed)
    assert done.returncode == 3 and "files of another package lie in study" in done.stderr
    assert "with patients.py" in done.stderr and "notes.txt" not in done.stderr


def test_no_package_at_all_is_refused(monkeypatch):
    monkeypatch.setattr(study_command, "_place", lambda: None)
    with pytest.raises(NotCheckedError, match="no package study can be imported"):
        study_command.require_own_package(study_command.expected_place())


def test_both_commands_start_at_the_launcher():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["study"] == scripts["prereg-study"] == "prereg_kit.cli.study_command:main"
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"] == study.DISTRIBUTION


def test_an_interrupt_while_modules_load_shows_no_trace(installed, tmp_path):
    (tmp_path / "first" / "click").mkdir(parents=True)
    (tmp_path / "first" / "click" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    done = launched(tmp_path / "first", installed)
    assert done.returncode == 130 and done.stderr == "study: interrupted; nothing was begun\n"

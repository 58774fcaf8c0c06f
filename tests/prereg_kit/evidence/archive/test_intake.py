"""Taking a document in: links, folders, pointers and git attributes, each named."""

from __future__ import annotations

import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from prereg_kit.errors import ArchiveError, NotCheckedError
from prereg_kit.evidence.archive import intake
from prereg_kit.evidence.archive.intake import git_warnings, pinned_by_git, take

NFC = unicodedata.normalize("NFC", "étude.md")
NFD = unicodedata.normalize("NFD", NFC)


def code(path: Path) -> str:
    with pytest.raises((ArchiveError, NotCheckedError)) as caught:
        take(path)
    assert path.name in str(caught.value)
    return caught.value.code


def test_bytes_and_remarks(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfx\r\n")
    taken = take(tmp_path / "a.md")
    assert taken.data == b"\xef\xbb\xbfx\r\n"
    assert len(taken.notes) == 2


def test_links_folders_pipes_and_absent_files_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_bytes(b"x")
    (tmp_path / "link.md").symlink_to("real.md")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/x").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    assert {code(tmp_path / name) for name in ("link.md", "dangling", "loop")} == {"link"}
    assert code(tmp_path / "folder") == "folder"
    assert code(tmp_path / "pipe") == "not-a-file"
    assert code(tmp_path / "nothing") == "absent"


def test_an_empty_folder_is_called_a_submodule_only_if_gitmodules_says_so(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(ArchiveError) as caught:
        take(tmp_path / "sub")
    assert "an empty folder" in str(caught.value)
    (tmp_path / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = x\n')
    with pytest.raises(ArchiveError) as caught:
        take(tmp_path / "sub")
    assert "git submodule update --init sub" in str(caught.value)


def test_a_document_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_DOCUMENT", 10)
    (tmp_path / "a").write_bytes(bytes(range(10)))
    assert len(take(tmp_path / "a").data) == 10
    (tmp_path / "a").write_bytes(bytes(range(11)))
    assert code(tmp_path / "a") == "too-large"


def test_the_other_unicode_form_is_found_and_two_forms_are_refused(tmp_path: Path) -> None:
    (tmp_path / NFD).write_bytes(b"x\n")
    if NFD not in os.listdir(tmp_path):
        pytest.skip("this file system changes names")
    taken = take(tmp_path / NFC)
    assert taken.name == NFD
    assert "Unicode form differs" in taken.notes[0]
    (tmp_path / NFC).write_bytes(b"y\n")
    if len(os.listdir(tmp_path)) == 1:
        pytest.skip("this file system takes both forms for one name")
    with pytest.raises(ArchiveError, match="ambiguous"):
        take(tmp_path / NFC)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.md").write_bytes(b"x\n")
    return tmp_path


@pytest.mark.parametrize(
    ("attributes", "pinned"),
    [
        ("", False),
        ("*.md text\n", False),
        ("*.md text=auto\n", False),
        ("*.md -text\n", True),
        ("*.md binary\n", True),
        ("*.md eol=lf\n", True),
        ("*.md text eol=crlf\n", True),
        ("*.txt -text\n", False),
    ],
)
def test_which_attributes_pin_line_endings(repository: Path, attributes: str, pinned: bool) -> None:
    (repository / ".gitattributes").write_text(attributes)
    assert pinned_by_git(repository, "a.md") is pinned


def test_outside_git_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "a.md").write_bytes(b"x\n")
    assert pinned_by_git(tmp_path, "a.md") is None
    assert git_warnings(take(tmp_path / "a.md"), tmp_path / "frozen/a") == ()


def test_only_tracked_documents_are_warned_of_and_the_frozen_copy_always(repository: Path) -> None:
    taken, target = take(repository / "a.md"), repository / "frozen/a"
    assert len(git_warnings(taken, target)) == 1
    subprocess.run(["git", "add", "a.md"], cwd=repository, check=True)
    warnings = git_warnings(taken, target)
    assert len(warnings) == 2
    assert "a.md -text" in warnings[0]
    assert "frozen/** -text" in warnings[1]
    (repository / ".gitattributes").write_text("frozen/** -text\n")
    assert len(git_warnings(taken, target)) == 1

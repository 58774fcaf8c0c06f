"""Manifests: every entry stays inside the root, is found whatever its Unicode form, and is reported by name."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import ArchiveError, DocumentError
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.paths import code_points, locate
from prereg_kit.foundation.digest import sha256_bytes

A = sha256_bytes(b"a\n")
NFC = unicodedata.normalize("NFC", "étude.md")
NFD = unicodedata.normalize("NFD", NFC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inside = tmp_path / "root"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub/a.txt").write_bytes(b"a\n")
    (inside / "empty").write_bytes(b"")
    (tmp_path / "secret").write_bytes(b"secret\n")
    (inside / "out").symlink_to(tmp_path / "secret")
    (inside / "up").symlink_to(tmp_path)
    (inside / "in").symlink_to("sub")
    (inside / "loop").symlink_to("loop")
    (inside / "dangling").symlink_to("nothing")
    return inside


def one(name: str, root: Path, digest: str = A) -> object:
    return archive.check_manifest({name: digest}, root).entries[0]


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "/etc/hostname",
        "sub/../../secret",
        "out",
        "up/secret",
        "C:\\x",
        "c:x",
        "sub\\..\\..\\secret",
        "",
        "sub//a.txt",
        "a\0",
    ],
)
def test_entries_that_leave_the_root_are_refused_unread(name: str, root: Path) -> None:
    entry = one(name, root, sha256_bytes(b"secret\n"))
    assert entry.status == "refused"
    assert entry.sha256 is None
    assert name.replace("\\", "/") in entry.notes[0] or not name


def test_a_traversal_that_stays_inside_is_refused_too_since_nobody_writes_it_by_accident(root: Path) -> None:
    assert one("sub/../sub/a.txt", root).status == "refused"


@pytest.mark.parametrize(("name", "word"), [("loop", "loop"), ("dangling", "dangling")])
def test_loops_and_dangling_links_are_named(name: str, word: str, root: Path) -> None:
    entry = one(name, root)
    assert entry.status == "refused"
    assert word in entry.notes[0]
    assert name in entry.notes[0]


def test_a_link_inside_the_root_is_followed_and_recorded(root: Path) -> None:
    entry = one("in/a.txt", root)
    assert entry.status == "match"
    assert "symbolic link" in entry.notes[0]


def test_match_difference_absence_and_folder(root: Path) -> None:
    assert one("sub/a.txt", root).status == "match"
    assert one("./sub/a.txt", root).status == "match"
    assert one("sub/a.txt", root, "0" * 64).status == "differs"
    assert one("sub/b.txt", root).status == "absent"
    assert one("nosub/b.txt", root).status == "absent"
    assert one("sub", root).status == "refused"


def test_the_digest_of_empty_input_is_never_shown(root: Path) -> None:
    empty = sha256_bytes(b"")
    for digest in (empty, A):
        report = archive.check_manifest({"empty": digest}, root)
        assert empty not in str(report.to_json())
        assert report.entries[0].notes == ("the file is empty",)
        assert report.ok == (digest == empty)


def test_a_name_is_found_under_its_other_unicode_form_and_two_forms_are_ambiguous(tmp_path: Path) -> None:
    (tmp_path / NFD).write_bytes(b"a\n")
    if NFD not in os.listdir(tmp_path):
        pytest.skip("this file system changes names")
    entry = one(NFC, tmp_path)
    assert entry.status == "match"
    assert "Unicode form differs" in entry.notes[0]
    assert entry.found == NFD
    (tmp_path / NFC).write_bytes(b"b\n")
    if len(os.listdir(tmp_path)) == 1:
        pytest.skip("this file system takes both forms for one name")
    entry = one(NFC, tmp_path)
    assert entry.status == "refused"
    assert code_points(NFC) in entry.notes[0]
    assert code_points(NFD) in entry.notes[0]
    assert "both" in entry.notes[0]


def test_an_empty_manifest_is_not_ok(tmp_path: Path) -> None:
    assert not archive.check_manifest({}, tmp_path).ok


@pytest.mark.parametrize("digest", ["", "g" * 64, "0" * 63, 5])
def test_a_digest_that_is_none_is_refused(digest: object, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="SHA-256"):
        archive.check_manifest({"a": digest}, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        f"{A}  sub/a.txt\n",
        f"{A.upper()} *sub/a.txt\n\n",
        f'{{"files": [{{"path": "sub/a.txt", "sha256": "{A}"}}]}}',
        f'{{"sub/a.txt": "{A}"}}',
        f'[{{"path": "sub/a.txt", "sha256": "{A}"}}]',
    ],
)
def test_the_usual_forms_of_a_manifest_are_read(text: str, tmp_path: Path, root: Path) -> None:
    (tmp_path / "m").write_text(text)
    manifest = archive.read_manifest(tmp_path / "m")
    assert manifest == {"sub/a.txt": A}
    assert archive.check_manifest(manifest, root).ok


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "\n",
        "deadbeef  a\n",
        f"{A}  a\n{A}  a\n",
        f'{{"a": "{A}", "a": "{A}"}}',
        f'{{"files": [{{"path": "a", "sha256": "{A}"}}, {{"path": "a", "sha256": "{A}"}}]}}',
        '{"files": [{"path": 1, "sha256": "x"}]}',
        '{"a": 5}',
        "[1]",
        '{"a":',
        f"\ufeff\ufeff{A}  sub/a.txt",
        f"\\{A}  sub\\\\a.txt",
    ],
)
def test_anything_else_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(text)
    with pytest.raises((ArchiveError, DocumentError)):
        archive.read_manifest(tmp_path / "m")


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{A}  sub/a.txt\r\n",
        f"{A.upper()} *sub\\a.txt\r\n",
        f'\ufeff{{"files": [{{"path": "sub\\\\a.txt", "sha256": "{A.upper()}"}}]}}',
    ],
)
def test_what_windows_programs_write_is_read(text: str, tmp_path: Path, root: Path) -> None:
    (tmp_path / "m").write_bytes(text.encode())
    report = archive.check_manifest(archive.read_manifest(tmp_path / "m"), root)
    assert report.ok, report


def test_backslashes_lead_out_of_the_root_no_more_than_slashes_do(tmp_path: Path, root: Path) -> None:
    (tmp_path / "secret").write_bytes(b"outside")
    outside = sha256_bytes(b"outside")
    report = archive.check_manifest({"..\\secret": outside, "C:\\secret": outside}, root)
    assert [entry.status for entry in report.entries] == ["refused", "refused"]
    assert [entry.sha256 for entry in report.entries] == [None, None]


def test_a_manifest_in_utf_16_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(f"{A}  sub/a.txt\n".encode("utf-16"))
    with pytest.raises(DocumentError, match="UTF-16"):
        archive.read_manifest(tmp_path / "m")


@given(
    st.lists(
        st.sampled_from(["..", ".", "", "sub", "a.txt", "up", "out", "in", "\\", "C:", "~", "x"]), max_size=6
    )
)
@settings(max_examples=120, derandomize=True, deadline=None)
def test_no_spelling_leaves_the_root(parts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "root/sub").mkdir(parents=True)
        (top / "a.txt").write_bytes(b"outside")
        (top / "root/sub/a.txt").write_bytes(b"inside")
        (top / "root/up").symlink_to("..")
        (top / "root/out").symlink_to("../a.txt")
        (top / "root/in").symlink_to("sub")
        try:
            located = locate(top / "root", "/".join(parts))
        except ArchiveError:
            return
        assert located.path.is_relative_to((top / "root").resolve())
        assert located.path.read_bytes() == b"inside"

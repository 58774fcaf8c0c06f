"""Reading frozen folders: altered bytes are named with their probable accident; records are not believed."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from prereg_kit.errors import ArchiveError
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.sniff import difference, lfs_pointer, remarks
from prereg_kit.foundation.digest import sha256_bytes

TEXT = "Ein Café\nzwei\n".encode()


def frozen(tmp_path: Path, data: bytes = TEXT) -> Path:
    return archive.freeze(data, "a.md", tmp_path / "frozen" / "a").document.folder


ACCIDENTS = [
    (TEXT.replace(b"\n", b"\r\n"), "line endings"),
    (b"\xef\xbb\xbf" + TEXT, "byte-order mark"),
    (TEXT[:-1], "final newline"),
    (unicodedata.normalize("NFD", TEXT.decode()).encode(), "Unicode normal form"),
    (unicodedata.normalize("NFD", TEXT.decode()).replace("\n", "\r\n").encode(), "line endings and Unicode"),
]


@pytest.mark.parametrize(("data", "words"), ACCIDENTS)
def test_usual_accidents_are_named_with_both_digests(tmp_path: Path, data: bytes, words: str) -> None:
    folder = frozen(tmp_path)
    (folder / "a.md").write_bytes(data)
    with pytest.raises(ArchiveError) as caught:
        archive.load_frozen(folder)
    text = str(caught.value)
    assert words in text
    assert sha256_bytes(TEXT) in text
    assert sha256_bytes(data) in text
    assert str(folder / "a.md") in text
    assert (".gitattributes" in text) == ("line endings" in words)


def test_a_real_change_is_not_explained_away(tmp_path: Path) -> None:
    folder = frozen(tmp_path)
    (folder / "a.md").write_bytes(TEXT.replace(b"zwei", b"drei"))
    with pytest.raises(ArchiveError) as caught:
        archive.load_frozen(folder)
    assert "differ only" not in str(caught.value)
    assert difference(b"abc", sha256_bytes(b"abd")) is None
    assert difference(b"abc", sha256_bytes(b"abc")) is None


def test_an_emptied_document_is_called_empty_and_its_digest_is_not_printed(tmp_path: Path) -> None:
    folder = frozen(tmp_path)
    (folder / "a.md").write_bytes(b"")
    with pytest.raises(ArchiveError, match="an empty file") as caught:
        archive.load_frozen(folder)
    assert sha256_bytes(b"") not in str(caught.value)


def test_a_pointer_in_place_of_the_document_is_refused_by_name(tmp_path: Path) -> None:
    folder = frozen(tmp_path)
    oid = "ab" * 32
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 77\n".encode()
    (folder / "a.md").write_bytes(pointer)
    with pytest.raises(ArchiveError) as caught:
        archive.load_frozen(folder)
    assert caught.value.code == "lfs-pointer"
    assert oid in str(caught.value)
    assert "77" in str(caught.value)
    assert "git lfs pull" in str(caught.value)
    assert sha256_bytes(pointer) not in str(caught.value)


def test_what_only_looks_like_a_pointer_is_data() -> None:
    start = b"version https://git-lfs.github.com/spec/v1\n"
    assert lfs_pointer(start + b"x" * 1024) is None
    assert lfs_pointer(b" " + start) is None
    assert lfs_pointer(start + b"oid sha256:" + b"0" * 64 + b"\nsize 5\n").size == 5


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"plain\n", []),
        (b"\xef\xbb\xbfx\n", ["byte-order mark"]),
        (b"a\r\nb\r\n", ["CRLF"]),
        (b"a\r\nb\n", ["mixed"]),
        ("e\u0301\n".encode(), ["normal form"]),
        (b"%PDF\r\n\xff\xfe\r\n", []),
        (b"a\r\n\x00", []),
    ],
)
def test_remarks_say_what_is_unusual_about_text_and_nothing_about_binary(
    data: bytes, words: list[str]
) -> None:
    found = remarks(data)
    assert len(found) == len(words)
    assert all(word in remark for word, remark in zip(words, found, strict=True))


def change(folder: Path, **values: object) -> None:
    path = folder / "freeze.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"format": "prereg.freeze/2"}, "format"),
        ({"quorum": 0}, "record"),
        ({"surprise": 1}, "record"),
        ({"document": {"path": "../../secret", "sha256": "0" * 64, "size": 1}}, "outside"),
        ({"document": {"path": "/etc/hostname", "sha256": "0" * 64, "size": 1}}, "outside"),
        ({"document": {"path": "a.md", "sha256": "0" * 64, "size": 1}}, "altered"),
        ({"document": {"path": "gone.md", "sha256": "0" * 64, "size": 1}}, "absent"),
    ],
)
def test_a_record_that_lies_is_refused(tmp_path: Path, values: dict[str, object], code: str) -> None:
    folder = frozen(tmp_path)
    change(folder, **values)
    with pytest.raises(ArchiveError) as caught:
        archive.load_frozen(folder)
    assert caught.value.code == code


def test_a_document_replaced_by_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = frozen(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(TEXT)  # even with the right bytes
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to(secret)
    with pytest.raises(ArchiveError) as caught:
        archive.load_frozen(folder)
    assert caught.value.code == "outside"


@pytest.mark.parametrize("text", ['{"format": "x", "format": "y"}', "{", "[" * 100000, "\xff"])
def test_a_record_that_is_not_strict_json_is_refused(tmp_path: Path, text: str) -> None:
    folder = frozen(tmp_path)
    (folder / "freeze.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ArchiveError) as caught:
        archive.load_frozen(folder)
    assert caught.value.code == "record"


def test_frozen_folders_are_found_in_the_two_homes_and_links_are_not_followed(tmp_path: Path) -> None:
    for home, name in [("frozen", "a"), ("amendments", "a-1"), ("elsewhere", "x")]:
        archive.freeze(TEXT, "a.md", tmp_path / home / name)
    archive.freeze(TEXT, "a.md", tmp_path / "amendments/nested/a-2")
    (tmp_path / "frozen/link").symlink_to(tmp_path / "elsewhere/x")
    found = [p.relative_to(tmp_path).as_posix() for p in archive.find_frozen(tmp_path)]
    assert found == ["frozen/a", "amendments/a-1", "amendments/nested/a-2"]
    assert archive.find_frozen(tmp_path / "frozen/a") == [tmp_path / "frozen/a"]
    assert archive.find_frozen(tmp_path / "elsewhere") == [tmp_path / "elsewhere/x"]
    assert [d.folder for d in archive.find_by_digest(tmp_path, sha256_bytes(TEXT))] == archive.find_frozen(
        tmp_path
    )
    assert archive.find_by_digest(tmp_path, "0" * 64) == []


def test_a_folder_that_lost_its_record_is_found_as_unrecorded(tmp_path: Path) -> None:
    folder = frozen(tmp_path)
    archive.freeze(TEXT, "a.md", tmp_path / "amendments/nested/a-2")
    (tmp_path / "frozen/empty").mkdir()
    assert archive.find_unrecorded(tmp_path) == []
    (folder / "freeze.json").unlink()
    assert archive.find_frozen(tmp_path) == [tmp_path / "amendments/nested/a-2"]
    assert archive.find_unrecorded(tmp_path) == [folder]

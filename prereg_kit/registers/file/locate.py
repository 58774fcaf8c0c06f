"""Paths to files: single files, folders and partitioned folders; what is ignored, what is refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from prereg_kit.errors import NotCheckedError, RegisterError, Where

_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
_MAGIC = b"PAR1"
_POINTER = b"version https://git-lfs.github.com/spec/v1"
_PARTITION = re.compile(r"([^=/]+)=(.*)")
_ABSENT = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Found:
    """A file of a register: `shape` is parquet or csv, `partition` are the keys in the names of its folders."""

    path: Path
    shape: str
    partition: Mapping[str, str] = field(default_factory=dict)


def files_of(path: Path) -> tuple[list[Found], list[str]]:
    """The register files at a path, in the order of their names, and notes on what was passed over.

    Hidden files, names with a leading underscore and checksum files (`.crc`) are ignored. Folders named
    `key=value` right above a file are columns.

    Raises:
        NotCheckedError: nothing there (`absent`), or a pointer of Git LFS in place of the bytes (`lfs-pointer`).
        RegisterError: not Parquet and not CSV (`not-a-register`), or a folder without any register (`no-rows`).
    """
    if not path.exists():
        raise NotCheckedError(
            "no such file or folder",
            where=Where(file=str(path)),
            next_step="Give the index runs.parquet, a register in Parquet or CSV, or a folder of them.",
            code="absent",
        )
    if not path.is_dir() and not path.is_file():
        raise RegisterError(
            "a device or a pipe, which cannot be read twice, is no register",
            where=Where(file=str(path)),
            expected="a file or a folder",
            next_step="Write the rows to a file and give that.",
            code="not-a-register",
        )
    if path.is_file():
        return [Found(path, shape_of(path), _partition(path))], []
    found: list[Found] = []
    passed: list[str] = []
    for each in sorted(path.rglob("*")):
        parts = each.relative_to(path).parts
        if not each.is_file() or any(part.startswith((".", "_")) for part in parts) or each.suffix == ".crc":
            continue
        if each.suffix.lower() not in _SUFFIXES:
            passed.append(str(each))
            continue
        if not each.resolve().is_relative_to(path.resolve()):
            raise RegisterError("a link that leaves the register's folder", where=Where(file=str(each)),
                                code="outside")  # fmt: skip
        found.append(Found(each, shape_of(each), _partition(each)))
    if not found:
        raise RegisterError(
            "no rows: a folder without a Parquet or CSV file",
            where=Where(file=str(path)),
            found=[Path(each).name for each in passed[:5]],
            code="no-rows",
        )
    notes = [f"{path}: {len(passed)} other files were not read, {passed[0]} first"] if passed else []
    return found, notes


def shape_of(path: Path) -> str:
    """`parquet` or `csv`, by the first bytes and then by the name.

    Raises:
        NotCheckedError: a Git LFS pointer.
        RegisterError: neither.
    """
    try:
        with path.open("rb") as handle:
            head = handle.read(512)
    except OSError as error:
        raise NotCheckedError(
            "the file cannot be read", where=Where(file=str(path)), found=error.strerror, code="unreadable"
        ) from error
    if head.startswith(_POINTER):
        fields = dict(
            line.split(" ", 1) for line in head.decode("ascii", "replace").splitlines() if " " in line
        )
        raise NotCheckedError(
            "a Git LFS pointer, not the register's bytes",
            where=Where(file=str(path)),
            found={"oid": fields.get("oid"), "size": fields.get("size")},
            next_step="Run `git lfs pull` and try again.",
            code="lfs-pointer",
        )
    if head.startswith(_MAGIC):
        return "parquet"
    if _SUFFIXES.get(path.suffix.lower()) == "csv":
        return "csv"
    raise RegisterError(
        "neither Parquet nor CSV" if head else "an empty file: no rows",
        where=Where(file=str(path)),
        expected="a Parquet file (it starts with PAR1), or a name that ends in .csv",
        found=head[:8],
        code="not-a-register",
    )


def _partition(path: Path) -> dict[str, str]:
    keys: list[tuple[str, str]] = []
    for folder in path.absolute().parents:
        match = _PARTITION.fullmatch(folder.name)
        if match is None:
            break
        keys.append((unquote(match[1]), unquote(match[2])))
    return {name: "" if value == _ABSENT else value for name, value in reversed(keys)}

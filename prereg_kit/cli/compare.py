"""Comparing plain files: with a list of digests, or with a frozen document. `verify-timestamps` calls it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from prereg_kit.errors import NotCheckedError, Where
from prereg_kit.evidence import archive


def compare_manifest(manifest: str, root: str, *, as_json: bool) -> int:
    """Check the files under `root` against a list; the exit code."""
    report = archive.check_manifest(archive.read_manifest(manifest), root)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
        return 0 if report.ok else 1
    for row in report.to_json()["files"]:
        click.echo(f"{row['status']:<8} {row['path']}")
        if row["status"] == "differs":
            click.echo(
                f"         expected SHA-256 {row['expected']}\n         found            {row['sha256']}"
            )
        for note in row.get("notes", []):
            click.echo(f"         {note}")
    return 0 if report.ok else 1


def compare_copy(copy: str, folder: str, *, as_json: bool) -> int:
    """Compare a copy of a document with a frozen folder; the exit code.

    Raises:
        ArchiveError: other bytes; both digests and the probable accident.
    """
    frozen = archive.load_frozen(folder)
    try:
        data = Path(copy).read_bytes()
    except OSError as error:
        raise NotCheckedError(
            "the copy cannot be read", where=Where(file=copy), found=error.strerror
        ) from error
    archive.refuse_pointer(data, copy)
    if data != frozen.data:
        raise archive.mismatch(data, frozen.digest, copy)
    value = {"format": "prereg.copy-report/1", "file": copy, "sha256": frozen.digest, "matches": str(folder)}
    click.echo(
        json.dumps(value, ensure_ascii=False) if as_json else f"{frozen.digest}  {copy}: the frozen bytes"
    )
    return 0

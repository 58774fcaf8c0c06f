"""What git remembers of a repository's files: which bytes a path had, commit by commit.

The order of commits is chained: each names its parent by digest. Their times are the committer's own clock. A history
can be shallow, or rewritten before anybody saw it; then what is missing is unknown, and nothing is concluded from it.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

_TIMEOUT_S = 60
_REWRITE_GAP_S = 3600
_NO_BLOB = "0" * 40


@dataclass(frozen=True)
class Commit:
    """A commit: its id, the committer's and the author's time."""

    id: str
    committed_at: datetime
    authored_at: datetime


@dataclass(frozen=True)
class Change:
    """A path had other bytes from this commit on. `blob` is None where the path was removed."""

    commit: Commit
    path: str
    blob: str | None


@dataclass(frozen=True)
class GitHistory:
    """The history of HEAD.

    Attributes:
        root: the repository's folder.
        known: whether there is a history at all.
        shallow: whether git says that the beginning is missing.
        rewritten: commits whose author's time lies more than an hour before the committer's: a rebase, or a commit
            that was amended later.
        changes: oldest first.
        why_unknown: a sentence where `known` is false.
    """

    root: Path
    known: bool = False
    shallow: bool = False
    rewritten: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    why_unknown: str = ""
    _by_path: dict[str, list[Change]] = field(default_factory=dict, compare=False)

    def of(self, path: str) -> tuple[Change, ...]:
        """The changes of one path, relative to the root, oldest first."""
        return tuple(self._by_path.get(path, ()))

    def paths(self) -> tuple[str, ...]:
        """Every path that any commit knew."""
        return tuple(self._by_path)

    def first(self, path: str, data: bytes) -> Commit | None:
        """The first commit in which `path` had exactly these bytes."""
        blob = blob_id(data)
        return next((change.commit for change in self.of(path) if change.blob == blob), None)

    def read(self, change: Change) -> bytes:
        """The bytes that a path had after a change; empty where it was removed."""
        if change.blob is None:
            return b""
        return _run(self.root, "cat-file", "blob", change.blob) or b""


def blob_id(data: bytes) -> str:
    """Git's id of a file with these bytes (SHA-1 repositories)."""
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _run(root: Path, *arguments: str) -> bytes | None:
    program = shutil.which("git")
    if program is None:
        return None
    # A repository under audit is hostile: no hooks, no file-system monitor, no attributes or pagers of its own.
    command = [
        program,
        "-C",
        str(root),
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        *arguments,
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def read_history(root: Path) -> GitHistory:
    """The history of the files under `root`, or a history that says why it is unknown."""
    if shutil.which("git") is None:
        return GitHistory(root, why_unknown="the git command is not installed")
    top = _run(root, "rev-parse", "--show-toplevel")
    if top is None:
        return GitHistory(root, why_unknown="the folder is not a git repository, or git refuses to read it")
    if Path(top.decode("utf-8", "surrogateescape").strip()).resolve() != root.resolve():
        return GitHistory(root, why_unknown="the folder is only a part of a git repository")
    shallow = (_run(root, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"
    raw = _run(
        root,
        "log",
        "--reverse",
        "--topo-order",
        "--no-renames",
        "--raw",
        "--no-abbrev",
        "-z",
        "-m",
        "--first-parent",
        "--format=%x01%H %ct %at",
        "HEAD",
    )
    if raw is None:
        return GitHistory(root, why_unknown="the repository has no commit yet")
    changes, rewritten = _parse(raw)
    by_path: dict[str, list[Change]] = {}
    for change in changes:
        by_path.setdefault(change.path, []).append(change)
    return GitHistory(root, True, shallow, tuple(rewritten), tuple(changes), "", by_path)


def _parse(raw: bytes) -> tuple[list[Change], list[str]]:
    changes: list[Change] = []
    rewritten: list[str] = []
    for block in raw.split(b"\x01")[1:]:
        fields = block.split(b"\0")
        head, fields = fields[0].decode().split(), fields[1:]
        commit = Commit(head[0], _time(head[1]), _time(head[2]))
        if (commit.committed_at - commit.authored_at).total_seconds() > _REWRITE_GAP_S:
            rewritten.append(commit.id)
        fields = [each.lstrip(b"\n") for each in fields]
        for meta, path in zip(fields[::2], fields[1::2], strict=False):
            if not meta.startswith(b":"):
                continue
            new = meta.split()[3].decode()
            blob = None if new == _NO_BLOB else new
            changes.append(Change(commit, path.decode("utf-8", "surrogateescape"), blob))
    return changes, rewritten


def _time(text: str) -> datetime:
    return datetime.fromtimestamp(int(text), UTC)

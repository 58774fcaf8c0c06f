"""`deviations.jsonl`, the append-only log beside a frozen plan: deviations, disclosures and withdrawals.

One entry per line, canonical JSON. Each entry names the SHA-256 of the line before it; the first names the plan's own
digest. So an entry that is changed, removed from the middle or moved is seen from the file alone. Entries that were cut
off the end are not: for those, `prereg audit` compares with git's history and with what decisions recorded.

The times in it come from the writer's own clock. They are declared, and the audit calls them so.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from prereg_kit.errors import ArchiveError, DocumentError, NotCheckedError, UsageError, Where
from prereg_kit.foundation.digest import canonical_json, sha256_bytes
from prereg_kit.foundation.durable import sync_folder
from prereg_kit.foundation.strict_json import read_json
from prereg_kit.plan.fields import Moment, Name, Sha256, Text, Texts, Value, Whole

FORMAT = "prereg.deviation/1"
LOG_NAME = "deviations.jsonl"

Occasion = Literal["error-in-plan", "unforeseen-event", "not-feasible", "new-information", "other"]
Timing = Literal["before-data", "during-data", "data-not-seen", "data-seen"]
OnSeverity = Literal["lower", "unchanged", "higher", "unknown"]
OnValidity = Literal["lower", "unchanged", "higher", "unknown"]

TIMING_IN_WORDS: dict[Timing, str] = {
    "before-data": "before any data existed",
    "during-data": "while data were being collected",
    "data-not-seen": "after the data existed, before anybody had seen them",
    "data-seen": "after the data had been seen",
}


class _Entry(Value):
    format: Literal["prereg.deviation/1"] = "prereg.deviation/1"
    number: Annotated[Whole, Field(ge=1)]
    previous: Sha256
    id: Name
    written_at: Moment
    authors: Texts = ()


class Deviation(_Entry):
    """Something was done otherwise than the plan says.

    `planned` is the plan's own wording, `done` what was done instead. `severity` is the effect on how hard the test was
    to pass, `validity` the effect on whether it measures what it should (Lakens 2024).
    """

    kind: Literal["deviation"] = "deviation"
    subjects: Annotated[Texts, Field(min_length=1)]
    occasion: Occasion
    planned: Text
    done: Text
    reason: Text
    timing: Timing
    severity: OnSeverity
    validity: OnValidity


class Disclosure(_Entry):
    """Somebody saw some data: who, what, when. `runs` names the runs, where it was some of them."""

    kind: Literal["disclosure"] = "disclosure"
    who: Text
    saw: Text
    seen_at: Moment
    runs: Texts = ()


class Withdrawal(_Entry):
    """An entry is taken back, or the whole study (`of` is then `plan`). The entry itself stays in the log."""

    kind: Literal["withdrawal"] = "withdrawal"
    of: Name
    reason: Text


Entry = Deviation | Disclosure | Withdrawal
_READER: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


@dataclass(frozen=True)
class Break:
    """A place where the chain does not hold: the line, and what is wrong with it."""

    line: int
    problem: str


@dataclass(frozen=True)
class Log:
    """What a log says.

    Attributes:
        path: the file, which may not exist: then there are no entries.
        entries: in order, also those behind a break.
        breaks: where the chain does not hold.
        head: digest of the last whole line, or the plan's digest for an empty log.
        torn: bytes behind the last line break; a writer that was stopped left them.
    """

    path: Path
    entries: tuple[Entry, ...] = ()
    breaks: tuple[Break, ...] = ()
    head: str = ""
    torn: bytes = b""

    @property
    def withdrawn(self) -> frozenset[str]:
        """Ids that a later entry takes back."""
        return frozenset(entry.of for entry in self.entries if isinstance(entry, Withdrawal))

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """Deviations that stand."""
        gone = self.withdrawn
        return tuple(e for e in self.entries if isinstance(e, Deviation) and e.id not in gone)

    @property
    def disclosures(self) -> tuple[Disclosure, ...]:
        """Disclosures. One that was taken back is still counted: what was seen cannot be unseen."""
        return tuple(e for e in self.entries if isinstance(e, Disclosure))


def log_path(folder: Path) -> Path:
    """Where the log of a frozen plan lies."""
    return folder / LOG_NAME


def parse(data: bytes, plan_digest: str, path: Path) -> Log:
    """Read a log's bytes; nothing is raised for what is wrong with them, every break is reported.

    Args:
        data: the file.
        plan_digest: SHA-256 of the frozen plan's bytes, which the first entry must name.
        path: for messages.
    """
    *lines, torn = data.split(b"\n")
    entries: list[Entry] = []
    breaks: list[Break] = []
    previous = plan_digest
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        try:
            entry = _READER.validate_python(read_json(line, str(path)))
        except (DocumentError, ValidationError) as error:
            breaks.append(Break(number, f"not an entry: {_first(error)}"))
            previous = sha256_bytes(line)
            continue
        if canonical_json(entry.model_dump(mode="json")) != line + b"\n":
            breaks.append(Break(number, "not written by `prereg`: other spacing, order or unknown text"))
        if entry.previous != previous:
            breaks.append(Break(number, "names another line before it than the one that stands there"))
        if entry.number != number:
            breaks.append(Break(number, f"calls itself entry {entry.number}"))
        if entry.id in seen:
            breaks.append(Break(number, f"uses the id {entry.id} a second time"))
        seen.add(entry.id)
        entries.append(entry)
        previous = sha256_bytes(line)
    return Log(path, tuple(entries), tuple(breaks), previous, torn)


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        found = error.errors()[0]
        return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
    return str(error)


def read_log(folder: Path, plan_digest: str) -> Log:
    """The log beside a frozen plan; an empty one where the file does not exist.

    Raises:
        NotCheckedError: the file is there and cannot be read.
        ArchiveError: a link, or something that is not a file.
    """
    path = log_path(folder)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ArchiveError(
            "the log of deviations is not a plain file",
            where=Where(file=str(path)),
            next_step="Put the file itself there; a link can be moved without a trace.",
            code="log",
        )
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Log(path, head=plan_digest)
    except OSError as error:
        raise NotCheckedError(
            "the log of deviations cannot be read",
            where=Where(file=str(path)),
            found=error.strerror,
            code="log",
        ) from error
    return parse(data, plan_digest, path)


@contextmanager
def _exclusive(path: Path) -> Iterator[int]:
    """Open the log for appending, with every other writer kept out until it is closed."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def append(folder: Path, plan_digest: str, fields: dict[str, object]) -> Entry:
    """Add one entry at the end, in one write, flushed to the disk before this returns.

    Args:
        folder: the frozen plan's folder.
        plan_digest: SHA-256 of the frozen plan's bytes.
        fields: the entry without `number` and `previous`; with an empty `id`, the next free one is taken.

    Raises:
        ArchiveError: the log's chain is broken already, so nothing more can be said in it.
        UsageError: a field is missing or wrong; it is named.
        OSError: the disk refused; the log is as it was.
    """
    path = log_path(folder)
    with _exclusive(path) as handle:
        data = path.read_bytes()
        log = parse(data, plan_digest, path)
        if log.breaks:
            first = log.breaks[0]
            raise ArchiveError(
                f"the log is not as it was written: line {first.line} {first.problem}",
                where=Where(file=str(path), line=first.line),
                next_step="Restore the file, for instance from git; a broken log cannot be continued.",
                code="log-broken",
            )
        whole = len(data) - len(log.torn)
        if log.torn:  # a writer was stopped before its entry was whole, so it was never reported as written
            os.ftruncate(handle, whole)
        entry = _entry(fields, log)
        line = canonical_json(entry.model_dump(mode="json"))
        try:
            written = os.write(handle, line)
            if written != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(handle)
        except OSError as error:
            os.ftruncate(handle, whole)
            error.filename = str(path)
            raise
    sync_folder(folder)
    return entry


_LETTER = {"deviation": "D", "disclosure": "S", "withdrawal": "W"}


def _entry(fields: dict[str, object], log: Log) -> Entry:
    taken = {entry.id for entry in log.entries}
    kind = str(fields["kind"])
    count = 1 + sum(entry.kind == kind for entry in log.entries)
    chosen = fields.get("id") or f"{_LETTER[kind]}{count}"
    if chosen in taken:
        raise UsageError("the id is taken", where=Where(file=str(log.path), field="id"), found=chosen)
    if kind == "withdrawal" and fields["of"] != "plan" and fields["of"] not in taken:
        raise UsageError(
            "no such entry to take back", where=Where(file=str(log.path), field="of"),
            expected=f"plan, or one of: {', '.join(sorted(taken)) or '(the log is empty)'}", found=fields["of"],
        )  # fmt: skip
    try:
        return _READER.validate_python(
            {**fields, "format": FORMAT, "id": chosen, "number": len(log.entries) + 1, "previous": log.head}
        )
    except ValidationError as error:
        found = error.errors()[0]
        raise UsageError(
            found["msg"],
            where=Where(field=".".join(str(part) for part in found["loc"][1:])),
            found=found.get("input"),
            next_step="Nothing was written.",
        ) from error

"""Draft an amendment to a frozen plan, and freeze it once every change applies: what `prereg amend` does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from prereg_kit.errors import NotCheckedError, PlanError, Where
from prereg_kit.evidence import archive
from prereg_kit.evidence import frozen_plans as plan_archive
from prereg_kit.evidence.frozen_plans import LoadedPlan
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.operations.authorities import Authorities, Say, silent
from prereg_kit.operations.freeze import NOBODY, FreezeResult, finish, required_quorum
from prereg_kit.plan.amendment import Amendment
from prereg_kit.plan.fields import is_placeholder
from prereg_kit.plan.file import read_amendment
from prereg_kit.plan.history import Source, replay

_DRAFT = """\
format: prereg.amendment/1
id: {id}
plan: {plan}
amends: {parent}   # {what}
reason: <why the plan has to change>
# What was known when this was written: nothing_run, no_results_seen, results_not_opened or results_seen.
known: nothing_run
known_detail: <what exactly had been run and seen>
changes:
  # op: add, replace or remove; field: a path with slashes into the plan
  - op: replace
    field: hypotheses/H1/statement
    value: <the new text>
"""


@dataclass(frozen=True)
class AmendResult(FreezeResult):
    """A frozen amendment; `changes` says in words what it changes."""

    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Prepared:
    """An amendment that applies: its bytes, the folder that it will be frozen as, and what the plan asks of stamps."""

    data: bytes
    target: Path
    changes: tuple[str, ...]
    quorum: int
    accuracy_limit: timedelta | None


def draft(plan: str | Path, root: str | Path | None = None) -> str:
    """A commented amendment for a frozen plan, with the digest of what it must name.

    Args:
        plan: the frozen folder, or a file with the same bytes.
        root: the repository; default: the plan's.

    Raises:
        PlanError: the plan is not frozen: change the file instead.
    """
    loaded = plan_archive.load(Path(plan), None if root is None else Path(root))
    if not loaded.frozen:
        raise PlanError(
            "the plan is not frozen",
            where=Where(file=str(plan)),
            next_step="Change the plan itself; amendments are for frozen ones.",
        )
    applied = loaded.effective.amendments
    parent = applied[-1].source.digest if applied else loaded.effective.digest
    what = f"amendment {applied[-1].amendment.id}" if applied else "the plan's bytes"
    return _DRAFT.format(id=f"A{len(applied) + 1}", plan=loaded.effective.plan.id, parent=parent, what=what)


def amend(
    file: str | Path,
    *,
    root: str | Path | None = None,
    quorum: int | None = None,
    authorities: Authorities = NOBODY,
    say: Say = silent,
) -> AmendResult:
    """Freeze an amendment as amendments/<plan>-<id>/ and ask authorities for stamps. Nothing is ever overwritten.

    Args:
        file: a `prereg.amendment/1` file.
        root: the repository with frozen/ and amendments/; default: found upwards from the file.
        quorum: operators that must agree, 1 to 16; default, and least: the number of the plan in force.
        authorities: whom to ask; nobody by default.
        say: gets lines of talk.

    Raises:
        NotCheckedError: no file, or no such frozen plan.
        PlanError: a wrong parent, a change that does not apply, an invalid result, a text left from the draft.
        UsageError: a quorum below the plan's.
        ArchiveError: other bytes are frozen there.
        OSError: the disk refused; nothing is left behind.
    """
    path = Path(file)
    prepared = _prepare(path, None if root is None else Path(root))
    wanted = required_quorum(quorum, prepared.quorum)
    limit = prepared.accuracy_limit
    stamper = authorities.stamper(accuracy_limit=limit)
    frozen = archive.freeze(
        prepared.data, path.name, prepared.target, stamper, kind="amendment", quorum=wanted
    )
    done = finish(frozen, authorities, quorum=quorum, offline=False, query=None, limit=limit, say=say)
    return AmendResult(done.document, done.round, done.existed, prepared.changes)


def _prepare(file: Path, root: Path | None) -> _Prepared:
    """Read an amendment and try it on the plan in force."""
    data = plan_archive.read_bytes(file)
    source = Source(data, sha256_bytes(data), str(file))
    amendment = read_amendment(data, str(file))
    for field, text in (
        ("reason", amendment.reason),
        ("known_detail", amendment.known_detail),
        *_values(amendment),
    ):
        if is_placeholder(text):
            raise PlanError(
                "a text of the draft that nobody has replaced", where=Where(file=str(file), field=field), found=text,
                expected="what you mean", code="placeholder",
            )  # fmt: skip
    base = root or plan_archive.find_root(file.parent)
    folder = base / "frozen" / amendment.plan
    if not folder.is_dir():
        raise NotCheckedError(
            f"no frozen plan {amendment.plan}",
            where=Where(file=str(folder)),
            next_step="Freeze the plan first, or name the repository with --root.",
            code="no-plan",
        )
    loaded: LoadedPlan = plan_archive.load(folder, base)
    before = [applied.source for applied in loaded.effective.amendments]
    if source.digest not in {known.digest for known in before}:
        replay(loaded.effective.source, [*before, source])
    # The policy before this amendment: an amendment that lowers the quorum must itself meet the old one.
    chain = [known for known in before if known.digest != source.digest]
    policy = replay(loaded.effective.source, chain[: _place(before, source)]).plan.timestamps
    return _Prepared(
        data=data,
        target=base / "amendments" / f"{amendment.plan}-{amendment.id}",
        changes=tuple(f"{change.op} {change.field}" for change in amendment.changes),
        quorum=policy.quorum,
        accuracy_limit=policy.limit,
    )


def _place(before: list[Source], source: Source) -> int:
    """How many amendments come before this one in the chain."""
    digests = [known.digest for known in before]
    return digests.index(source.digest) if source.digest in digests else len(digests)


def _values(amendment: Amendment) -> list[tuple[str, str]]:
    return [
        (f"changes[{i}].value", c.value) for i, c in enumerate(amendment.changes) if isinstance(c.value, str)
    ]

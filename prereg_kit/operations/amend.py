"""Amendments before they are frozen: the parent they must name, and whether every change applies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import NotCheckedError, PlanError, Where
from prereg_kit.evidence import frozen_plans as plan_archive
from prereg_kit.evidence.frozen_plans import LoadedPlan
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.plan.amendment import Amendment
from prereg_kit.plan.fields import is_placeholder
from prereg_kit.plan.file import read_amendment
from prereg_kit.plan.history import Source, replay


@dataclass(frozen=True)
class Prepared:
    """An amendment that applies: its bytes, the folder that it will be frozen as, and its changes in words."""

    data: bytes
    target: Path
    changes: tuple[str, ...]


def next_parent(plan: Path, root: Path | None = None) -> tuple[str, int, str, str]:
    """(plan id, number of the next amendment, digest that it must name, what that digest is of).

    Raises:
        PlanError: the plan is not frozen: change the file instead.
    """
    loaded = plan_archive.load(plan, root)
    if not loaded.frozen:
        raise PlanError(
            "the plan is not frozen",
            where=Where(file=str(plan)),
            next_step="Change the plan itself; amendments are for frozen ones.",
        )
    applied = loaded.effective.amendments
    parent = applied[-1].source.digest if applied else loaded.effective.digest
    what = f"amendment {applied[-1].amendment.id}" if applied else "the plan's bytes"
    return loaded.effective.plan.id, len(applied) + 1, parent, what


def prepare(file: Path, root: Path | None = None) -> Prepared:
    """Read an amendment and try it on the plan in force.

    Raises:
        NotCheckedError: no file, or no such frozen plan.
        PlanError: a wrong parent, a change that does not apply, an invalid result.
    """
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
    target = base / "amendments" / f"{amendment.plan}-{amendment.id}"
    return Prepared(data, target, tuple(f"{change.op} {change.field}" for change in amendment.changes))


def _values(amendment: Amendment) -> list[tuple[str, str]]:
    return [
        (f"changes[{i}].value", c.value) for i, c in enumerate(amendment.changes) if isinstance(c.value, str)
    ]

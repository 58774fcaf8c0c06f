"""Where an amendment stands: the plan and the amendments before it, found by the digests that each one names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, PreregError
from prereg_kit.evidence.archive.load import FrozenDocument, find_frozen, load_frozen
from prereg_kit.evidence.frozen_plans import kind_of
from prereg_kit.plan.amendment import Amendment
from prereg_kit.plan.file import read_amendment
from prereg_kit.plan.history import Source, replay
from prereg_kit.plan.parts import TimestampPolicy

HOME = "amendments"


@dataclass(frozen=True)
class Lineage:
    """What was found before an amendment.

    Attributes:
        policy: the timestamp policy of the plan as it was in force before this amendment; None if unknown. An
            amendment cannot lower the bar for itself.
        problems: a missing parent, or two amendments of one parent.
        not_checked: why nothing could be found.
    """

    policy: TimestampPolicy | None = None
    problems: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Known:
    document: FrozenDocument
    amendment: Amendment


def lineage_of(place: Path, digest: str, amendment: Amendment) -> Lineage:
    """Follow an amendment back to its plan.

    Args:
        place: the amendment's frozen folder, absolute; its project is two levels up.
        digest: SHA-256 of the amendment's bytes.
        amendment: what the bytes say.
    """
    if place.parent.name != HOME:
        return Lineage(
            not_checked=(f"the plan that it amends: the folder does not lie in a project's {HOME}/",)
        )
    project = place.parent.parent
    try:
        plan = load_frozen(project / "frozen" / amendment.plan)
    except ArchiveError as error:
        found = f"frozen/{amendment.plan}, the plan that it amends, is missing or altered ({error.problem})"
        return Lineage(problems=(found,))
    known = _amendments(project, amendment.plan)
    problems = [
        f"amendments {other.amendment.id} and {amendment.id} amend the same parent: only one can be in force"
        for other_digest, other in known.items()
        if other.amendment.amends == amendment.amends and other_digest != digest
    ]
    before, parent = [], amendment.amends
    while parent != plan.digest:
        if parent not in known:
            problems.append(
                f"amendment {amendment.id} builds on the amendment with SHA-256 {parent}, which is not here: "
                "it was removed or altered; restore it"
            )
            break
        before.append(known[parent])
        parent = known[parent].amendment.amends
    return Lineage(_policy_before(plan, before), tuple(problems))


def _amendments(project: Path, plan: str) -> Mapping[str, _Known]:
    """The readable amendments of a plan by digest; unreadable ones are findings of their own folders."""
    found = {}
    for folder in find_frozen(project):
        if folder.parent.name != HOME:
            continue
        try:
            document = load_frozen(folder)
            if kind_of(document.data) != "amendment":
                continue
            amendment = read_amendment(document.data, str(document.document_path))
        except PreregError:
            continue
        if amendment.plan == plan:
            found[document.digest] = _Known(document, amendment)
    return found


def _policy_before(plan: FrozenDocument, before: list[_Known]) -> TimestampPolicy:
    """The policy in force before the amendment; the frozen plan's own where the chain does not replay.

    Raises:
        DocumentError: the plan itself does not read.
    """
    source = _source(plan)
    try:
        return replay(source, [_source(each.document) for each in before]).plan.timestamps
    except PreregError:
        return replay(source).plan.timestamps


def _source(document: FrozenDocument) -> Source:
    return Source(document.data, document.digest, str(document.document_path))

"""Whether the parts of a frozen folder agree: its name, its record, its README, and what the document says of itself.

Only the document's bytes are stamped. freeze.json, README.md and SHA256SUMS can be rewritten by anybody, so none of
them may relax what a frozen plan asks for: the plan's own number of operators rules, and a record can only ask for
more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prereg_kit.errors import ArchiveError, DocumentError
from prereg_kit.evidence.archive.paths import locate, read_inside
from prereg_kit.evidence.archive.readme import derived_files
from prereg_kit.evidence.archive.record import FreezeRecord
from prereg_kit.evidence.archive.sniff import difference
from prereg_kit.evidence.folder.lineage import Lineage, lineage_of
from prereg_kit.evidence.frozen_plans import kind_of
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.plan.file import read_amendment, read_plan
from prereg_kit.plan.parts import TimestampPolicy


@dataclass(frozen=True)
class Consistency:
    """What holds for a frozen folder before any token is looked at.

    Attributes:
        policy: the timestamp policy that the document itself states, or that its plan states for an amendment; None
            for a document that states none.
        problems: parts that contradict one another; each is a finding.
        not_checked: what could not be compared, and why.
    """

    policy: TimestampPolicy | None
    problems: tuple[str, ...]
    not_checked: tuple[str, ...] = ()


def check_consistency(folder: Path, record: FreezeRecord, data: bytes) -> Consistency:
    """Compare a folder's name, record and derived files with one another and with the document.

    Args:
        folder: the frozen folder.
        record: its freeze.json.
        data: the document, already checked against the record's digest.
    """
    place = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow a link and lose the name
    problems = _of_name(place, record) + _of_derived_files(place, record)
    kind = kind_of(data)
    if kind != record.kind:
        problems.append(f"freeze.json calls the document a {record.kind}, and its bytes are a {kind}")
    policy, lineage, own_id = None, Lineage(), None
    try:
        if kind == "plan":
            plan = read_plan(data, record.document.path)
            policy, own_id = plan.timestamps, plan.id
        elif kind == "amendment":
            amendment = read_amendment(data, record.document.path)
            own_id = f"{amendment.plan}-{amendment.id}"
            lineage = lineage_of(place, record.document.sha256, amendment)
            policy = lineage.policy
    except DocumentError as error:
        lineage = Lineage(not_checked=(f"the {kind} does not read, so what it asks for is unknown: {error}",))
    if own_id is not None and own_id != record.id:
        problems.append(f"freeze.json says the id {record.id!r}, and the {kind} says {own_id!r}")
    if policy is not None and record.quorum < policy.quorum:
        problems.append(
            f"freeze.json asks for {record.quorum} operator(s), and the plan for {policy.quorum}: the plan rules"
        )
    return Consistency(policy, (*problems, *lineage.problems), lineage.not_checked)


def _of_name(place: Path, record: FreezeRecord) -> list[str]:
    if place.name == record.id:
        return []
    return [
        f"the folder is called {place.name!r} and freeze.json says {record.id!r}: "
        "it was renamed or swapped with another; give it its own name again"
    ]


def _of_derived_files(place: Path, record: FreezeRecord) -> list[str]:
    problems = []
    for name, expected in derived_files(record).items():
        try:
            found = read_inside(locate(place, name))
        except ArchiveError as error:
            problems.append(f"{name} is missing or cannot be read ({error.problem}); restore it from a copy")
            continue
        if found == expected:
            continue
        accident = difference(found, sha256_bytes(expected))
        how = f"differs only in {accident}" if accident else "is empty" if not found else "was altered"
        problems.append(
            f"{name} {how}: it is not what freeze.json gives, so do not run its commands; restore it from a copy"
        )
    return problems

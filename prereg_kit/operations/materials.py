"""The files that a plan binds by their digest, compared with what lies in the repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from prereg_kit.decision.verdict import Guard
from prereg_kit.design.plan_check import Finding
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.plan.parts import Material
from prereg_kit.plan.plan import Plan


@dataclass(frozen=True)
class Compared:
    """One material: `found` is the digest of the file, None where no regular file lies at its path in the root."""

    material: Material
    found: str | None

    @property
    def altered(self) -> bool:
        """Whether another file than the bound one lies there."""
        return self.found is not None and self.found != self.material.sha256


def compare(plan: Plan, root: Path) -> tuple[Compared, ...]:
    """Hash every material of a plan below the repository `root`; paths that lead out of it count as absent."""
    return tuple(Compared(material, _digest(root, material.path)) for material in plan.materials)


def guard(compared: tuple[Compared, ...]) -> Guard | None:
    """Whether the bound files were compared; None for a plan that binds none."""
    absent = [each.material.path for each in compared if each.found is None]
    if not compared:
        return None
    reason = f"bound files are not in the repository: {', '.join(absent)}" if absent else None
    return Guard(name="materials", applies=not absent, reason=reason)


def banners(compared: tuple[Compared, ...]) -> tuple[str, ...]:
    """A banner for each bound file whose bytes are others now."""
    return tuple(
        f"MATERIAL ALTERED: {each.material.path} is not the file that the plan binds (SHA-256 {each.found})"
        for each in compared
        if each.altered
    )


def findings(compared: tuple[Compared, ...]) -> tuple[Finding, ...]:
    """Before the freeze: a bound file that is absent or altered is a defect of the plan."""
    found = []
    for each in compared:
        if each.found is None or each.altered:
            what = "is not in the repository" if each.found is None else f"has the SHA-256 {each.found}"
            message = f"the material {each.material.path} {what}; the plan binds {each.material.sha256}"
            found.append(
                Finding("material", None, message, {"path": each.material.path, "found": each.found})
            )
    return tuple(found)


def _digest(root: Path, path: str) -> str | None:
    named = PurePosixPath(path)
    if named.is_absolute() or ".." in named.parts or "\x00" in path:
        return None
    try:
        file = (root / named).resolve()
        inside = file.is_relative_to(root.resolve()) and file.is_file()
        return sha256_file(file) if inside else None
    except (OSError, ValueError):
        return None

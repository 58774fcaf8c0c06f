"""The files that bring the audit to where work happens: a git hook and a recipe for continuous integration."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from prereg_kit.foundation.durable import write_bytes

_FILES = {"pre-commit": ".githooks/pre-commit", "audit.yml": ".github/workflows/prereg-audit.yml"}


def write_ci(folder: Path) -> tuple[Path, ...]:
    """Write the hook and the recipe below `folder`; what exists is never overwritten.

    Returns:
        The files, in the order in which they were written.

    Raises:
        ArchiveError: one of them exists; the ones before it were written.
        OSError: the disk refused.
    """
    home = resources.files("prereg_kit.operations").joinpath("ci")
    written = []
    for name, place in _FILES.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, home.joinpath(name).read_bytes())
        written.append(path)
    (folder / _FILES["pre-commit"]).chmod(0o755)
    return tuple(written)

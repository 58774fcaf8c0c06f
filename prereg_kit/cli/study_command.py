"""The commands `study` and `prereg-study`: find this distribution's package `study`, and no other, and run it.

`study` is a common name. Another distribution may install a package of that name, a folder of that name may lie
first on the path, and two installers may even write into one folder. This launcher stands in `prereg_kit`, a name
that nobody else has, so that it can look before anything called `study` is imported. It imports the package by its
text name, after the check; no module of `prereg_kit` depends on `study`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import prereg_kit

if TYPE_CHECKING:
    from prereg_kit.errors import NotCheckedError

PACKAGE = "study"
DISTRIBUTION = "prereg-kit"
NAMES = ("study", "prereg-study")
_NEXT = (
    "Remove or rename what lies there, or install prereg-kit alone in an environment of its own. "
    "`prereg-study` is the same command under a name that no other distribution has."
)


def main() -> None:
    """Entry point of `study`, `prereg-study` and `python -m study`."""
    called = Path(sys.argv[0]).stem
    name = called if called in NAMES else PACKAGE
    try:
        _start(name)
    except KeyboardInterrupt:  # while modules are still loading; `run` hears every later one
        sys.stderr.write(f"{name}: interrupted; nothing was begun\n")
        sys.exit(130)


def _start(name: str) -> None:
    import click

    from prereg_kit.cli.lazy import run
    from prereg_kit.errors import NotCheckedError
    from prereg_kit.foundation.visible import terminal_line

    try:
        require_own_package(expected_place())
    except NotCheckedError as error:
        click.echo(f"{name}: {terminal_line(str(error))}", err=True)
        sys.exit(error.exit_code)
    run(importlib.import_module(f"{PACKAGE}.cli.main").cli, name)


def expected_place() -> Path:
    """Where this distribution's `study` lies: beside `prereg_kit`, however both were installed."""
    return Path(prereg_kit.__file__).resolve().parents[1] / PACKAGE


def require_own_package(expected: Path) -> None:
    """Hold the package that `import study` would give to this distribution, without importing it.

    Args:
        expected: its folder.

    Raises:
        NotCheckedError: another package would be imported, this one is incomplete, or files of another package lie
            in its folder. The error names both places.
    """
    found = _place()
    if found is None:
        raise _error("no package study can be imported", expected, "nothing")
    if found != expected.resolve():
        raise _error("another package named study would run", expected, f"{found}{_owner(found)}")
    rooms = _rooms(expected / "__init__.py")
    if rooms is None:
        raise _error(
            "the package study does not carry the mark of prereg-kit", expected, f"{found}{_owner(found)}"
        )
    present = {path.name: path for path in expected.iterdir()}
    if missing := sorted(rooms - present.keys()):
        raise _error("the package study is incomplete", expected, f"{found} without {', '.join(missing)}")
    if strange := sorted(name for name, path in present.items() if name not in rooms and _importable(path)):
        raise _error("files of another package lie in study", expected, f"{found} with {', '.join(strange)}")


def _place() -> Path | None:
    """The folder of what `import study` gives or has given."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        return None
    if spec.submodule_search_locations:  # also a folder without __init__.py
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return None if spec.origin is None else Path(spec.origin).resolve()


def _importable(path: Path) -> bool:
    if path.name == "__pycache__" or path.name.startswith("."):
        return False
    return path.suffix in (".py", ".pyi", ".so", ".pyd") or path.is_dir()


def _rooms(path: Path) -> set[str] | None:
    """What the package says that it consists of; None if it does not say that it is ours. Nothing is executed."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    said: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                said[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    rooms = said.get("CONTENTS")
    if said.get("DISTRIBUTION") != DISTRIBUTION or not isinstance(rooms, tuple):
        return None
    return {str(room) for room in rooms}


def _owner(place: Path) -> str:
    """The other distributions that installed a package of this name, for the error; slow, so only then."""
    from importlib.metadata import packages_distributions

    others = sorted(set(packages_distributions().get(PACKAGE, ())) - {DISTRIBUTION})
    return f" (installed by {', '.join(others)})" if others else ""


def _error(problem: str, expected: Path, found: str) -> NotCheckedError:
    from prereg_kit.errors import NotCheckedError, Where

    return NotCheckedError(
        problem,
        where=Where(file=str(expected)),
        expected=f"the package study of {DISTRIBUTION} at {expected}",
        found=found,
        next_step=_NEXT,
        code="foreign-study",
    )

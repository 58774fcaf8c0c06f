"""The house: floors, one owner per heavy dependency, light imports, no files named for nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for package in ("prereg_kit", "study") for path in (ROOT / package).rglob("*.py"))

# A room may import rooms of lower floors, and nothing else outside itself. Within a room that has rooms of its own,
# the same holds one level down. A name that is missing here fails the test.
FLOORS = {
    "prereg_kit": {
        "errors": 0, "foundation": 1, "statistics": 2, "plan": 2, "registers": 3, "evidence": 3, "decision": 4,
        "design": 5, "report": 5, "operations": 6, "audit": 7, "api": 8, "cli": 9, "__main__": 10, "__init__": 10,
    },
    "prereg_kit.plan": {
        "fields": 0, "endpoint": 1, "criteria": 2, "hypothesis": 3, "matrix": 3, "parts": 3, "amendment": 3, "words": 4, "plan": 5, "planned_pairs": 6,
        "yaml_file": 5, "file": 6, "history": 7, "text": 8, "blame": 8, "__init__": 9,
    },
    "prereg_kit.registers": {"formats": 0, "cells": 1, "file": 2},
    "prereg_kit.evidence": {
        "token": 0, "archive": 1, "trust": 2, "authority": 2, "frozen_plans": 2, "deviations": 2, "second_opinion": 3, "tsa": 3,
        "folder": 4,
    },
    "study": {
        "errors": 0, "closed_sets": 1, "config": 2, "backoffice": 2, "theory": 2, "runs": 3, "policies": 3, "evaluation": 4,
        "training": 5, "trained": 6, "figures": 6, "published": 6, "probe": 7, "cli": 8, "__main__": 9, "__init__": 9,
    },
}  # fmt: skip

OWNERS = {
    "pyarrow": {"prereg_kit.registers.file"},
    "jinja2": {"prereg_kit.report"},
    "ruamel": {"prereg_kit.plan.yaml_file"},
    "rfc3161ng": {"prereg_kit.evidence.tsa"},
    "matplotlib": {"prereg_kit.design.plots", "study.figures", "study.training"},
    "torch": {
        "study.training",
        "study.trained.language_model",
        "study.cli.dry_run",
        "study.probe.double",
        "study.probe.scores",
        "study.probe.checks",
    },
    "transformers": {"study.training", "study.trained.language_model"},
    "trl": {"study.training"},
    "peft": {"study.training", "study.trained.language_model"},
}
PURE_STDLIB = "study/backoffice"
NAMELESS = {"utils", "util", "common", "helpers", "helper", "misc", "manager", "core"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def upward(module: str, imported: set[str]) -> list[str]:
    """Every import of `module` that goes to a room of its own floor or a higher one."""
    wrong = []
    for target in sorted(imported):
        if module.startswith("prereg_kit") and target.split(".")[0] == "study":
            wrong.append(f"{module} imports {target}: prereg_kit never imports study")
        for house, floors in FLOORS.items():
            if not (module.startswith(f"{house}.") and target.startswith(f"{house}.")):
                continue
            here, there = (name.removeprefix(f"{house}.").split(".")[0] for name in (module, target))
            if there == "__version__":
                continue
            if here != there and floors[there] >= floors[here]:
                wrong.append(f"{module} (floor {floors[here]}) imports {target} (floor {floors[there]})")
    return wrong


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The circles among modules, by depth-first search."""
    done: set[str] = set()
    found = []

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            found.append([*path[path.index(module) :], module])
            return
        if module in done:
            return
        for target in sorted(graph[module]):
            visit(target, [*path, module])
        done.add(module)

    for module in sorted(graph):
        visit(module, [])
    return found


def test_every_module_stands_on_a_floor() -> None:
    for path in MODULES:
        parts = name_of(path).split(".")
        for house, floors in FLOORS.items():
            depth = len(house.split("."))
            if parts[:depth] == house.split(".") and len(parts) > depth:
                assert parts[depth] in floors, f"{path} stands on no floor: add {parts[depth]} to {house}"


def test_study_lists_what_lies_in_it() -> None:
    """The launcher refuses a folder with other contents, so a new room has to be listed in study/__init__.py."""
    import study

    here = {
        path.name
        for path in (ROOT / "study").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert set(study.CONTENTS) == here | {"py.typed"}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.stem != "__init__" or len(p.relative_to(ROOT).parts) > 2], ids=name_of
)
def test_imports_go_down_only(path: Path) -> None:
    assert upward(name_of(path), imports(path)) == []


def test_the_floors_notice_an_upward_import() -> None:
    assert upward("study.theory.luck", {"study.cli.main"})
    assert upward("study.policies.scripted", {"study.training.model"})
    assert upward("prereg_kit.statistics.exact", {"prereg_kit.decision.hypotheses"})
    assert upward("prereg_kit.registers.cells.walk", {"prereg_kit.registers.file.scan"})
    assert upward("prereg_kit.evidence.token.der", {"prereg_kit.evidence.archive.load"})
    assert upward("prereg_kit.report.page", {"prereg_kit.design.partition"})
    assert upward("prereg_kit.plan.words", {"study.errors"})
    assert not upward("prereg_kit.design.partition", {"prereg_kit.plan.criteria.rule", "numpy"})


def test_no_import_goes_in_a_circle_not_even_inside_a_function() -> None:
    names = {name_of(path): path for path in MODULES}
    graph = {}
    for module, path in names.items():
        targets = {target for target in imports(path) if target in names}
        # `from package import module` names both; the package itself counts only where it is really asked for
        graph[module] = targets - {module} - {name for name in targets if module.startswith(f"{name}.")}
    assert circles({"a": {"b"}, "b": {"a"}}) == [["a", "b", "a"]]
    assert circles(graph) == []


@pytest.mark.parametrize("package", OWNERS)
def test_each_heavy_dependency_has_one_owner(package: str) -> None:
    for path in MODULES:
        module = name_of(path)
        if any(module == owner or module.startswith(owner + ".") for owner in OWNERS[package]):
            continue
        used = {name for name in imports(path) if name == package or name.startswith(package + ".")}
        assert not used, f"{module} imports {used}; the owner is {sorted(OWNERS[package])}"


def test_the_simulator_needs_the_standard_library_only() -> None:
    for path in (ROOT / PURE_STDLIB).rglob("*.py"):
        for imported in imports(path):
            top = imported.split(".")[0]
            pure = (
                "study.backoffice",
                "study.closed_sets",
                "study.errors",
                "prereg_kit.foundation.digest",
                "prereg_kit.errors",
            )
            assert top in sys.stdlib_module_names or imported.startswith(pure) or imported == "study", (
                f"{name_of(path)} imports {imported}"
            )


def test_no_file_is_named_for_nothing() -> None:
    for path in MODULES:
        assert path.stem not in NAMELESS, path
        assert not any(part in NAMELESS for part in path.relative_to(ROOT).parts[:-1]), path


@pytest.mark.parametrize(
    "statement", ["import prereg_kit", "import prereg_kit.cli.main as m; m.cli.get_help(m.click.Context(m.cli))",
                  "import study", "import study.cli.main as m; m.cli.get_help(m.click.Context(m.cli))"],
)  # fmt: skip
def test_the_front_doors_are_light(statement: str) -> None:
    heavy = (
        "torch",
        "pandas",
        "matplotlib",
        "pyarrow",
        "numpy",
        "pydantic",
        "jinja2",
        "cryptography",
        "trl",
        "rich",
    )
    code = f"import sys; {statement}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_the_public_surface_is_listed_and_loads() -> None:
    import prereg_kit

    for name in prereg_kit.__all__:
        assert getattr(prereg_kit, name) is not None
    assert set(prereg_kit.__all__) - {"__version__"} == set(prereg_kit._HOME)


def test_every_verb_has_a_module_and_a_sentence() -> None:
    import importlib

    import click

    from prereg_kit.cli.main import VERBS as PREREG
    from study.cli.main import VERBS as STUDY

    for verb, (module, text) in {**PREREG, **{f"study {k}": v for k, v in STUDY.items()}}.items():
        assert text.endswith("."), verb
        assert (ROOT / Path(*module.split("."))).with_suffix(".py").is_file(), f"{verb}: {module}"
        if module.startswith("prereg_kit"):
            assert isinstance(importlib.import_module(module).command, click.Command)


def test_no_state_of_chance_is_global_or_salted() -> None:
    banned = ("np.random.seed", "random.seed(", "np.random.rand", "hash(", "torch.manual_seed")
    allowed = {"torch.manual_seed": {"study.training"}}
    for path in MODULES:
        module, text = name_of(path), path.read_text()
        for word in banned:
            if any(module.startswith(owner) for owner in allowed.get(word, ())):
                continue
            hits = [
                line
                for line in text.splitlines()
                if word in line and "__hash__" not in line and "#" not in line
            ]
            hits = [line for line in hits if not (word == "hash(" and ("_hash(" in line or ".hash(" in line))]
            assert not hits, f"{module}: {hits}"

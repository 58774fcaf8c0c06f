"""The house: floors, one owner per heavy dependency, light imports, no files named for nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for package in ("prereg_kit", "study") for path in (ROOT / package).rglob("*.py"))

# Floors of prereg_kit by the first part of the module's name; a module may import its own floor or a lower one.
FLOORS = {
    "errors": 0, "digest": 0, "durable": 0, "visible": 0,
    "plan": 1, "verdict": 1, "registers": 1,
    "yaml_file": 2, "plan_file": 2, "history": 2, "words": 2, "plan_text": 2, "cells": 2, "lattice": 2,
    "mixture": 2, "transform": 2, "draws": 2, "canonical": 2, "variance": 2, "exact": 2, "random_stream": 2,
    "resample": 2, "interval": 2, "luck": 2, "decision": 2, "partition": 2, "rule_arrays": 2,
    "simulation": 2, "characteristics": 2, "worth": 2, "token": 2,
    "register_file": 3, "archive": 3, "tsa": 3, "authority": 3, "trust": 3, "evidence": 3, "renewal": 3,
    "second_opinion": 3, "report": 3, "figures": 3, "plan_archive": 3, "amending": 3, "deciding": 3, "checking": 3, "dry_run": 3, "dry_rows": 2,
    "api": 3, "cli": 4, "__main__": 4, "__init__": 4,
}  # fmt: skip

OWNERS = {
    "pyarrow": {"prereg_kit.register_file"},
    "jinja2": {"prereg_kit.report"},
    "ruamel": {"prereg_kit.yaml_file"},
    "rfc3161ng": {"prereg_kit.tsa"},
    "matplotlib": {"prereg_kit.figures", "study.figures", "study.training"},
    "torch": {"study.training", "study.policies.language_model", "study.cli.dry_run"},
    "transformers": {"study.training", "study.policies.language_model"},
    "trl": {"study.training"},
    "peft": {"study.training", "study.policies.language_model"},
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


def floor(module: str) -> int:
    parts = module.split(".")
    return FLOORS[parts[1] if len(parts) > 1 else "__init__"]


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.parts[len(ROOT.parts)] == "prereg_kit"], ids=name_of
)
def test_imports_go_down_only(path: Path) -> None:
    module = name_of(path)
    if module == "prereg_kit":
        return
    for imported in imports(path):
        assert not imported.startswith("study"), f"{module} imports {imported}"
        parts = imported.split(".")
        if parts[0] == "prereg_kit" and len(parts) > 1 and parts[1] in FLOORS:
            assert floor(imported) <= floor(module), f"{module} (floor {floor(module)}) imports {imported}"


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
            pure = ("study.backoffice", "study.errors", "prereg_kit.digest", "prereg_kit.errors")
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

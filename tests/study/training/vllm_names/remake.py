"""Reads from vllm's wheel how its classes for this model name their weights, without importing vllm.

    pip download --no-deps vllm==0.27.1 -d FOLDER        # 313 MB
    python tests/study/training/vllm_names/remake.py FOLDER/vllm-0.27.1-*.whl

Writes facts.json beside this file: per class, the prefixes that its mapper replaces, the prefixes that it skips, and
the attributes that its model and its language model have. Nothing of vllm's code is copied.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
CLASSES = ("Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM")
ROOT = "vllm/model_executor/models"
Read = Callable[[str], str]


class Sources:
    """Classes by name, looked up through relative imports."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._trees: dict[str, ast.Module] = {}

    def tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            self._trees[module] = ast.parse(self._read(module))
        return self._trees[module]

    def find(self, module: str, name: str) -> tuple[str, ast.ClassDef] | None:
        for node in self.tree(module).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return module, node
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.find(node.module, alias.name)
        return None

    def lineage(self, module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
        found = self.find(module, name)
        if found is not None:
            yield found
            for base in found[1].bases:
                yield from self.lineage(found[0], ast.unparse(base))

    def method(self, module: str, name: str, method: str) -> tuple[str, ast.FunctionDef]:
        for where, node in self.lineage(module, name):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == method:
                    return where, part
        raise LookupError(f"{name} has no {method}")

    def prefixes(self, module: str, name: str) -> dict[str, str]:
        """What the class's `hf_to_vllm_mapper` replaces at the start of a name; nothing if it has no mapper."""
        for where, node in self.lineage(module, name):
            for part in node.body:
                if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "hf_to_vllm_mapper":
                    return self._mapper(where, part.value)
        return {}

    def _mapper(self, module: str, value: ast.expr) -> dict[str, str]:
        if isinstance(value, ast.BinOp):
            return self._mapper(module, value.left) | self._mapper(module, value.right)
        if isinstance(value, ast.Attribute):
            return self.prefixes(module, ast.unparse(value.value))
        if not isinstance(value, ast.Call):
            raise LookupError(f"a mapper that is not understood: {ast.unparse(value)}")
        given = {one.arg: one.value for one in value.keywords}
        unknown = given.keys() - {"orig_to_new_prefix", "orig_to_new_stacked"}
        if unknown:
            raise LookupError(f"a mapper that also has {sorted(map(str, unknown))}")
        return dict(ast.literal_eval(given["orig_to_new_prefix"])) if "orig_to_new_prefix" in given else {}

    def attributes(self, module: str, name: str) -> tuple[str, dict[str, str]]:
        """What `__init__` puts on the object: attribute -> the class that it is built from, or nothing."""
        where, function = self.method(module, name, "__init__")
        found = {}
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if ast.unparse(one).startswith("self."):
                        made = node.value.func if isinstance(node.value, ast.Call) else None
                        found[ast.unparse(one).removeprefix("self.")] = ast.unparse(made) if made else ""
        return where, found

    def skipped(self, module: str, name: str) -> list[str]:
        _, function = self.method(module, name, "load_weights")
        for node in ast.walk(function):
            if isinstance(node, ast.keyword) and node.arg == "skip_prefixes":
                return list(ast.literal_eval(node.value))
        return []


def facts(read: Read, version: str) -> dict[str, object]:
    """What facts.json holds.

    Args:
        read: module name -> its source.
        version: of the wheel.
    """
    sources, classes = Sources(read), {}
    for name in CLASSES:
        registered = re.search(rf'"{name}": \("(\w+)", "{name}"\)', read("registry"))
        if registered is None:
            raise LookupError(f"{name} is not registered")
        module = registered[1]
        parts: dict[str, list[str]] = {}
        todo = [("", module, name)]
        while todo:
            place, where, one = todo.pop()
            where, found = sources.attributes(where, one)
            parts[place] = sorted(found)
            todo += [
                (f"{place}.{key}".removeprefix("."), where, found[key])
                for key in ("language_model", "model")
                if key in found
            ]
        classes[name] = {
            "prefixes": sources.prefixes(module, name),
            "skipped": sources.skipped(module, name),
            "parts": parts,
        }
    return {"vllm": version, "classes": classes}


def of_wheel(wheel: Path) -> dict[str, object]:
    """The facts of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        version = wheel.name.split("-")[1]
        return facts(lambda module: archive.read(f"{ROOT}/{module}.py").decode(), version)


def text(value: dict[str, object]) -> str:
    """The bytes of facts.json."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    (HERE / "facts.json").write_text(text(of_wheel(Path(sys.argv[1]))))

"""The documentation is executed: plans in it are read, outputs in it are what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from prereg_kit.plan import yaml_file
from prereg_kit.plan.criteria.rule import Criterion
from prereg_kit.plan.file import read_amendment, read_plan

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)( \w+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"<!-- output of: (.+?) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text())):
            if match[1] == language:
                found.append((f"{page.name}-{number}", (match[2] or "").strip(), match[3]))
    return found


@pytest.mark.parametrize(("name", "label", "text"), blocks("yaml"), ids=[b[0] for b in blocks("yaml")])
def test_plans_in_the_documentation_are_plans(name: str, label: str, text: str) -> None:
    if label == "criteria":
        for rule in yaml_file.read(text.encode(), name).value:  # type: ignore[union-attr]
            TypeAdapter(Criterion).validate_python(rule)
    elif label == "amendment":
        read_amendment(text.encode(), name)
    elif text.startswith("format: prereg.plan/1"):
        read_plan(text.encode(), name)


def test_the_starting_plan_is_a_plan() -> None:
    read_plan((ROOT / "prereg_kit/plan/starting_plan.yaml").read_bytes(), "starting_plan.yaml")


def outputs() -> list[tuple[str, str, str]]:
    return [(page.name, match[1], match[2]) for page in PAGES for match in OUTPUT.finditer(page.read_text())]


@pytest.mark.parametrize(
    ("page", "command", "expected"), outputs(), ids=[f"{o[0]}: {o[1]}" for o in outputs()]
)
def test_outputs_in_the_documentation_are_what_the_command_prints(
    page: str, command: str, expected: str
) -> None:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    folder = Path(sys.executable).parent
    environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=120,
        check=False,
    )  # a pipe into head may end the first command early
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        line.rstrip() for line in expected.splitlines()
    ]


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_format_of_the_sources_is_listed_on_the_architecture_page() -> None:
    sources = [
        *(ROOT / "prereg_kit").rglob("*.py"),
        *(ROOT / "study").rglob("*.py"),
        *(ROOT / "study").rglob("*.toml"),
    ]
    named = {
        name
        for path in sources
        for name in re.findall(r"[\"']((?:prereg|study)\.[a-z.-]+/[0-9]+)[\"']", path.read_text())
    }
    page = (ROOT / "docs/architecture.md").read_text()
    listed = set()
    for line in page.splitlines():
        names = re.findall(r"`((?:prereg|study)?\.?[a-z.-]+/[0-9]+)`", line)
        family = ""
        for name in names:
            if name.startswith(("prereg.", "study.")):
                family = name.partition(".")[0]
            listed.add(name if not name.startswith(".") else family + name)
    assert named - listed == set()

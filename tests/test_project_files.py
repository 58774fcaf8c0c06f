"""The files around the code say what the code says: versions, pages of the site, links on a package index."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import prereg_kit
from prereg_kit.plan import yaml_file

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_stands_in_one_place_and_the_citation_agrees() -> None:
    assert PROJECT["project"]["dynamic"][0] == "version"
    citation = yaml_file.read((ROOT / "CITATION.cff").read_bytes(), "CITATION.cff").value
    assert citation["version"] == prereg_kit.__version__
    assert f"## {prereg_kit.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_a_package_index_gets_no_link_that_leads_nowhere() -> None:
    text = (ROOT / "README.md").read_text()
    relative = re.compile(r"\]\((?!https?:)")
    assert relative.search(text), "nothing to replace: drop the substitution"
    for rule in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert not relative.search(text)


def test_every_page_stands_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    listed = set(re.findall(r"^([a-z-]+(?:/[a-z0-9-]+)*)$", index, re.MULTILINE))
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    assert listed == pages - {"index"}


def test_the_reference_covers_the_public_surface() -> None:
    modules = set(re.findall(r"auto(?:module|class):: ([\w.]+)", (ROOT / "docs" / "api.md").read_text()))
    for name in set(prereg_kit.__all__) - {"__version__"}:
        home = getattr(prereg_kit, name).__module__
        assert home in modules or f"{home}.{name}" in modules, f"docs/api.md does not show {home}.{name}"


def test_the_picture_of_the_architecture_is_the_one_that_the_tests_hold() -> None:
    spec = importlib.util.spec_from_file_location(
        "remake_architecture", ROOT / "docs" / "remake_architecture.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.picture() == (ROOT / "docs" / "architecture.svg").read_text()


def test_the_architecture_page_names_places_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.split("## Where would I change ...")[1].split("## The floors")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) == 12
    for row in rows:
        places = re.findall(r"`([\w/]+(?:\.py|/))`", row.split("|")[2])
        assert places, row
        first = ROOT / places[0]
        assert first.exists(), places[0]
        for place in places[1:]:
            room = ROOT / places[0].split("/")[0]
            near = [
                first.parent / place,
                first / place,
                room / place,
                ROOT / place,
                first.parent.parent / place,
            ]
            assert any(each.exists() for each in near), f"{row}: {place}"


def test_python_versions_named_are_those_that_the_package_asks_for() -> None:
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["project"]["classifiers"] if "Python :: 3." in c]
    assert named[0] == least
    assert named == [
        f"3.{minor}" for minor in range(int(least.split(".")[1]), int(least.split(".")[1]) + len(named))
    ]

"""The files around the code say what the code says: versions, pages of the site, links on a package index."""

from __future__ import annotations

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


def test_python_versions_named_are_those_that_the_package_asks_for() -> None:
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["project"]["classifiers"] if "Python :: 3." in c]
    assert named[0] == least
    assert named == [
        f"3.{minor}" for minor in range(int(least.split(".")[1]), int(least.split(".")[1]) + len(named))
    ]

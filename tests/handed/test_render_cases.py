"""Handed cases C35, C37 and C39: their neutral outcomes, mapped to verdicts without touching a character."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from prereg_kit.decision.verdict import Figure, Interval, PlanRef, Verdict, Verdicts
from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.visible import visible

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PREREG_SHARED", ROOT.parent / "shared"))
CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the handed cases are not beside this checkout")


def expected(case: str) -> dict[str, Any]:
    return json.loads((CASES / case / "expected.json").read_text(encoding="utf-8"))


def mapped(case: str) -> Verdicts:
    """The neutral rows as hypotheses; a name that stands twice would be lost, so there must be none."""
    outcomes = json.loads((CASES / case / "outcomes.json").read_text(encoding="utf-8"))
    rows = outcomes["rows"]
    assert len({row["hypothesis"] for row in rows}) == len(rows)
    return Verdicts(
        evaluator=rows[0]["task"],
        plan=PlanRef(
            id=rows[0]["hypothesis"],
            title=outcomes["title"],
            digest="0" * 64,
            frozen=True,
            path=rows[-1]["task"],
        ),
        hypotheses={
            row["hypothesis"]: Verdict(
                outcome={"miss": "fail"}[row["verdict"]],
                statement=row["task"],
                rule=row["task"],
                endpoint=row["task"],
                estimate=Figure(value=row["mean"]),
                interval=Interval(level=0.95, lower=row["ci95"][0], upper=row["ci95"][1], engine="exact"),
                interval_excludes_zero=False,
                reasons=({"code": "bound-not-met", "message": row["task"]},),
            )
            for row in rows
        },
    )


def written(case: str, folder: Path) -> Path:
    target = folder / "verdicts.json"
    target.write_bytes(readable_json(mapped(case).to_json()))
    return target


def prereg(folder: Path, *arguments: str, seconds: float = 60) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "prereg_kit", "render", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_c35_names_that_are_latex_commands(tmp_path: Path) -> None:
    want = expected("C35")
    code, text = prereg(tmp_path, "--format", "latex", str(written("C35", tmp_path)))
    assert code == 0
    for forbidden in want["runs"][0]["output_must_not_contain"]:
        assert forbidden not in text
    single = {key: value for key, value in want["values"]["expected"].items() if len(key) == 1}
    for pair, escaped in want["values"]["expected"].items():
        assert escaped in text, pair
    for name in ("a_b 50% R&D", "#1 $x$ {z}", "~ ^", "100\\% already"):
        assert name in want["values"]["names"]
        # once, character by character: the braces of \textbackslash{} are not data
        assert "".join(single.get(c, "\\" + c if c in "_%&#${}" else c) for c in name) in text, name
    assert "\\textbackslash{}\\textbackslash{}server\\textbackslash{}share" in text
    assert "two lines" in text
    assert "{[}first" in text
    assert "$\\geq$ 3 pp $-$ $\\pm$ \\textmu{}" in text
    assert "\\preregsplit{" + "x" * 300 + "}" in text
    body = text.split("\\begin{document}")[1]
    table = body.split("\\begin{longtable}")[1].split("\\end{longtable}")[0]
    rows = [line for line in table.splitlines() if line.endswith("\\\\")]
    separators = {len(re.findall(r"(?<!\\)&", line)) for line in rows}
    assert len(separators) == 1
    assert len(rows) == 1 + len(want["values"]["names"])
    assert not any(re.search(r"(?<!\\)[%#_]", line) for line in rows)
    assert not re.search(r"\\\\\s*\n\s*[\[*]", body)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "xlink:href"}]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_c37_markup_in_names_is_text(tmp_path: Path) -> None:
    want = expected("C37")
    title = want["values"]["names"][2]
    code, text = prereg(tmp_path, "--format", "html", "--title", title, str(written("C37", tmp_path)))
    assert code == 0
    for forbidden in want["runs"][0]["output_must_not_contain"]:
        assert forbidden not in text
    found = _Elements()
    found.feed(text)
    assert not found.tags & {"img", "script", "a", "iframe", "object", "link", "base", "form"}
    assert not any(name.startswith("on") for name in found.attributes)
    assert found.links == []
    shown = "\n".join(found.text)
    for name in want["values"]["names"]:
        assert visible(name) in shown, name
    assert "\u202e" not in text  # written out, and announced above the page


def test_c39_templates_from_elsewhere(tmp_path: Path) -> None:
    verdicts = str(written("C39", tmp_path))
    folder = CASES / "C39"
    for run in expected("C39")["runs"]:
        words = run["cmd"].split()[2:-1]
        words = [str(folder / word) if word.endswith(".j2") else word for word in words]
        code, text = prereg(
            tmp_path, *words, "--title", "Outcomes", verdicts, seconds=run.get("max_seconds", 60)
        )
        assert (code == 0) == (run["exit"] == "0"), (run["cmd"], text)
        for needed in run.get("output_mentions_all", []):
            assert needed in text, run["cmd"]
        for forbidden in run["output_must_not_contain"]:
            assert forbidden not in text.replace(verdicts, "").replace("0.0369", "").replace("0.0779", ""), (
                run["cmd"]
            )
        for absent in run.get("files_absent", []):
            assert not list(tmp_path.rglob(absent))
            assert not (ROOT / absent).exists()
        if "max_rss_mb" in run:
            assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 < run["max_rss_mb"]
    code, text = prereg(tmp_path, "--template", str(folder / "evil.j2"), verdicts)
    assert "evil.j2:1" in text
    assert "__class__" in text

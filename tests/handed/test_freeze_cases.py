"""Handed cases C01, C03, C09, C11 and C13: freezing, hashing, links, pointers and what authorities answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from prereg_kit.cli.main import main

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PREREG_SHARED", ROOT.parent / "shared"))
CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the handed cases are not beside this checkout")
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def expected(case: str) -> dict[str, Any]:
    return json.loads((CASES / case / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A writable copy of the case named by the test, links kept."""
    case = request.node.name.split("_")[1].upper()
    subprocess.run(["cp", "-a", f"{CASES / case}/.", str(tmp_path / case)], check=True)
    subprocess.run(["chmod", "-R", "u+w", str(tmp_path / case)], check=True)
    return tmp_path / case


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def prereg(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs the program's own entry point in this process: the exit code, and stdout and stderr together.

    An exception that the program would show as a traceback fails the test.
    """
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("no_proxy", "*")

    def run(folder: Path, *arguments: str) -> tuple[int, str]:
        capfd.readouterr()
        with monkeypatch.context() as here:
            here.chdir(folder)
            here.setattr(sys, "argv", ["prereg", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out + err

    return run


def judge(run: dict[str, Any], code: int, said: str) -> None:
    """Hold a run to what expected.json says of it."""
    allowed = {"0": code == 0, "nonzero": code != 0, "0 or nonzero": True}
    assert allowed[run["exit"]], said
    lower = said.lower()
    for text in run.get("output_mentions_all", []):
        assert text.lower() in lower, said
    for group in run.get("output_mentions_any_of_each", []):
        assert any(text.lower() in lower for text in group), said
    for text in run.get("output_must_not_contain", []):
        assert text.lower() not in lower, said


def test_c01_freezing_hashes_the_bytes_and_a_crlf_copy_is_told_from_them(folder: Path, prereg: Run) -> None:
    case = expected("C01")
    judge(case["runs"][0], *prereg(folder, "freeze", "PREREG_lf.md"))
    code, said = prereg(folder, "verify-timestamps", "frozen/PREREG_lf", "--file", "PREREG_crlf.md")
    judge(case["runs"][1], code, said)
    for digest in case["values"].values():
        assert digest in said
    assert "autocrlf" in said
    assert ".gitattributes" in said
    # The same inside the frozen folder, as a checkout would leave it.
    shutil.copyfile(folder / "PREREG_crlf.md", folder / "frozen/PREREG_lf/PREREG_lf.md")
    judge(case["runs"][1], *prereg(folder, "verify-timestamps", "--allow-unstamped"))


def test_c01_freeze_warns_of_a_tracked_document_whose_line_endings_nothing_pins(
    folder: Path, prereg: Run
) -> None:
    for command in (["init", "-q"], ["add", "PREREG_lf.md"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    _, said = prereg(folder, "freeze", "PREREG_lf.md", "--id", "loose")
    assert "PREREG_lf.md is tracked by git and no attribute pins" in said
    (folder / ".gitattributes").write_text("*.md -text\nfrozen/** -text\n")
    _, said = prereg(folder, "freeze", "PREREG_lf.md", "--id", "pinned")
    assert "attribute" not in said


def test_c03_names_in_another_unicode_form(folder: Path, prereg: Run) -> None:
    case = expected("C03")
    verify = ("verify-timestamps", "--manifest", "manifest.json")
    judge(case["runs"][0], *prereg(folder, *verify, "only_nfd"))
    code, said = prereg(folder, *verify, "both")
    judge(case["runs"][1], code, said)
    assert "<U+00E9>" in said
    assert "e<U+0301>" in said
    code, _ = prereg(folder, "freeze", "body_nfc.md", "--id", "body")
    assert code == 0
    code, said = prereg(folder, "verify-timestamps", "frozen/body", "--file", "body_nfd.md")
    judge(case["runs"][2], code, said)
    assert case["values"]["sha_body_nfc"] in said
    assert case["values"]["sha_body_nfd"] in said


def test_c09_entries_and_links_that_leave_the_tree(folder: Path, prereg: Run) -> None:
    case = expected("C09")
    subprocess.run(["tar", "-xf", "tree.tar"], cwd=folder, check=True)
    code, said = prereg(folder, "verify-timestamps", "--manifest", "manifest.json", "tree")
    judge(case["runs"][0], code, said)
    _, text = prereg(folder, "verify-timestamps", "--manifest", "manifest.json", "tree", "--json")
    rows = {row["path"]: row for row in json.loads(text)["files"]}
    for name in case["values"]["refuse"]:
        assert rows[name]["status"] == "refused", name
        assert "sha256" not in rows[name]
    judge(case["runs"][1], *prereg(folder, "freeze", "tree"))
    for name in ("link_out", "loop", "dangling"):
        code, said = prereg(folder, "freeze", f"tree/{name}")
        assert code != 0
        assert name in said
        assert case["values"]["sha_empty"] not in said
    assert not (folder / "frozen").exists()


def test_c11_pointers_and_empty_submodules(folder: Path, prereg: Run) -> None:
    case = expected("C11")
    code, said = prereg(folder, "freeze", "runs.parquet")
    judge(case["runs"][0], code, said)
    for value in case["values"].values():
        assert str(value) in said
    assert "git lfs pull" in said
    (folder / "study/.gitkeep_for_copy_remove_me").unlink()
    code, said = prereg(folder, "freeze", "study/")
    judge(case["runs"][2], code, said)
    assert "git submodule update --init study" in said
    assert not (folder / "frozen").exists()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server that replays the answers of C13 on the loopback address."""
    log = tmp_path / "log"
    log.mkdir()
    server = subprocess.Popen(
        [sys.executable, str(CASES / "_tools/replay_http.py"), str(CASES / "C13")],
        cwd=log,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield int(server.stdout.readline())
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()


def test_c13_answers_that_are_no_timestamp(folder: Path, prereg: Run, port: int, tmp_path: Path) -> None:
    case = expected("C13")
    answers = {e["path"]: e for e in json.loads((CASES / "C13/answers.json").read_text(encoding="utf-8"))}
    for run in case["runs"]:
        name = run["cmd"].split("PORT/")[1].split()[0]
        url = f"http://127.0.0.1:{port}/{name}"
        code, said = prereg(folder, "freeze", "PREREG.md", "--id", name, "--tsa", url, "--attempts", "1")
        judge(run, code, said)
        if name not in case["values"]["must_be_refused"]:
            continue
        answer = answers[f"/{name}"]
        for part in (url, str(answer["status"]), answer["content_type"].split(";")[0]):
            assert part in said, (name, said)
        assert not list(folder.rglob("*.tsr")), name
    requests = [line.split() for line in (tmp_path / "log/requests.log").read_text().splitlines()]
    assert {method for _, method, *_ in requests} == {"POST"}
    assert not any(path == "/login" for _, _, path, *_ in requests)


def test_c13_the_good_answers_to_their_own_query(folder: Path, prereg: Run, port: int) -> None:
    case = expected("C13")
    trust = folder / "trust/handed"
    trust.mkdir(parents=True)
    shutil.copyfile(folder / "root.pem", trust / "root.pem")
    for name in (*case["values"]["must_be_accepted"], *case["values"]["either"]):
        url = f"http://127.0.0.1:{port}/{name}"
        config = {"format": "prereg.operator/1", "name": "handed", "url": url}
        (trust / "operator.json").write_text(json.dumps(config))
        code, said = prereg(
            folder, "freeze", "PREREG.md", "--id", name, "--tsa", "handed", "--query", "q.tsq"
        )
        assert code == 0, said
        assert (folder / f"frozen/{name}/stamps/handed.tsr").read_bytes() == (
            folder / "body_good"
        ).read_bytes()
        assert ("octet-stream" in said) == (name == "good_octet")
        code, said = prereg(folder, "verify-timestamps", f"frozen/{name}", "--quorum", "1")
        assert code == 0, said

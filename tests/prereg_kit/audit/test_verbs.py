"""The verbs of the audit as a user meets them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from prereg_kit.audit.findings import CODES
from prereg_kit.cli.main import cli
from prereg_kit.errors import NotCheckedError
from tests.corpus.lab import DAY, Lab
from tests.corpus.planted import MARGIN, frozen, standard

ROOT = Path(__file__).parents[3]


def prereg(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments], standalone_mode=False)


@pytest.fixture(scope="module")
def amended(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """H1 fails at 0.2; an amendment after the runs moves the margin to 0.05 and says so."""
    lab = Lab(tmp_path_factory.mktemp("amended") / "repo")
    digest = frozen(lab)
    lab.all_runs(digest, gain=0.12)
    lab.index().commit("runs")
    lab.amend("A1", "results_seen", MARGIN, parent=digest)
    lab.decide()
    lab.commit("decision")
    return lab


def test_replay_shows_each_version_and_what_was_turned(amended: Lab) -> None:
    done = prereg("replay", amended.root / "frozen/trial", "--register", amended.index_path, "--json")
    value = json.loads(done.stdout)
    assert value["format"] == "prereg.replay/1"
    assert [v["outcomes"]["H1"] for v in value["versions"]] == ["fail", "pass"]
    assert value["flips"] == [{"amendment": "A1", "known": "results_seen", "hypothesis": "H1", "before": "fail",
                               "after": "pass", "known_in_advance": True}]  # fmt: skip
    text = prereg("replay", amended.root / "frozen/trial", "--register", amended.index_path).stdout
    assert "was fail; known in advance, no new confirmation" in text


def test_the_audit_reports_in_the_documented_form(amended: Lab) -> None:
    done = prereg("audit", amended.root, "--trust", amended.trusted, "--json")
    value = json.loads(done.stdout)
    assert list(value) == ["format", "studies", "timeline", "orders", "ledger", "findings", "not_knowable"]
    assert value["format"] == "prereg.audit/1"
    assert {"code", "severity", "subject", "evidence", "message"} <= set(value["findings"][0])
    kinds = [event["kind"] for event in value["timeline"]]
    assert (kinds[0], kinds[-1], kinds.count("run-start")) == ("freeze", "decision", 8)
    assert done.return_value == 0  # the author says what was known: a warning, no violation
    assert {f["code"] for f in value["findings"] if f["severity"] == "warning"} >= {
        "amendment-follows-results", "amendment-flips-outcome",
    }  # fmt: skip


def test_a_violation_exits_1_and_says_what_would_explain_it(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "repo")
    standard(lab)
    (lab.root / "frozen/trial/plan.yaml").write_text("format: prereg.plan/1\nid: trial\n")
    done = prereg("audit", lab.root)
    assert done.return_value == 1
    assert "VIOLATION  trial  [frozen-altered]" in done.stdout
    assert CODES["frozen-altered"].innocent in done.stdout


def test_an_altered_field_is_named_with_both_values(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "repo")
    standard(lab)
    path = lab.root / "frozen/trial/plan.yaml"
    path.write_text(path.read_text().replace("at_least: 0.2}", "at_least: 0.1}"))
    said = prereg("audit", lab.root).stdout
    assert "field hypotheses/H1/passes_if/difference/at_least: was 0.2, now 0.1" in said


def test_nothing_frozen_is_not_checked_and_not_clean(tmp_path: Path) -> None:
    assert isinstance(prereg("audit", tmp_path).exception, NotCheckedError)


def test_hostile_text_is_visible_in_the_page_and_the_terminal(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "repo")
    standard(lab)
    lab.deviation("H1", done="<script>alert(1)</script>\x1b[2J\u202e")
    page = tmp_path / "audit.html"
    done = prereg("audit", lab.root, "--html", page)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    html = page.read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "default-src 'none'" in html


def test_deviate_disclose_and_withdraw_write_one_log(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "repo")
    frozen(lab)
    folder = lab.root / "frozen/trial"
    done = prereg("deviate", folder, "--subject", "H1", "--occasion", "not-feasible", "--planned", "four", "--done", "three",
                  "--reason", "lost", "--timing", "data-not-seen", "--severity", "lower", "--validity", "unchanged")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert prereg("disclose", folder, "--who", "A", "--saw", "curves", "--at", "2026-03-01").exit_code == 0
    assert prereg("withdraw", folder, "--of", "D1", "--reason", "wrong study").exit_code == 0
    kinds = [json.loads(line)["kind"] for line in (folder / "deviations.jsonl").read_text().splitlines()]
    assert kinds == ["deviation", "disclosure", "withdrawal"]
    refused = CliRunner().invoke(cli, ["withdraw", str(folder), "--of", "D7", "--reason", "x"])
    assert refused.exception is not None
    assert len((folder / "deviations.jsonl").read_text().splitlines()) == 3


def test_a_log_beside_an_altered_plan_is_refused(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "repo")
    frozen(lab)
    (lab.root / "frozen/trial/plan.yaml").write_text("x")
    done = prereg("withdraw", lab.root / "frozen/trial", "--of", "plan", "--reason", "x")
    assert done.exception is not None
    assert not (lab.root / "frozen/trial/deviations.jsonl").exists()


def test_the_hook_refuses_edits_of_frozen_files(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "repo")
    frozen(lab)
    assert prereg("new", "--ci", lab.root).exit_code == 0
    lab.commit("hook").wait(DAY)
    lab._git("config", "core.hooksPath", ".githooks")
    path = lab.root / "frozen/trial/plan.yaml"
    path.write_text(path.read_text() + "# more\n")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        lab.commit("an edit")
    assert b"frozen files were edited" in refused.value.stderr


def test_the_table_of_findings_in_the_documentation_is_the_one_of_the_code() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("remake_findings", ROOT / "docs" / "remake_findings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "auditing.md").read_text()
    assert module.made(page) == page


def test_the_audit_of_this_repository_has_no_violation() -> None:
    done = prereg("audit", ROOT, "--json")
    assert [f for f in json.loads(done.stdout)["findings"] if f["severity"] == "violation"] == []

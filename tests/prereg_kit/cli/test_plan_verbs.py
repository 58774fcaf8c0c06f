"""`new`, `show`, `amend` and `decide` as a user types them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from prereg_kit.cli.main import cli
from prereg_kit.errors import PreregError
from prereg_kit.registers.file import sibling_of, write_register, write_runs
from prereg_kit.registers.formats import RunRow
from tests.plans import SMALL
from tests.prereg_kit.decision.test_decision import ONE, cell_rows


def prereg(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(cli, [str(each) for each in arguments], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, PreregError), done.exception
    return done


def error(done: Result) -> PreregError:
    assert isinstance(done.exception, PreregError), done.output
    return done.exception


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    plan = tmp_path / "plan.yaml"
    plan.write_text(SMALL)
    assert prereg("freeze", plan, "--root", tmp_path).exit_code == 0
    return tmp_path


def index(folder: Path, digests: Sequence[str]) -> Path:
    """An index with the runs of register 1 for every digest."""
    runs = []
    for number, digest in enumerate(digests):
        for arm in "tr":
            for seed in range(3):
                rows = [row for row in cell_rows(ONE) if row["arm"] == arm and row["seed"] == seed]
                name = f"{number}-{arm}{seed}"
                extra = {"condition": "c", "step": 0, "split": "test", "regime": "clean"}
                columns: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0]}
                columns |= {key: [value] * len(rows) for key, value in extra.items()} | {
                    "run_id": [name] * len(rows)
                }
                info = write_register(folder / f"{name}.parquet", "episodes", columns)
                sibling = sibling_of(folder / "runs.parquet", "episodes", info.path)
                runs.append(RunRow(name, f"study-{number}", digest, "c", arm, seed, registers=(sibling,)))
    write_runs(folder / "runs.parquet", runs)
    return folder / "runs.parquet"


def digest_of(repository: Path) -> str:
    record = json.loads((repository / "frozen/small/freeze.json").read_text())
    return record["document"]["sha256"]  # type: ignore[no-any-return]


AMENDMENT = """\
format: prereg.amendment/1
id: A1
plan: small
amends: {parent}
reason: the bound was mistyped
known: nothing_run
changes:
  - {{op: replace, field: hypotheses/H1/passes_if/difference/at_least, value: {bound}}}
"""


def test_new_writes_a_plan_that_reads_and_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    assert prereg("new", path, "--id", "mine").exception is None
    assert "id: mine" in path.read_text()
    assert prereg("show", path).exception is None
    before = path.read_bytes()
    assert "never overwritten" in str(error(prereg("new", path)))
    assert path.read_bytes() == before
    assert "field id" in str(error(prereg("new", tmp_path / "b.yaml", "--id", "no spaces")))
    assert not (tmp_path / "b.yaml").exists()


def test_show_says_whether_the_plan_is_frozen(repository: Path) -> None:
    assert "NOT FROZEN" not in prereg("show", repository / "frozen/small").output
    loose = repository / "other.yaml"
    loose.write_text(SMALL.replace("0.03", "0.04"))
    assert "NOT FROZEN" in prereg("show", loose).output
    shown = json.loads(prereg("show", repository / "frozen/small", "--json").stdout)
    assert shown["format"] == "prereg.show/1" and shown["frozen"] is True
    assert shown["plan"]["resampling"]["level"] == "0.95"


def test_an_absent_plan_is_not_checked() -> None:
    assert error(prereg("show", "nowhere.yaml")).exit_code == 3


def test_an_amendment_is_tried_before_it_is_frozen(repository: Path) -> None:
    path = repository / "A1.yaml"
    path.write_text(AMENDMENT.format(parent="0" * 64, bound="0.05"))
    assert "not here" in str(error(prereg("amend", path, "--root", repository)))
    path.write_text(AMENDMENT.format(parent=digest_of(repository), bound="x"))
    assert "not valid after amendment A1" in str(error(prereg("amend", path, "--root", repository)))
    assert not (repository / "amendments").exists()


def test_show_and_decide_use_the_plan_in_force_and_name_the_amendment(repository: Path) -> None:
    register = index(repository, [digest_of(repository)])
    before = json.loads(prereg("decide", "--register", register, "--root", repository, "--json").stdout)
    assert before["hypotheses"]["H1"]["outcome"] == "pass"
    path = repository / "A1.yaml"
    path.write_text(AMENDMENT.format(parent=digest_of(repository), bound="0.5"))
    assert prereg("amend", path, "--root", repository).exit_code == 0
    shown = prereg("show", repository / "frozen/small").output
    assert "this rule comes from amendment A1" in shown and "≥ 0.5" in shown
    after = json.loads(prereg("decide", "--register", register, "--root", repository, "--json").stdout)
    assert after["hypotheses"]["H1"]["outcome"] == "fail"
    assert after["hypotheses"]["H1"]["rule_from"] == "A1"
    assert [each["id"] for each in after["plan"]["amendments"]] == ["A1"]
    assert after["plan"]["digest"] == before["plan"]["digest"] == digest_of(repository)


def test_a_draft_names_the_parent(repository: Path) -> None:
    draft = prereg("amend", "--draft", repository / "frozen/small").output
    assert digest_of(repository) in draft and "id: A1" in draft
    assert error(prereg("amend")).exit_code == 2


def test_an_amendment_whose_bytes_changed_stops_the_decision(repository: Path) -> None:
    register = index(repository, [digest_of(repository)])
    path = repository / "A1.yaml"
    path.write_text(AMENDMENT.format(parent=digest_of(repository), bound="0.5"))
    prereg("amend", path, "--root", repository)
    frozen = repository / "amendments/small-A1/A1.yaml"
    frozen.write_text(frozen.read_text().replace("0.5", "0.1"))
    assert "A1.yaml" in str(error(prereg("decide", "--register", register, "--root", repository)))


def test_a_plan_whose_bytes_changed_is_refused_with_both_digests(repository: Path) -> None:
    frozen = repository / "frozen/small/plan.yaml"
    digest = digest_of(repository)
    frozen.write_text(SMALL.replace("0.03", "0.01"))
    found = str(error(prereg("show", repository / "frozen/small")))
    assert digest in found


def test_a_register_that_names_several_plans_asks_which(repository: Path) -> None:
    other = repository / "other.yaml"
    other.write_text(SMALL.replace("id: small", "id: other").replace("0.03", "0.9"))
    prereg("freeze", other, "--root", repository)
    second = json.loads((repository / "frozen/other/freeze.json").read_text())["document"]["sha256"]
    register = index(repository, [digest_of(repository), second])
    refused = error(prereg("decide", "--register", register, "--root", repository))
    assert (refused.exit_code, "other" in str(refused), "small" in str(refused)) == (2, True, True)
    for plan, outcome in (("small", "pass"), ("other", "fail")):
        done = prereg("decide", "--register", register, "--plan", repository / "frozen" / plan, "--json")
        assert json.loads(done.stdout)["hypotheses"]["H1"]["outcome"] == outcome


def test_an_index_without_runs_of_the_plan_is_refused(repository: Path) -> None:
    register = index(repository, ["f" * 64])
    assert error(prereg("decide", "--register", register, "--root", repository)).exit_code == 3
    refused = error(prereg("decide", "--register", register, "--plan", repository / "frozen/small"))
    assert refused.exit_code == 1


def test_results_are_never_overwritten_and_the_exit_code_is_asked_for(repository: Path) -> None:
    register = index(repository, [digest_of(repository)])
    out = repository / "out"
    done = prereg("decide", "--register", register, "--root", repository, "--out", out)
    assert done.return_value == 0
    assert json.loads((out / "curves.json").read_text())["format"] == "prereg.curves/1"
    before = (out / "verdicts.json").read_bytes()
    assert error(prereg("decide", "--register", register, "--root", repository, "--out", out)).exit_code == 1
    assert (out / "verdicts.json").read_bytes() == before
    loose = repository / "strict.yaml"
    loose.write_text(SMALL.replace("0.03", "0.9"))
    rows = repository / "rows.csv"
    pd.DataFrame(cell_rows(ONE)).to_csv(rows, index=False)
    assert prereg("decide", "--register", rows, "--plan", loose).return_value == 0
    assert prereg("decide", "--register", rows, "--plan", loose, "--exit-code").return_value == 1
    loose.write_text(SMALL)
    assert prereg("decide", "--register", rows, "--plan", loose, "--exit-code").return_value == 0


def test_an_unfrozen_plan_is_labelled_in_every_output(repository: Path) -> None:
    loose, rows = repository / "loose.yaml", repository / "rows.csv"
    loose.write_text(SMALL.replace("0.03", "0.02"))
    pd.DataFrame(cell_rows(ONE)).to_csv(rows, index=False)
    assert "NOT FROZEN" in prereg("decide", "--register", rows, "--plan", loose).output
    out = repository / "out"
    prereg("decide", "--register", rows, "--plan", loose, "--out", out)
    for form in ("md", "html", "latex"):
        assert "NOT FROZEN" in prereg("render", out / "verdicts.json", "--format", form).output


def test_another_study_of_the_index_blocks_nothing_and_rows_used_are_those_of_each_file(
    repository: Path,
) -> None:
    register = index(repository, [digest_of(repository), "f" * 64])
    (repository / "1-t0.parquet").write_bytes(b"PAR1 altered")
    (repository / "1-r1.parquet").unlink()
    done = prereg("decide", "--register", register, "--root", repository, "--json")
    found = json.loads(done.stdout)
    assert found["hypotheses"]["H1"]["outcome"] == "pass"
    assert [(each["rows"], each["used"]) for each in found["registers"]] == [(4, 4)] * 6
    rows = repository / "rows.csv"
    pd.DataFrame([*cell_rows(ONE), {**cell_rows(ONE)[0], "arm": "other"}]).to_csv(rows, index=False)
    done = prereg("decide", "--register", rows, "--plan", repository / "plan.yaml", "--json")
    (used,) = json.loads(done.stdout)["registers"]
    assert (used["format"], used["rows"], used["used"]) == ("csv", 25, 24)


def test_rows_without_a_plan_ask_for_one(repository: Path) -> None:
    rows = repository / "rows.csv"
    pd.DataFrame(cell_rows(ONE)).to_csv(rows, index=False)
    assert error(prereg("decide", "--register", rows)).exit_code == 2

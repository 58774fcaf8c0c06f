"""The public functions as a type checker and as a caller see them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prereg_kit
from prereg_kit import Authorities, amend, freeze, render, verify
from prereg_kit.errors import UsageError
from prereg_kit.operations.amend import draft
from tests.plans import SMALL

ROOT = Path(__file__).parents[2]
SCRIPT = """\
from prereg_kit import amend, check, decide, freeze, load_plan, render, renew, stamp, verify
reveal_type(freeze("plan.yaml"))
reveal_type(amend("a.yaml").changes)
reveal_type(stamp("frozen/x").exit_code)
reveal_type(verify(quorum=2).documents[0].required)
reveal_type(render("verdicts.json", "html"))
reveal_type(decide("plan.yaml", "rows.csv").verdicts)
reveal_type(check("plan.yaml"))
reveal_type(load_plan("plan.yaml"))
freeze("plan.yaml", quorum="3")
verify(rot=".")
"""


def test_a_type_checker_sees_every_signature(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--no-pretty", str(script)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    revealed = dict(re.findall(r"script\.py:(\d+): note: Revealed type is \"(.*)\"", done.stdout))
    assert revealed == {
        "2": "prereg_kit.operations.freeze.FreezeResult",
        "3": "tuple[str, ...]",
        "4": "int",
        "5": "int",
        "6": "str",
        "7": "prereg_kit.decision.verdict.Verdicts",
        "8": "prereg_kit.design.plan_check.CheckReport",
        "9": "prereg_kit.evidence.frozen_plans.LoadedPlan",
    }, done.stdout + done.stderr
    errors = dict(re.findall(r"script\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout))
    assert errors == {"10": "arg-type", "11": "call-arg"}


def test_every_public_name_is_listed_typed_and_loads() -> None:
    assert dir(prereg_kit) == sorted(prereg_kit.__all__)
    source = Path(prereg_kit.__file__).read_text()
    typed = re.findall(r"\w+", " ".join(re.findall(r"^    from \S+ import (.*)$", source, re.MULTILINE)))
    assert sorted(typed) == sorted(set(prereg_kit.__all__) - {"__version__"})
    assert all(getattr(prereg_kit, name) is not None for name in prereg_kit.__all__)
    with pytest.raises(AttributeError, match="no attribute 'unfreeze'"):
        prereg_kit.unfreeze  # noqa: B018 - the access is the test


def test_freezing_amending_and_verifying_from_python(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(SMALL)
    said: list[str] = []
    frozen = freeze(plan, root=tmp_path, authorities=Authorities(demo=True), say=said.append)
    assert (frozen.exit_code, frozen.existed, frozen.demo) == (0, False, True)
    assert frozen.document.folder == tmp_path / "frozen/small"
    assert any("NO EVIDENTIAL VALUE" in line for line in said)
    text = draft(tmp_path / "frozen/small", tmp_path)
    file = tmp_path / "A1.yaml"
    file.write_text(text)
    with pytest.raises(prereg_kit.PreregError, match="nobody has replaced"):
        amend(file, root=tmp_path)
    file.write_text(re.sub(r"<[^>]*>", "words", text).replace("op: replace", "op: add"))
    assert amend(file, root=tmp_path).changes == ("add hypotheses/H1/statement",)
    found = verify(tmp_path)
    assert [report.status for report in found.documents] == ["demo", "not stamped"]
    assert not found.ok
    assert found.exit_code(allow_demo=True, allow_unstamped=True) == 0
    with pytest.raises(UsageError, match="quorum|number of operators"):
        verify(tmp_path, quorum=0)


def test_render_takes_verdicts_or_their_file(tmp_path: Path) -> None:
    golden = ROOT / "tests/golden/report"
    files = sorted(golden.rglob("*verdicts*.json"))
    assert files
    from prereg_kit import report

    assert render(files[0], "csv") == render(report.load(files[0]), "csv")

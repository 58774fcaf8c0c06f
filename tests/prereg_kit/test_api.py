"""The front door: frames or paths in, verdicts out, displayed."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

from prereg_kit import Plan, check, decide, load_plan
from tests.plans import SMALL
from tests.prereg_kit.decision.test_decision import ONE, cell_rows

FRAME = pd.DataFrame(cell_rows(ONE))


def test_bytes_paths_loaded_plans_and_plans_in_code_decide_alike(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(SMALL)
    plan = load_plan(path)
    results = [
        decide(each, {"episodes": FRAME})
        for each in (SMALL.encode(), path, str(path), plan, plan.effective.plan)
    ]
    assert len({result.verdicts.hypotheses["H1"].model_dump_json() for result in results}) == 1
    assert all("PLAN NOT FROZEN" in result.verdicts.labels[0] for result in results)


def test_paths_and_frames_decide_alike(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    FRAME.to_parquet(tmp_path / "rows.parquet")
    results = [decide(SMALL.encode(), each).verdicts.hypotheses for each in
               ({"episodes": FRAME}, tmp_path / "rows.csv", [str(tmp_path / "rows.parquet")])]  # fmt: skip
    assert results[0] == results[1] == results[2]


def test_a_plan_built_in_code() -> None:
    plan = Plan.model_validate(
        {
            "id": "coded",
            "arms": {"treatment": "t", "reference": "r"},
            "endpoints": {"e": {"register": "episodes", "value": "true_success"}},
            "hypotheses": {"H": {"passes_if": {"difference": {"endpoint": "e", "above": 0.3}}}},
        }
    )
    assert decide(plan, {"episodes": FRAME}).verdicts.hypotheses["H"].outcome == "pass"


def test_the_table_is_a_frame_and_a_safe_page() -> None:
    hostile = SMALL.replace("  H1:\n", "  H1:\n    statement: <script>alert(1)</script>\n").replace(
        "id: small", "id: small\ntitle: <b>x</b>"
    )
    result = decide(hostile.encode(), {"episodes": FRAME})
    frame = result.to_frame()
    assert frame.loc["H1", "outcome"] == "pass"
    assert frame.loc["H1", "estimate"] == 1 / 3

    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Reader().feed(result._repr_html_())
    assert set(tags) <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td", "br", "small"}


def test_check_takes_a_plan_and_a_sample() -> None:
    assert check(SMALL.encode()).ok
    assert check(SMALL.encode(), {"episodes": FRAME}).ok

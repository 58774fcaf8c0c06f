"""Reports: what is printed for a number, a word and a hostile name, in every format and on a terminal."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from prereg_kit import report
from prereg_kit.cli.verdict_text import print_verdicts
from prereg_kit.decision.verdict import (
    Clause,
    Figure,
    Interval,
    PlanRef,
    Reason,
    Stability,
    Verdict,
    Verdicts,
)
from prereg_kit.errors import DocumentError, NotCheckedError, UsageError
from prereg_kit.foundation.visible import one_line, visible
from prereg_kit.report import formats, geometry, rounding, spread
from prereg_kit.report.flat_outcomes import HEADINGS
from prereg_kit.report.formats.csv import csv_text
from prereg_kit.report.formats.latex import latex
from prereg_kit.report.formats.markdown import markdown
from prereg_kit.report.page import build

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
EXAMPLE = report.load(GOLDEN / "verdicts.json")
quick = settings(max_examples=150, derandomize=True, deadline=None)
names = st.text(
    st.characters(codec="utf-8")
    | st.sampled_from("\\{}[]()<>&|`*_~#$%^\"'=+-@!:;,. \n\t\r\u202e\x1b\x00≥−µ"),
    max_size=40,
)


def one(verdict: Verdict | None = None, name: str = "H1", **plan: object) -> Verdicts:
    given = {"id": "p", "digest": "0" * 64, "frozen": True} | plan
    return Verdicts(
        evaluator="e",
        plan=PlanRef(**given),  # type: ignore[arg-type]
        hypotheses={name: verdict or Verdict(outcome="pass")},
    )


# --- rounding -------------------------------------------------------------------------------------------------


@quick
@given(st.integers(-3_000_000, 3_000_000), st.integers(1, 99_999))
def test_a_printed_proportion_is_the_fraction_rounded_half_to_even(top: int, bottom: int) -> None:
    exact = Fraction(top, bottom)
    if abs(exact) < 10**6:
        assert Fraction(rounding.digits(float(exact))) == round(
            exact, 4
        )  # Fraction.__round__: half to even, exact


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00125, "proportion", "0.0012"),  # 0.00125 as a float lies above the tie; the decimal does not
        (0.00135, "proportion", "0.0014"),
        (82 / 800 * 100, "pp", "10.25"),
        (5.375, "pp", "5.38"),
        (5.365, "pp", "5.36"),
        (-0.00001, "proportion", "-0.0000"),  # a sign is a fact that rules ask about
        (-0.0, "proportion", "0.0000"),
        (3.0, "steps", "3"),
        (95.41, "steps", "95.41"),
        (0.00012345, "nats", "1.234e-4"),
        (123456789.5, "nats", "1.235e+8"),
        (1e300, None, "1.000e+300"),
    ],
)
def test_digits(value: float, unit: str | None, text: str) -> None:
    assert rounding.digits(value, unit) == text


def test_only_a_positive_number_gets_a_plus_sign() -> None:
    assert [rounding.digits(v, signed=True) for v in (0.5, -0.5, 0.0)] == ["+0.5000", "-0.5000", "0.0000"]


def test_value_is_printed_and_never_reconciled_with_exact() -> None:
    made = one(Verdict(outcome="pass", estimate=Figure(value=0.5, exact="1/3")))
    for output in report.FORMATS:
        text = report.render(made, output)
        assert "0.5000" in text
        assert "0.3333" not in text


def test_levels_keep_their_digits() -> None:
    assert [rounding.level(v) for v in (0.95, 0.9, 0.999, 1 / 3)] == [
        "95 %",
        "90 %",
        "99.9 %",
        "33.33333333333333 %",
    ]


# --- the words ------------------------------------------------------------------------------------------------


def test_rule_outcome_and_effect_are_different_columns_and_reported_is_said() -> None:
    page = build(EXAMPLE)
    rows = {row.name: row for row in page.rows}
    assert (rows["H3"].verdict, rows["H3"].established) == ("pass", "no")
    assert (rows["H5"].verdict, rows["H5"].outcome) == ("pass (reported)", "pass")
    assert rows["H9"].established == "yes"
    assert rows["H4"].established == "-"
    assert rows["H2b"].rule_from == "A1"
    assert [row.name for row in page.rows if row.hypothesis == "H2b"] == ["H2b", "H2b (reading: literal)"]
    assert rows["H2b"].reading == "primary"
    assert "degenerate" in rows["H9"].interval


def test_summaries_count_reported_passes_apart() -> None:
    tiles = {words: count for words, count, _ in build(EXAMPLE).tiles}
    assert tiles["pass"] == 3
    assert tiles["pass (reported)"] == 2
    assert sum(tiles.values()) == len(EXAMPLE.hypotheses)
    assert "2 met, of which 1 on reported figures" in build(EXAMPLE).prediction_summary


@pytest.mark.parametrize("output", ["md", "html", "latex"])
def test_an_unfrozen_plan_is_announced_even_if_no_label_says_so(output: report.Format) -> None:
    assert "PLAN NOT FROZEN" in report.render(one(frozen=False), output)
    assert "NOT FROZEN" not in report.render(one(frozen=True), output)
    assert "etrospective" in report.render(one(kind="retrospective"), output)


def test_a_label_is_shown_once() -> None:
    made = one(frozen=False).model_copy(update={"labels": ("unfrozen plan",)})
    assert build(made).banners == ("unfrozen plan",)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("seed 1: -0.0016 is not above 0", "Seed 1: -0.0016 is not above 0."),
        ("P3 was not run.", "P3 was not run."),
        ("c2_auc has no rows", "c2_auc has no rows."),  # a name is not capitalised
    ],
)
def test_reasons_become_sentences(message: str, sentence: str) -> None:
    verdict = Verdict(outcome="fail", reasons=(Reason(code="bound-not-met", message=message),))
    assert build(one(verdict)).rows[0].reasons == (sentence,)


def test_a_clause_on_another_endpoint_does_not_take_the_verdicts_unit() -> None:
    other = Clause(criterion="estimate", words="w", outcome="pass", endpoint="b", estimate=Figure(value=0.5))
    row = build(one(Verdict(outcome="pass", endpoint="a", unit="pp", clauses=(other,)))).rows[0]
    assert row.clauses[0].found == "0.5000"


# --- reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_by_field(tmp_path: Path, number: str) -> None:
    text = json.dumps(one(Verdict(outcome="pass", estimate=Figure(value=0.12345))).to_json()).replace(
        "0.12345", number
    )
    (tmp_path / "v.json").write_text(text)
    with pytest.raises(DocumentError, match=r"hypotheses\.H1\.estimate\.value.*finite"):
        report.load(tmp_path / "v.json")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff{}", "not UTF-8"),
        (b'{"a": 1,,}', "v.json:1: not JSON"),
        (b'{"format": "prereg.verdicts/1", "format": "prereg.verdicts/1"}', "stands twice"),
        (b'{"format": "prereg.verdicts/2"}', "prereg.verdicts/2"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[]", "not a verdicts file"),
        (b'{"format": "prereg.verdicts/1", "evaluator": "e", "plan": {"id": "p"}}', "plan.digest"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "v.json").write_bytes(data)
    with pytest.raises(DocumentError) as caught:
        report.load(tmp_path / "v.json")
    assert words in str(caught.value)


def test_an_absent_file_was_not_checked(tmp_path: Path) -> None:
    with pytest.raises(NotCheckedError):
        report.load(tmp_path / "absent.json")


def test_what_is_written_reads_back_even_where_a_gate_is_unknown() -> None:
    assert report.load(GOLDEN / "verdicts.json").gates["gate3"].holds is None


def test_reading_and_printing_on_a_terminal_load_no_template_engine() -> None:
    code = "import sys, prereg_kit.report, prereg_kit.cli.verdict_text; sys.exit('jinja2' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[3]).returncode
        == 0
    )


def test_unknown_format_and_table() -> None:
    with pytest.raises(UsageError):
        report.render(EXAMPLE, "pdf")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        report.render(EXAMPLE, "csv", table="secrets")


# --- golden files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "name"),
    [("md", "page.md"), ("latex", "page.tex"), ("csv", "outcomes.csv"), ("html", "page.html")],
)
def test_golden(output: report.Format, name: str) -> None:
    assert report.render(EXAMPLE, output).encode() == (GOLDEN / name).read_bytes()


def test_every_format_shows_every_figure_of_the_example() -> None:
    for output in report.FORMATS:
        text = report.render(EXAMPLE, output).replace("$", "")
        for shown in ("0.0370", "-0.0016", "-0.0039", "0.0780", "5.38", "12.15", "0.5582", "-0.0133"):
            assert shown in text, (output, shown)


# --- Markdown, read back by an independent parser -----------------------------------------------------------------


def _cells(text: str) -> list[list[str]]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    rows: list[list[str]] = []
    for before, token in pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if before.type in {"td_open", "th_open"} and token.type == "inline":
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special"}, kinds  # no emphasis, link, image, code, HTML or break
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows


@quick
@given(names, names)
def test_markdown_cells_are_the_text_and_nothing_else(first: str, second: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {markdown(first)} | {markdown(second)} |\n"
    rows = _cells(table)
    wanted = [re.sub(r"\s+", " ", one_line(visible(text))) for text in (first, second)]
    assert [re.sub(r"\s+", " ", cell).strip() for cell in rows[1]] == [cell.strip() for cell in wanted]


def test_markdown_of_hostile_names_keeps_its_rows() -> None:
    name = "a | b\n| c | <img src=x> `d` **e** [f](http://g) ![h](i) $j$ @k www.l.m"
    rows = _cells(report.render(one(Verdict(outcome="pass", rule=name), name), "md"))
    assert all(len(row) == len(rows[0]) for row in rows[:2])
    assert rows[1][0] == rows[1][1] == " ".join(name.split())
    for live in ("<img", "http://", "$j$", "@k", "www.l"):
        assert live not in report.render(one(name=name), "md")


def test_template_text_in_names_is_text_in_every_format() -> None:
    for output in report.FORMATS:
        text = html.unescape(report.render(one(name="{{ 7 * 7 }}{% raw %}", digest="a"), output)).replace(
            "\\", ""
        )
        assert "{{ 7 * 7 }}{% raw %}" in text.replace("{*}", "*")
        assert "49" not in re.sub(r"sha256-\S+|<style>.*?</style>", "", text, flags=re.DOTALL)


# --- HTML -----------------------------------------------------------------------------------------------------


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, name) for name, _ in attrs} | {(tag, "")}

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    return page


_PLAIN = _read(
    report.render(one(Verdict(outcome="pass", rule="r", statement="s", endpoint="e"), "n", path="q"), "html")
)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(names)
def test_no_element_or_attribute_comes_from_data(name: str) -> None:
    hostile = name + "\"><script>alert(1)</script><img src=x onerror=alert(2)>' onload='x"
    verdict = Verdict(outcome="pass", rule=hostile, statement=hostile, endpoint=hostile)
    found = _read(report.render(one(verdict, hostile, path=hostile), "html", title=hostile))
    assert found.found - _PLAIN.found <= {
        ("ul", "aria-label"),
        ("ul", "class"),
        ("ul", ""),
        ("li", ""),
    }  # a banner
    assert visible(hostile) in found.text


def test_the_page_holds_no_script_and_loads_nothing() -> None:
    text = report.render(EXAMPLE, "html")
    found = _read(text).found
    tags = {tag for tag, _ in found}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"}
    assert not {name for _, name in found} & {"src", "href", "style", "srcset", "action"}
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_the_policy_allows_this_style_sheet_and_no_other() -> None:
    import base64
    import hashlib

    text = report.render(EXAMPLE, "html")
    sheet = text.split("<style>")[1].split("</style>")[0]
    assert f"sha256-{base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()}" in text


def test_headings_are_named_and_plots_are_described() -> None:
    text = report.render(EXAMPLE, "html")
    assert len(re.findall(r'<svg height="\d+" role="img" aria-label="[^"]+"', text)) >= 9
    assert re.search(r'aria-label="H2a: fail; estimate \+0.0370; interval 95 % \[-0.0039, \+0.0780\]', text)
    assert text.count('<th scope="col"') >= 20
    assert "<html lang=" in text


def test_hidden_characters_are_announced_and_controls_written_out() -> None:
    text = report.render(one(name="a\u202eb\x1b[2Jc"), "html")
    assert "U+202E" in build(one(name="a\u202eb")).banners[0]
    assert "U+202E" in build(one(), "a\u202eb").banners[0]
    assert build(one()).banners == ()
    assert "\x1b" not in text
    assert "[U+001B]" in text


def test_the_check_commands_cannot_be_left_by_a_name() -> None:
    text = html.unescape(report.render(one(path="x\nEND\nrm -rf ~"), "html"))
    lines = text.split("<pre>")[1].split("</pre>")[0].splitlines()
    assert [line for line in lines if line.startswith(("END", "rm"))] == ["END"]
    assert lines[-1] == "END"


# --- LaTeX ----------------------------------------------------------------------------------------------------


@quick
@given(names)
def test_latex_leaves_no_special_character_bare(name: str) -> None:
    text = latex(name)
    assert "\n" not in text
    known = (
        r"\\(?:[&%$#_{}]|textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl"
        r"|textquotesingle|textasciigrave|preregsplit|text[a-z]+|[A-Z]|l?dots|d?dag)(?:\{[^{}]*\})?|\$[^$]+\$|\{[]*[]\}|\{\}"
    )
    rest = re.sub(known, "", text)
    assert not re.search(r"[\\{}$&#^_%~]", rest.replace("{[}", "").replace("{]}", "")), (name, text, rest)


def test_latex_rows_have_the_same_separators() -> None:
    text = report.render(EXAMPLE, "latex")
    tables = re.findall(r"\\begin\{longtable\}(.*?)\\end\{longtable\}", text, flags=re.DOTALL)
    assert len(tables) == 6
    for table in tables:
        rows = [line for line in table.splitlines() if line.endswith("\\\\")]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1
        assert len(rows) > 1


def test_latex_signs_ligatures_and_long_words() -> None:
    assert latex("≥ 3 − µ -0.5 a--b 中") == "$\\geq$ 3 $-$ \\textmu{} $-0.5$ a-{}-b {[}U+4E2D{]}"
    assert latex("e\u0301") == "é"
    assert latex("[a]*") == "{[}a{]}{*}"  # after a row's end these would be read as its options
    assert latex("a" * 64) == "\\preregsplit{" + "a" * 64 + "}"


# --- CSV ------------------------------------------------------------------------------------------------------


@quick
@given(st.lists(names, min_size=1, max_size=4, unique=True))
def test_csv_reads_back_and_starts_no_formula(found: list[str]) -> None:
    made = one().model_copy(
        update={"hypotheses": {name: Verdict(outcome="pass", rule=name) for name in found}}
    )
    text = report.render(made, "csv")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == len(found) + 1
    assert {len(row) for row in rows} == {len(HEADINGS)}
    assert text.endswith("\r\n")
    for name, row in zip(found, rows[1:], strict=True):
        cell = row[0]
        assert cell.removeprefix("'") == visible(name).removeprefix("'") or name == "-"
        if not re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", cell, flags=re.ASCII):
            assert cell.lstrip(" \u00a0")[:1] not in set("=+-@\t\r\n＝＋－＠") or not cell.strip()


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "  =1", "＝1", "\r=1"])
def test_csv_neutralises_formulas(name: str) -> None:
    assert csv_text(name) == "'" + name


def test_csv_numbers_stay_numbers_and_words_stay_bare() -> None:
    rows = list(csv.DictReader(io.StringIO(report.render(EXAMPLE, "csv"), newline="")))
    by = {(row["hypothesis"], row["reading"]): row for row in rows}
    assert by["H2a", ""]["interval_lower"] == "-0.0039"
    assert by["H5", ""]["outcome"] == "pass"
    assert by["H5", ""]["evidence"] == "reported"
    assert by["H4", ""]["outcome"] == "not_run"
    assert by["H2b", "literal"]["estimate_exact"] == "1/384"


@pytest.mark.parametrize("table", report.TABLES)
def test_every_table_as_csv(table: str) -> None:
    rows = list(csv.reader(io.StringIO(report.render(EXAMPLE, "csv", table=table), newline=""), strict=True))
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1


# --- plots ----------------------------------------------------------------------------------------------------


@quick
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_marks_lie_on_the_panel_and_in_order(a: float, b: float, c: float) -> None:
    low, middle, high = sorted((a, b, c))
    interval = Interval(level=0.95, lower=low, upper=high, engine="exact")
    panels = geometry.forest(
        build(one(Verdict(outcome="pass", estimate=Figure(value=middle), interval=interval)))
    )
    row = panels[0].rows[0]
    assert row.interval is not None
    assert row.estimate is not None
    assert 0 <= row.interval[0] <= row.estimate <= row.interval[1] <= 100
    assert 1 <= len(panels[0].ticks) <= 8
    assert all(0 <= tick.x <= 100 for tick in panels[0].ticks)


def test_units_and_sizes_have_panels_of_their_own() -> None:
    panels = geometry.forest(build(EXAMPLE))
    assert [[line.row.name for line in panel.rows] for panel in panels] == [
        ["H1a", "H7"],
        ["H1b[A]"],
        ["H2a", "H2b", "H2b (reading: literal)", "H6"],
        ["H9"],
        ["H3", "H5"],
    ]
    assert all(panel.axis for panel in panels)


def test_bounds_are_marked_where_they_are() -> None:
    panel = geometry.forest(build(EXAMPLE))[2]
    line = panel.rows[0]
    assert [mark.label for mark in line.bounds] == ["0.03", "0"]
    assert line.bounds[1].x == panel.zero
    ticks = {tick.label: tick.x for tick in panel.ticks}
    assert ticks["0.025"] < line.bounds[0].x < ticks["0.050"]


def test_a_bound_on_another_endpoint_is_not_drawn_on_this_one() -> None:
    clauses = tuple(
        Clause(criterion="difference", words="w", outcome="pass", endpoint=name, bounds=(Figure(value=at),))
        for name, at in (("a", 0.1), ("b", 0.9))
    )
    verdict = Verdict(outcome="pass", endpoint="a", estimate=Figure(value=0.2), clauses=clauses)
    assert [mark.label for mark in geometry.forest(build(one(verdict)))[0].rows[0].bounds] == ["0.1"]


def test_dots_of_equal_confidence_do_not_overlap() -> None:
    dots = geometry.calibration(build(EXAMPLE))
    assert {(dot.row.name, dot.met) for dot in dots} == {("P1", True), ("P4", True), ("P2", False)}
    many = build(
        EXAMPLE.model_copy(update={"predictions": {str(i): EXAMPLE.predictions["P1"] for i in range(4)}})
    )
    assert [dot.lane for dot in geometry.calibration(many)] == [0, 1, 2, 3]


def test_the_timeline_needs_times() -> None:
    line = geometry.timeline(build(EXAMPLE))
    assert line is not None
    assert [bar.run.run_id for bar in line.bars][:2] == ["c2-paired-s0", "c2-independent-s0"]
    assert line.freeze is not None
    assert line.freeze.x < line.bars[0].x
    assert geometry.timeline(build(one())) is None
    broken = EXAMPLE.ledger[0].model_copy(update={"started_at": "2026-99-99T00:00:00Z"})
    assert geometry.timeline(build(EXAMPLE.model_copy(update={"ledger": (broken,)}))) is None


# --- terminal -------------------------------------------------------------------------------------------------


def _printed(verdicts: Verdicts, width: int, *, color: bool = False) -> str:
    out = io.StringIO()
    print_verdicts(
        verdicts, Console(file=out, width=width, force_terminal=color, highlight=False, markup=False)
    )
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_tables_fit_the_terminal(width: int) -> None:
    lines = _printed(EXAMPLE, width).splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for whole in (
        "95 % [-0.0039, +0.0780]",
        "✓ pass (reported)",
        "? not evaluable",
        "90 % [-0.37, +5.25] pp",
    ):
        assert whole in text, whole
    assert "0: +0.0538" in text


def test_words_stay_without_colour_and_colour_is_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in _printed(EXAMPLE, 80, color=True)
    assert "\x1b[" not in _printed(EXAMPLE, 80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", _printed(EXAMPLE, 80, color=True))


def test_a_name_cannot_command_the_terminal_or_break_the_table() -> None:
    text = _printed(one(name="[red]\x1b]0;x\x07" + "y" * 300), 80)
    assert "\x1b" not in text
    assert "[red]" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_parts_of_a_gap_of_means_are_no_dots_among_differences() -> None:
    parts = {"after": Figure(value=0.589375), "before": Figure(value=0.481875)}
    clause = Clause(criterion="difference", words="w", outcome="pass", endpoint="e", per_unit=parts)
    gap = Verdict(
        outcome="pass", endpoint="e", unit="proportion", estimate=Figure(value=0.1075), clauses=(clause,)
    )
    rows = [line for panel in geometry.forest(build(one(gap))) for line in panel.rows]
    assert [line.dots for line in rows] == [()]
    level = gap.model_copy(update={"clauses": (clause.model_copy(update={"criterion": "estimate"}),)})
    rows = [line for panel in geometry.forest(build(one(level))) for line in panel.rows]
    assert [len(line.dots) for line in rows] == [2]


# --- numbers near a bound, many values, narrow and plain terminals ------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bound", "unit", "text"),
    [
        (3.27886, 3.279106, "nats", "3.2789"),  # both read 3.28 with two decimals, and one passes
        (3.27925, 3.279106, "nats", "3.2792"),
        (5.002, 5.0, "pp", "5.002"),
        (3.279106, 3.279106, "nats", "3.279106"),  # equal, and 3.28 would read as above
        (5.0, 5.0, "pp", "5.00"),  # equal to its bound: no digit tells them apart
        (-0.00001, 0.0, "proportion", "-0.00001"),
        (1e-17, 0.0, "proportion", "1.000e-17"),
        (123456789.5, 123456789.0, "nats", "1.23456790e+8"),
        (0.7, 0.03, "proportion", "0.7000"),  # far from its bound: as everywhere
    ],
)
def test_a_number_has_the_digits_that_tell_it_from_its_bound(
    value: float, bound: float, unit: str, text: str
) -> None:
    assert rounding.digits(value, unit, beside=(bound,)) == text


@quick
@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.sampled_from(["pp", "proportion", "nats"]))
def test_printed_value_and_bound_never_change_places(value: float, bound: float, unit: str) -> None:
    shown = Fraction(rounding.digits(value, unit, beside=(bound,)))
    exact = Fraction(rounding.bound(Figure(value=bound)))
    assert exact == Fraction(repr(bound))
    assert (shown > exact) == (Fraction(repr(value)) > exact)
    assert (shown < exact) == (Fraction(repr(value)) < exact)


@pytest.mark.parametrize("output", report.FORMATS)
def test_pass_and_fail_beside_a_bound_read_differently_in_every_format(output: report.Format) -> None:
    def loss(value: float, outcome: str) -> Verdict:
        clause = Clause(
            criterion="estimate", words="loss at most 3.279106", outcome="pass", endpoint="loss",
            estimate=Figure(value=value), bounds=(Figure(value=3.279106),),
        )  # fmt: skip
        return Verdict(outcome=outcome, endpoint="loss", unit="nats", estimate=Figure(value=value), clauses=(clause,))  # type: ignore[arg-type]  # fmt: skip

    for value, shown in ((3.27886, "3.2789"), (3.27925, "3.2792")):
        text = report.render(one(loss(value, "pass")), output).replace("$", "")
        assert shown in text
        assert "3.279106" in text
        assert "3.28 nats" not in text


def test_many_pairs_become_a_summary_whose_numbers_are_the_values_own() -> None:
    values = {str(i): Figure(value=i / 100) for i in range(-1000, 1000)}
    row = build(one(Verdict(outcome="pass", endpoint="e", unit="pp", per_seed=values))).rows[0]
    assert dict(row.per_seed) == {
        "values": "2000",
        "least": "-10.00 pp",
        "lower quartile": "-5.01 pp",  # the 500th of 2000
        "median": "-0.01 pp",
        "upper quartile": "+4.99 pp",
        "greatest": "+9.99 pp",
        "below, at, above 0": "1000, 1, 999",
    }
    bins = spread.histogram(values)
    assert sum(each.count for each in bins) == 2000
    assert max(each.height for each in bins) == 1
    rows = list(
        csv.reader(
            io.StringIO(report.render(one(row.source), "csv", table="values"), newline=""), strict=True
        )
    )
    assert len(rows) == 2001  # all of them stand in a table of their own


@pytest.mark.parametrize("output", report.FORMATS)
def test_two_thousand_pairs_do_not_make_two_thousand_lines(output: report.Format) -> None:
    values = {f"pair{i}": Figure(value=i / 7) for i in range(2000)}
    clause = Clause(criterion="every_seed", words="w", outcome="pass", endpoint="e", per_unit=values)
    text = report.render(
        one(Verdict(outcome="pass", endpoint="e", per_seed=values, clauses=(clause,))), output
    )
    assert "pair1999" not in text
    assert "2000" in text
    assert len(text) < 60_000


@pytest.mark.parametrize("width", [20, 34, 40, 50, 59, 60, 70, 80, 110, 200])
def test_a_narrow_terminal_keeps_names_and_whole_numbers(width: int) -> None:
    lines = _printed(EXAMPLE, width).splitlines()
    assert max(len(line) for line in lines if "SHA-256" not in line and "17a8c94" not in line) <= width
    text = " ".join(" ".join(lines).split())
    for name in ("H1b[A]", "H2b", "(primary)", "literal", "H9"):
        assert name in text, name
    for number in ("[-0.0039, +0.0780]", "[-6.31, +17.06] pp", "+0.0588"):
        if width >= 34:
            assert number in text, number


def test_a_word_longer_than_the_line_is_cut_with_a_mark() -> None:
    text = _printed(one(name="x" * 50), 30)
    assert "x" * 29 + "\\\n" in text


def _ascii(verdicts: Verdicts) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_verdicts(verdicts, Console(file=file, width=80, highlight=False, markup=False))
    file.flush()
    file.seek(0)
    return file.read()


def test_an_ascii_terminal_gets_the_whole_table() -> None:
    text = _ascii(EXAMPLE)
    assert "+ pass (reported)" in text
    assert "x fail" in text
    assert ">= 0.03" in text
    assert "Rows that no endpoint uses were counted" in text  # the last note
    assert "[U+4E2D]" in _ascii(one(name="中"))
    names = [line for line in text.splitlines() if line.startswith("H")]
    assert len({found.start() for line in names if (found := re.search(r"\|[+x~o0?] ", line))}) == 1


def test_every_format_says_both_intervals_and_their_engines() -> None:
    for output in report.FORMATS:
        text = report.render(EXAMPLE, output).replace("$", "")
        for needed in ("-0.0421", "0.1161", "exact bootstrap", "t interval", "10000 resamples"):
            assert needed in text, (output, needed)


@pytest.mark.parametrize("output", report.FORMATS)
def test_worst_and_best_of_missing_pairs_stand_beside_the_outcome(output: report.Format) -> None:
    stability = Stability(missing_worst="fail", missing_best="pass")
    text = report.render(one(Verdict(outcome="pass", stability=stability)), output)
    assert "worst fail, best pass" in text


@pytest.mark.parametrize("output", report.FORMATS)
def test_a_clause_of_a_fails_if_rule_does_not_read_as_a_failure(output: report.Format) -> None:
    clause = Clause(criterion="difference", words="fails if mean difference of e < 0", outcome="fail")
    text = report.render(one(Verdict(outcome="pass", clauses=(clause,))), output)
    assert "does not hold" in text
    assert not re.search(r"fail</b>|fail: fails if|: fail\b", text)


@pytest.mark.parametrize("output", report.FORMATS)
def test_hidden_characters_have_one_spelling(output: report.Format) -> None:
    text = report.render(one(Verdict(outcome="pass", statement="a\u200fb")), output)
    assert "\u200f" not in text
    assert "U+200F" in text


# --- the registration of formats ----------------------------------------------------------------------------------


def test_a_format_without_its_line_and_a_line_without_its_name_are_refused() -> None:
    made = tuple(formats.FORMATS.values())
    with pytest.raises(TypeError, match="docx"):
        formats.complete((*formats.FORMATS, "docx"), *made)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="csv"):
        formats.complete(("md", "html", "latex"), *made)
    with pytest.raises(TypeError, match="share a name"):
        formats.complete(tuple(formats.FORMATS), *made[:-1], replace(made[-1], names=("csv", "tex")))


def test_mypy_refuses_a_format_that_lacks_a_part(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(
        "from prereg_kit.report.formats.format import ReportFormat\n"
        "FORMAT = ReportFormat(('docx',), 'page.docx.j2', str)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(planted)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Missing positional argument "context"' in done.stdout

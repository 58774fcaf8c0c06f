"""Templates that came from elsewhere: what they can do, and where each of them is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from prereg_kit import report
from prereg_kit.errors import NotCheckedError, RenderError
from prereg_kit.report import sandbox

EXAMPLE = report.load(Path(__file__).parents[2] / "golden" / "report" / "verdicts.json")


def made(folder: Path, text: str, output: report.Format = "md") -> str:
    path = folder / "mine.j2"
    path.write_text(text, encoding="utf-8")
    return sandbox.render(EXAMPLE, path, output)


def refused(folder: Path, text: str, output: report.Format = "md") -> RenderError:
    with pytest.raises(RenderError) as caught:
        made(folder, text, output)
    return caught.value


def test_a_plain_template_prints_what_the_tables_print(tmp_path: Path) -> None:
    text = made(tmp_path, "{% for r in rows %}{{ r.name }}={{ r.estimate }};{{ r.verdict }}\n{% endfor %}")
    assert text.splitlines()[2] == "H2a=+0.0370;fail"
    assert len(text.splitlines()) == 12


def test_values_are_escaped_for_the_format_and_template_text_is_not(tmp_path: Path) -> None:
    text = "<b>{{ rows[7].rule }}</b>{{ '<i>' }}"
    assert made(tmp_path, text, "html").startswith("<b>")
    assert "&lt;i&gt;" in made(tmp_path, text, "html")
    assert made(tmp_path, "{{ 'a|b' }}", "md") == "a\\|b"
    assert made(tmp_path, "{{ 'a&b' }}", "latex") == "a\\&b"
    assert made(tmp_path, "{{ '=a' }}", "csv") == '"\'=a"'


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("\n{{ ''.__class__.__mro__ }}", "template-security", 2),
        ("{{ rows.append(1) }}", "template-security", 1),
        ("{{ verdicts.update({}) }}", "template-security", 1),
        ("{{ '{0.__class__}'.format(title) }}", "template-security", 1),
        ("a\nb\n{{ rows[0].verdikt }}", "template-undefined", 3),
        ("{{ cycler }}", "template-undefined", 1),
        ("{{ title|safe }}", "template-syntax", 1),
        ("{{ rows|random }}", "template-syntax", 1),
        ("{% autoescape false %}{{ title }}{% endautoescape %}", "template-syntax", 1),
        ("{% macro m() %}x{% endmacro %}{{ m() }}", "template-syntax", 1),
        ("{% for %}", "template-syntax", 1),
        ("{% include '/etc/passwd' %}", "template", 1),
        ("{{ 1 / 0 }}", "template", 1),
        ("{% for i in range(1000000000) %}x{% endfor %}", "template-limit", 1),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, text: str, code: str, line: int) -> None:
    error = refused(tmp_path, text)
    assert error.code == code, error
    assert (error.where.file or "").endswith("mine.j2")
    assert error.where.line == line


def test_macros_work_where_their_text_is_known_to_be_escaped(tmp_path: Path) -> None:
    assert made(tmp_path, "{% macro m(x) %}<b>{{ x }}</b>{% endmacro %}{{ m('<') }}", "html") == "<b>&lt;</b>"


def test_autoescape_cannot_be_turned_off_in_html(tmp_path: Path) -> None:
    assert (
        refused(tmp_path, "{% autoescape false %}{{ title }}{% endautoescape %}", "html").code
        == "template-syntax"
    )


def test_processor_time_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "CPU_SECONDS", 1)
    loop = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
    error = refused(tmp_path, loop)
    assert error.code == "template-limit"
    assert "processor time" in str(error)  # and not the wall-clock limit behind it


def test_memory_is_bounded(tmp_path: Path) -> None:
    error = refused(tmp_path, "{{ ('x' * 1500000000)|length }}")  # prints ten characters
    assert error.code == "template-limit"
    assert "MemoryError" in str(error)


def test_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "OUTPUT_CHARACTERS", 1000)
    assert refused(tmp_path, "{% for a in range(2000) %}x{% endfor %}").code == "template-limit"
    assert len(made(tmp_path, "{% for a in range(1000) %}x{% endfor %}")) == 1000


def test_an_absent_or_unreadable_template(tmp_path: Path) -> None:
    with pytest.raises(NotCheckedError):
        sandbox.render(EXAMPLE, tmp_path / "absent.j2", "md")
    (tmp_path / "bad.j2").write_bytes(b"\xff")
    with pytest.raises(RenderError):
        sandbox.render(EXAMPLE, tmp_path / "bad.j2", "md")


def test_the_callers_folder_cannot_replace_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prereg_kit").mkdir()
    (tmp_path / "prereg_kit" / "__init__.py").write_text("raise SystemExit('hijacked')")
    (tmp_path / "jinja2.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    assert made(tmp_path, "{{ rows[0].name }}") == "H1a"

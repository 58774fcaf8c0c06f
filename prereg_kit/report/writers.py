"""A laid-out page as the text of one format."""

from __future__ import annotations

from prereg_kit.report import tables
from prereg_kit.report.environment import Format, environment
from prereg_kit.report.page import Page

_TEMPLATES: dict[str, str] = {
    "md": "page.md.j2",
    "html": "page.html.j2",
    "latex": "page.tex.j2",
    "csv": "table.csv.j2",
}


def write(page: Page, output: Format, table: str) -> str:
    """`page` in `output`; `table` names the one table of a CSV."""
    template = environment(output).get_template(_TEMPLATES[output])
    if output == "csv":
        return template.render(table=tables.table(page, table))
    return template.render(page=page, tables=tables.all_tables(page))

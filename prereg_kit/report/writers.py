"""A laid-out page as the text of one format."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from markupsafe import Markup

from prereg_kit.foundation.visible import one_line, visible
from prereg_kit.report import geometry, tables
from prereg_kit.report.environment import environment
from prereg_kit.report.escape import Format
from prereg_kit.report.page import Page

_TEMPLATES: dict[Format, str] = {
    "md": "page.md.j2",
    "html": "page.html.j2",
    "latex": "page.tex.j2",
    "csv": "table.csv.j2",
}


def write(page: Page, output: Format, table: str) -> str:
    """`page` in `output`; `table` names the one table of a CSV."""
    template = environment(output).get_template(_TEMPLATES[output])
    if output == "csv":
        made = tables.flat_outcomes(page) if table == "outcomes" else tables.table(page, table)
        return template.render(table=made)
    if output == "html":
        return template.render(page=page, tables=tables.all_tables(page), **_html_parts(page))
    return template.render(page=page, tables=tables.all_tables(page))


def _html_parts(page: Page) -> dict[str, object]:
    """What only the page needs: plots, the style sheet with the hash that the page's policy allows."""
    css = files("prereg_kit.report").joinpath("templates/page.css").read_text(encoding="utf-8")
    dots = geometry.calibration(page)
    return {
        "panels": geometry.forest(page),
        "dots": dots,
        "lanes": max((dot.lane for dot in dots), default=0) + 1,
        "unit_ticks": geometry.Scale(0, 1).ticks,
        "timeline": geometry.timeline(page),
        "check_commands": _check_commands(page),
        "digest_columns": ("SHA-256", "Digest (SHA-256)"),
        "css": Markup(css),  # noqa: S704 - a file of this package, not data
        "css_hash": base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
    }


def _check_commands(page: Page) -> str:
    """A `sha256sum -c` over the plan, its amendments and the registers; a name cannot leave its line."""
    plan = page.source.plan
    named = [(plan.digest, plan.path)]
    named += [(amendment.digest, amendment.path) for amendment in plan.amendments]
    named += [(register.sha256, register.path) for register in page.source.registers]
    lines = [f"{one_line(visible(digest))}  {one_line(visible(path))}" for digest, path in named if path]
    if not lines:
        return f"sha256sum PLAN    # must print {one_line(visible(plan.digest))}"
    return "\n".join(["sha256sum -c <<'END'", *lines, "END"])

"""HTML: one self-contained page with plots, no script, and a policy that admits its own style sheet alone."""

from __future__ import annotations

import base64
import hashlib
import shlex
from importlib.resources import files

from markupsafe import Markup

from prereg_kit.foundation.visible import one_line, visible
from prereg_kit.report import geometry, tables
from prereg_kit.report.formats.format import ReportFormat
from prereg_kit.report.page import Page


def _context(page: Page, _table: str) -> dict[str, object]:
    css = files("prereg_kit.report").joinpath("templates/page.css").read_text(encoding="utf-8")
    dots = geometry.calibration(page)
    return {
        "page": page,
        "tables": tables.all_tables(page),
        "panels": geometry.forest(page),
        "dots": dots,
        "lanes": max((dot.lane for dot in dots), default=0) + 1,
        "unit_ticks": geometry.Scale(0, 1).ticks,
        "timeline": geometry.timeline(page),
        "check_commands": _check_commands(page),
        "decide_command": _decide_command(page),
        "time_columns": ("Started", "Finished"),
        "digest_columns": ("SHA-256", "Digest (SHA-256)"),
        "css": Markup(css),  # noqa: S704 - a file of this package, not data
        "css_hash": base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
    }


def _decide_command(page: Page) -> str:
    """The command that decides again: the plan and the registers by their paths, quoted for a shell."""
    registers = [shlex.quote(one_line(visible(register.path))) for register in page.source.registers]
    plan = page.source.plan.path
    named = [f"--plan {shlex.quote(one_line(visible(plan)))}"] if plan else []
    return " ".join(["prereg decide", *named, *(registers or ["REGISTER"])])


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


FORMAT = ReportFormat(("html",), "page.html.j2", visible, _context, markup=True)

"""Render verdicts as text; nothing is recomputed: what `prereg render` does."""

from __future__ import annotations

from pathlib import Path

from prereg_kit import report
from prereg_kit.decision.decide import Decided
from prereg_kit.decision.verdict import Verdicts


def render(
    verdicts: Verdicts | Decided | str | Path,
    format: report.Format = "md",
    *,
    title: str | None = None,
    table: str = "outcomes",
    template: str | Path | None = None,
) -> str:
    """Verdicts as Markdown, one HTML page, LaTeX or CSV.

    Args:
        verdicts: what `decide` returned, or the path of a verdicts.json.
        format: `md`, `html`, `latex` or `csv`.
        title: the title; default: from the plan.
        table: with `csv`, which table.
        template: a jinja2 template of yours, run in a sandbox.

    Raises:
        NotCheckedError: the file is absent.
        DocumentError: it is no verdicts file.
        UsageError: an unknown format or table.
        RenderError: the template was refused or failed.
    """
    value = verdicts.verdicts if isinstance(verdicts, Decided) else verdicts
    if not isinstance(value, Verdicts):
        value = report.load(Path(value))
    if template is None:
        return report.render(value, format, title=title, table=table)
    from prereg_kit.report import sandbox

    return sandbox.render(value, Path(template), format, title=title)

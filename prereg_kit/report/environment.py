"""The jinja2 environments: escaping is the format's own and is always on.

Every printed expression passes through the format's escaper in `finalize`, which jinja2 applies to none of the
template's own text; HTML is escaped by jinja2 after it. No template of ours marks data as safe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from prereg_kit.report.formats.format import ReportFormat
from prereg_kit.report.page import Page


def write(page: Page, output: ReportFormat, table: str) -> str:
    """`page` in one format; `table` names the one table of a CSV."""
    return environment(output).get_template(output.template).render(output.context(page, table))


def environment(output: ReportFormat) -> Environment:
    """The environment for our own templates in one format."""
    return Environment(
        loader=PackageLoader("prereg_kit.report", "templates"),
        autoescape=output.markup,  # noqa: S701 - the other formats escape in finalize
        finalize=_finalizer(output),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence=output.line_end,
    )


def sandbox(output: ReportFormat) -> ImmutableSandboxedEnvironment:
    """The environment for a template that came from elsewhere: no attributes of Python, no files, no chance."""
    made = ImmutableSandboxedEnvironment(
        autoescape=output.markup,
        finalize=_finalizer(output),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    for name in ("lipsum", "cycler", "joiner"):
        made.globals.pop(name, None)
    for name in ("random", "safe"):  # chance, and a way around the escaping
        made.filters.pop(name, None)
    return made


def _finalizer(output: ReportFormat) -> Callable[[Any], Any]:
    def markup(value: Any) -> Any:  # noqa: ANN401 - whatever a template prints
        # A Markup value was made by escaping already; only text that is still data is cleaned.
        return output.escape(value) if type(value) is str else value

    def plain(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, StrictUndefined):
            return value
        return output.escape(value if isinstance(value, str) else str(value))

    return markup if output.markup else plain
